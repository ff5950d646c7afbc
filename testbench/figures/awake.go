package figures

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrAwake is wrapped by the error of a program with the tag awake that cannot be built
// or run.
var ErrAwake = errors.New("figures: the program with the tag awake failed")

// stored is a recording in a file.
type stored struct {
	Config gpu.Config
	Events []storedEvent
}

// storedEvent is an event in a file.
type storedEvent struct {
	In            sim.Inputs
	Sleep         uint64
	IdleForCalled bool
}

// store writes a recording to a file.
func (rec *Recording) store(file string, c gpu.Config) error {
	s := stored{Config: c, Events: make([]storedEvent, len(rec.events))}
	for i, e := range rec.events {
		s.Events[i] = storedEvent{e.in, e.sleep, e.idleForCalled}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(s); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// load reads a recording, and the configuration of its GPU, from a file.
func load(file string) (*Recording, gpu.Config, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, gpu.Config{}, err
	}
	defer f.Close()
	var s stored
	if err := gob.NewDecoder(f).Decode(&s); err != nil {
		return nil, gpu.Config{}, err
	}
	rec := &Recording{events: make([]event, len(s.Events))}
	for i, e := range s.Events {
		rec.events[i] = event{e.In, e.Sleep, e.IdleForCalled}
	}
	return rec, s.Config, nil
}

// Serve loads a stored recording. For each byte of in it replays the recording on a GPU
// and writes the time in nanoseconds and the digest to out, 64-bit little-endian words.
// It returns at the end of in.
func Serve(file string, in io.Reader, out io.Writer) error {
	rec, c, err := load(file)
	if err != nil {
		return err
	}
	g, err := gpu.New(c)
	if err != nil {
		return err
	}
	for {
		if _, err := io.ReadFull(in, make([]byte, 1)); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		start := time.Now()
		digest := rec.replay(g)
		if err := binary.Write(out, binary.LittleEndian, []uint64{uint64(time.Since(start)), digest}); err != nil {
			return err
		}
	}
}

// awakeSide is a process that serves a recording.
type awakeSide struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
	log bytes.Buffer
}

// startAwake builds the program with the tag awake in dir and starts it.
func (b *Bench) startAwake(rec *Recording, dir string, setting Setting) (side, error) {
	program, file := filepath.Join(dir, "awake.exe"), filepath.Join(dir, rec.Name+".recording")
	pgo := "-pgo=off"
	if setting == AwakeProfiled {
		pgo = "-pgo=" + profile
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "awake", pgo, "-o", program, "./testbench/figures/replayer")
	build.Dir = b.root
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: go build: %w\n%s", ErrAwake, err, bytes.TrimSpace(text))
	}
	if err := rec.store(file, b.config); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAwake, err)
	}
	s := &awakeSide{cmd: exec.Command(program, file)}
	s.cmd.Stderr = &s.log
	var err1, err2 error
	s.in, err1 = s.cmd.StdinPipe()
	s.out, err2 = s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, s.cmd.Start()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAwake, err)
	}
	return s, nil
}

// Run replays the recording once.
func (s *awakeSide) Run() (took time.Duration, digest uint64, err error) {
	if _, err := s.in.Write([]byte{1}); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrAwake, err)
	}
	var answer [2]uint64
	if err := binary.Read(s.out, binary.LittleEndian, &answer); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", ErrAwake, err)
	}
	return time.Duration(answer[0]), answer[1], nil
}

// Close ends the process.
func (s *awakeSide) Close() error {
	if err := errors.Join(s.in.Close(), s.cmd.Wait()); err != nil {
		return fmt.Errorf("%w: %w\n%s", ErrAwake, err, bytes.TrimSpace(s.log.Bytes()))
	}
	return nil
}
