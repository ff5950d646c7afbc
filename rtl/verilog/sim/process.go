package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
)

// A Process is a running Simulation. Its methods must not be called concurrently.
type Process struct {
	simulation *Simulation
	cmd        *exec.Cmd
	in         io.WriteCloser
	out        io.ReadCloser
	stderr     bytes.Buffer

	message []byte
	raw     []byte // of Icarus: values and x bits in turn; of Hold: count and record
}

// pipeBytes is an amount that always fits into an empty pipe, so that writing it
// cannot block (POSIX PIPE_BUF on Linux).
const pipeBytes = 4096

// Start starts the simulation. It fails with ErrSimulation.
func (m *Simulation) Start() (*Process, error) {
	if m.sim == Icarus {
		return m.start(exec.Command("vvp", "-n", filepath.Join(m.dir, "model")))
	}
	return m.start(exec.Command(filepath.Join(m.dir, "obj", "model")))
}

// start starts the command of the simulation.
func (m *Simulation) start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{simulation: m, cmd: cmd}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		if p.out, err = p.cmd.StdoutPipe(); err == nil {
			err = p.cmd.Start()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulation, err)
	}
	return p, nil
}

// Run clocks the simulation len(in)/inBytes times. It stores the record after each
// clock in out, and the bits that are x in x, which is nil for a simulator
// without x.
func (p *Process) Run(in, out, x []byte) error {
	size := p.simulation.layout.InBytes
	n := len(in) / size
	p.message = append(binary.LittleEndian.AppendUint32(p.message[:0], uint32(n)), in...)
	if p.simulation.sim == Icarus {
		slices.Reverse(p.message[:4])
		for rec := range slices.Chunk(p.message[4:], size) {
			slices.Reverse(rec)
		}
	}
	if len(p.message) <= pipeBytes {
		if _, err := p.in.Write(p.message); err != nil {
			return p.failed("write", err)
		}
		return p.read(out, x)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := p.in.Write(p.message)
		sent <- err
	}()
	err := p.read(out, x)
	if err != nil {
		p.Kill()
	}
	return errors.Join(err, p.failed("write", <-sent))
}

// maxHold is the most clocks of one Hold message. It keeps a message to a few
// seconds, so that a simulation soon ends after its user was killed.
const maxHold = 1 << 24

// Hold clocks the simulation n times, at least once, with the same inputs, or until
// the output ports change. It stores the record after the last clock and returns
// the number of clocks. n is limited to 2^24. Only a simulation built for Verilator
// supports it.
func (p *Process) Hold(in, out []byte, n uint64) (uint64, error) {
	if p.simulation.sim != Verilator {
		return 0, fmt.Errorf("%w: %s cannot hold inputs", ErrSimulation, p.simulation.sim)
	}
	p.message = append(binary.LittleEndian.AppendUint32(p.message[:0], uint32(min(n, maxHold))|1<<31), in...)
	if _, err := p.in.Write(p.message); err != nil {
		return 0, p.failed("write", err)
	}
	p.raw = slices.Grow(p.raw[:0], 4+len(out))[:4+len(out)]
	if err := p.read(p.raw, nil); err != nil {
		return 0, err
	}
	copy(out, p.raw[4:])
	return uint64(binary.LittleEndian.Uint32(p.raw)), nil
}

// read fills out, and x with the bits that are x.
func (p *Process) read(out, x []byte) error {
	if p.simulation.sim != Icarus {
		_, err := io.ReadFull(p.out, out)
		return p.failed("read", err)
	}
	p.raw = slices.Grow(p.raw[:0], 2*len(out))[:2*len(out)]
	if _, err := io.ReadFull(p.out, p.raw); err != nil {
		return p.failed("read", err)
	}
	for i := 0; i < len(out); i += 4 {
		copy(out[i:i+4], p.raw[2*i:])
		copy(x[i:i+4], p.raw[2*i+4:])
	}
	return nil
}

// Memories requests all words of the memories and ends the simulation. It calls f with
// each memory's words in order, WordBytes for each, and their x bits.
func (p *Process) Memories(f func(i int, words, x []byte) error) error {
	if _, err := p.in.Write(make([]byte, 4)); err != nil {
		return p.failed("write", err)
	}
	for i, m := range p.simulation.layout.Memories {
		words := make([]byte, WordBytes(m)*m.Words)
		x := make([]byte, len(words))
		if err := p.read(words, x); err != nil {
			return err
		}
		if err := f(i, words, x); err != nil {
			return err
		}
	}
	return nil
}

func (p *Process) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrSimulation, what, err)
}

// Close ends the simulation. If the simulation ended with an error, Close fails with
// ErrSimulation and the simulation's message.
func (p *Process) Close() error {
	p.in.Close()
	io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %w: %s", ErrSimulation, err, bytes.TrimSpace(p.stderr.Bytes()))
	}
	return nil
}

// Simulation returns the simulation that the process runs.
func (p *Process) Simulation() *Simulation { return p.simulation }

// Kill ends the process at once. Later calls of its methods fail with ErrSimulation.
func (p *Process) Kill() error { return p.cmd.Process.Kill() }
