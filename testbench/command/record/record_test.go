package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/testbench/output"
)

func TestWaveOptions(t *testing.T) {
	for _, tt := range []struct {
		on       string
		ok       bool
		fault    bool
		from, to uint64
	}{
		{"", true, false, 0, 0},
		{"fault", true, true, 0, 0},
		{"cycle 5..9", true, false, 5, 9},
		{"5..9", true, false, 5, 9},
		{"cycle 9..9", false, false, 0, 0},
		{"cycle 5", false, false, 0, 0},
		{"cycle x..9", false, false, 0, 0},
	} {
		o, err := (&Recorder{WaveOn: tt.on}).waveOptions()
		if !tt.ok {
			assert.ErrorIs(t, err, ErrOption, tt.on)
			continue
		}
		require.NoError(t, err, tt.on)
		assert.Equal(t, tt.fault, o.Fault)
		assert.Equal(t, []uint64{tt.from, tt.to}, []uint64{o.From, o.To})
	}
	_, err := (&Recorder{WaveOn: "fault"}).Options()
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, `--wave-on "fault" without --wave FILE`)
}

// ask reads the identity of an emulated board recorded by r.
func ask(t *testing.T, r *Recorder) {
	t.Helper()
	o, err := r.Options()
	require.NoError(t, err)
	link, _, err := boards.OpenWith("emu?config=small", regs.NoMemory{}, o)
	require.NoError(t, err)
	fn, err := regs.Open(link, regs.Options{})
	require.NoError(t, err)
	require.NoError(t, fn.Close())
	require.NoError(t, link.Close())
}

func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	packets, wave := filepath.Join(dir, "p"), filepath.Join(dir, "w")
	var log bytes.Buffer
	r := &Recorder{Capture: packets, Wave: wave, Log: &log}
	ask(t, r)
	require.NoError(t, r.Commit(nil))
	require.NoError(t, r.Commit(nil), "again")
	for path, begins := range map[string]string{packets: "\x0a\x0d\x0d\x0a", wave: "$"} { // magic number of pcapng, first keyword of a VCD
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, begins, string(b[:len(begins)]))
	}
	assert.Empty(t, log.String())
}

// A wave that waits for a fault is written if the error means that a GPU
// stopped.
func TestWaveOfAFault(t *testing.T) {
	dead := errors.New("dead")
	for _, tt := range []struct {
		err  error
		want bool
	}{{dead, true}, {errors.New("other"), false}, {nil, false}} {
		wave := filepath.Join(t.TempDir(), "w")
		var log bytes.Buffer
		r := &Recorder{Wave: wave, WaveOn: "fault", Log: &log, Stopped: func(err error) bool { return err == dead }}
		ask(t, r)
		require.NoError(t, r.Commit(tt.err))
		if tt.want {
			assert.FileExists(t, wave)
			continue
		}
		assert.NoFileExists(t, wave)
		assert.Contains(t, log.String(), "no node faulted")
	}
}

func TestOneFileForTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	r := &Recorder{Capture: path, Wave: path}
	_, err := r.Options()
	require.ErrorIs(t, err, output.ErrWrite)
	require.NoError(t, r.Commit(err))
	assert.NoFileExists(t, path)
}
