package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// waveFlags are the flags of commands that can record the registers of a GPU.
type waveFlags struct {
	path string // of the wave, or ""
	on   string

	file *output.File
	rec  *wave.Recorder
}

func (f *waveFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.path, "wave", "", "record every register of an emulated GPU in this VCD `file`, clock by clock")
	fl.StringVar(&f.on, "wave-on", "", "`when` to record: fault, some thousand clocks around each fault, or cycle A..B, the clocks from A to before B")
}

// options returns what --wave-on says.
func (f *waveFlags) options() (o wave.Options, err error) {
	switch f.on {
	case "":
		return o, nil
	case "fault":
		o.Fault = true
		return o, nil
	}
	from, to, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(f.on, "cycle")), "..")
	if ok {
		if o.From, err = strconv.ParseUint(from, 10, 64); err == nil {
			if o.To, err = strconv.ParseUint(to, 10, 64); err == nil && o.From < o.To {
				return o, nil
			}
		}
	}
	return o, fmt.Errorf("%w: --wave-on %q, want fault or cycle A..B with A below B", errInput, f.on)
}

// recorder returns what records, or nil. It makes the file at its first call, by
// create.
func (f *waveFlags) recorder(create func(path string) (*output.File, error)) (*wave.Recorder, error) {
	if f.path == "" && f.on != "" {
		return nil, fmt.Errorf("%w: --wave-on %q without --wave FILE", errInput, f.on)
	}
	if f.path == "" || f.rec != nil {
		return f.rec, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if f.file, err = create(f.path); err != nil {
		return nil, err
	}
	f.rec, err = wave.New(f.file, o)
	return f.rec, err
}

// failed has a wave that waits for a fault get what was before the GPU stopped
// with err, unless a node has reported a fault. Whoever closes the board behind
// an error calls it before that.
func (f *waveFlags) failed(err error) {
	if stopped(err) {
		f.fault()
	}
}

// fault is failed for a GPU that stopped.
func (f *waveFlags) fault() {
	if f.rec != nil {
		f.rec.Fault()
	}
}

// stopped reports whether err is of a GPU that stopped or is not as its model.
func stopped(err error) bool {
	var device *dxgkrnl.DeviceError
	return errors.As(err, &device) || errors.Is(err, scoreboard.ErrDiffers) || errors.Is(err, storm.ErrDiffers) ||
		err != nil && exitCode(err) == exitDevice
}

// commit ends the wave of a command that returned err. One without any clock is
// no file: it says so to log.
func (f *waveFlags) commit(err error, log io.Writer) error {
	if f.file == nil {
		return nil
	}
	if f.rec == nil || !f.rec.Attached() {
		f.file.Discard()
		return nil
	}
	f.failed(err)
	if err := f.rec.Close(); err != nil {
		f.file.Discard()
		return err
	}
	if f.rec.Empty() {
		f.file.Discard()
		why := "no node faulted"
		if f.on != "fault" {
			why = "none of its clocks passed"
		}
		fmt.Fprintf(log, "hilgpu: %s is not written, --wave-on %q: %s\n", f.path, f.on, why)
		return nil
	}
	return f.file.Commit()
}
