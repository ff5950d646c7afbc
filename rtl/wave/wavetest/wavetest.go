// Package wavetest makes failing tests save the last clocks of their GPU.
package wavetest

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// TB is the part of testing.TB that a Flight needs.
type TB interface {
	Errorf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
	ArtifactDir() string
}

// A Flight records the last clocks of the GPU under test.
type Flight struct {
	rec *wave.Recorder
}

// New returns a flight for a test. If the test fails, the last clocks are written
// to wave.vcd in the test's artifact directory, which go test -artifacts keeps.
func New(t TB) *Flight {
	f := &Flight{}
	t.Cleanup(func() {
		if !t.Failed() || f.rec == nil || !f.rec.Attached() {
			return
		}
		if err := f.write(filepath.Join(t.ArtifactDir(), "wave.vcd")); err != nil {
			t.Errorf("no wave: %v", err)
		}
	})
	return f
}

// Recorder returns a recorder for a GPU. Only the last recorder is written.
func (f *Flight) Recorder() *wave.Recorder {
	f.rec, _ = wave.New(nil, wave.Options{}) // the defaults are in range
	return f.rec
}

// Attach returns g as a device that is recorded.
func (f *Flight) Attach(g *gpu.GPU) *wave.Device { return f.Recorder().Attach(g) }

func (f *Flight) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.rec.Dump(file), file.Close())
}
