// Package wavetest has a test that fails leave the last clocks of its GPU.
package wavetest

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// TB is what is needed of a test. *testing.T is one.
type TB interface {
	Errorf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
	ArtifactDir() string
}

// A Flight keeps the last clocks of the GPU that a test works on.
type Flight struct {
	rec *wave.Recorder
}

// New returns a flight of a test. When that has failed, the last clocks are in
// wave.vcd in the folder of its artifacts, which go test -artifacts keeps.
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

// Recorder returns a recorder for a GPU. Only that of the last one is written.
func (f *Flight) Recorder() *wave.Recorder {
	f.rec, _ = wave.New(nil, wave.Options{}) // defaults are in range
	return f.rec
}

// Attach returns a device that is g and is recorded.
func (f *Flight) Attach(g *gpu.GPU) *wave.Device { return f.Recorder().Attach(g) }

func (f *Flight) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.rec.Dump(file), file.Close())
}
