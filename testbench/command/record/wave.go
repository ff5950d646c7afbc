package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/rtl/wave"
)

// AddWave adds the flags for the wave.
func (r *Recorder) AddWave(fl *pflag.FlagSet) {
	fl.StringVar(&r.Wave, "wave", "", "record every register of an emulated GPU, or of gateware at its pins in Go, in this VCD `file`, clock by clock")
	fl.StringVar(&r.WaveOn, "wave-on", "", "`when` to record: fault, some thousand clocks around each fault, or cycle A..B, the clocks from A to before B")
}

// waveOptions parses WaveOn.
func (r *Recorder) waveOptions() (o wave.Options, err error) {
	switch r.WaveOn {
	case "":
		return o, nil
	case "fault":
		o.Fault = true
		return o, nil
	}
	from, to, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(r.WaveOn, "cycle")), "..")
	if ok {
		if o.From, err = strconv.ParseUint(from, 10, 64); err == nil {
			if o.To, err = strconv.ParseUint(to, 10, 64); err == nil && o.From < o.To {
				return o, nil
			}
		}
	}
	return o, fmt.Errorf("%w: --wave-on %q, want fault or cycle A..B with A below B", ErrOption, r.WaveOn)
}

// waves returns the recorder of registers, or nil.
func (r *Recorder) waves() (*wave.Recorder, error) {
	if r.Wave == "" && r.WaveOn != "" {
		return nil, fmt.Errorf("%w: --wave-on %q without --wave FILE", ErrOption, r.WaveOn)
	}
	if r.Wave == "" || r.recorder != nil {
		return r.recorder, nil
	}
	o, err := r.waveOptions()
	if err != nil {
		return nil, err
	}
	if r.waveFile, err = r.Outputs.Create(r.Wave); err != nil {
		return nil, err
	}
	r.recorder, err = wave.New(r.waveFile, o)
	return r.recorder, err
}

// Failed makes a wave that waits for a fault keep the clocks before err, if err
// means that the GPU stopped and no node has reported a fault. Last then has the
// events up to this failure. It does nothing for nil. The caller must call it before closing the board.
func (r *Recorder) Failed(err error) {
	r.logMu.Lock()
	if r.kept != nil && err != nil {
		r.kept.Failed(err.Error())
	}
	r.logMu.Unlock()
	if r.Stopped != nil && r.Stopped(err) {
		r.Fault()
	}
}

// Fault is Failed for a GPU that is known to have stopped.
func (r *Recorder) Fault() {
	if r.recorder != nil {
		r.recorder.Fault()
	}
}

// commitWave ends the wave of a command that ended with err. Without any clocks
// no file is written, and a message goes to the log.
func (r *Recorder) commitWave(err error) error {
	if r.waveFile == nil {
		return nil
	}
	if r.recorder == nil || !r.recorder.Attached() {
		r.waveFile.Discard()
		return nil
	}
	r.Failed(err)
	if err := r.recorder.Close(); err != nil {
		r.waveFile.Discard()
		return err
	}
	if r.recorder.Empty() {
		r.waveFile.Discard()
		why := "no node faulted"
		if r.WaveOn != "fault" {
			why = "the run did not reach its clocks"
		}
		fmt.Fprintf(r.Log, "%s: %s is not written, --wave-on %q: %s\n", r.Program, r.Wave, r.WaveOn, why)
		return nil
	}
	return r.waveFile.Commit()
}
