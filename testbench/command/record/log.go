package record

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// AddRecord adds the flag for the log.
func (r *Recorder) AddRecord(fl *pflag.FlagSet) {
	fl.StringVar(&r.Record, "record", "", "write the log of the run to this `file`, for log, why and report")
}

// AddTimeline adds the flag for the timeline.
func (r *Recorder) AddTimeline(fl *pflag.FlagSet) {
	fl.StringVar(&r.Tracks, "timeline", "", "write a timeline to this JSON `file`, for Perfetto")
}

// Events returns what begins the log of a system: testbench.Options.Record. It is nil without
// --record, --timeline, Tail and KeepLast. A second board goes on in the log of the first.
func (r *Recorder) Events() func(h eventlog.Header) (events.Sink, error) {
	r.opens = true
	if !r.logs() {
		return nil
	}
	return r.events
}

func (r *Recorder) events(h eventlog.Header) (events.Sink, error) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	return r.begin(h)
}

// begin begins the log, unless it has begun, while the lock is held.
func (r *Recorder) begin(h eventlog.Header) (events.Sink, error) {
	if r.log != nil {
		return r.sink(), nil
	}
	var to []io.Writer
	file, err := r.Outputs.Create(r.Record)
	if err != nil {
		return nil, err
	}
	if file != nil {
		r.logFile = output.NewLive(file, nil)
		to = append(to, r.logFile)
	}
	if r.tracks, err = r.Outputs.Create(r.Tracks); err != nil {
		return nil, err
	}
	if r.tracks != nil {
		if r.copied, err = os.CreateTemp("", "hilgpu-*.log"); err != nil {
			return nil, err
		}
		to = append(to, r.copied)
	}
	h.Program = r.Program
	if len(to) == 0 {
		r.kept = eventlog.NewRing(keptBytes, h)
		r.log = r.kept.Writer
		return r.sink(), nil
	}
	r.log, err = eventlog.NewWriter(io.MultiWriter(to...), h)
	return r.sink(), err
}

// logs reports whether anything wants a log.
func (r *Recorder) logs() bool { return r.Record != "" || r.Tracks != "" || r.Tail != nil || r.keeps }

// keptBytes is the approximate size of the events that KeepLast keeps, in bytes.
const keptBytes = 1 << 20

// KeepLast makes a command that writes no log keep its last events in memory, for Last and SaveLast.
func (r *Recorder) KeepLast() { r.keeps = true }

// Last returns the last n events that are kept, as eventlog.Ring.Last does, or "" if none are.
func (r *Recorder) Last(n int) string {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.kept == nil || !r.keeps {
		return ""
	}
	return r.kept.Last(n)
}

// SaveLast writes the events that are kept to a file, as a log. Without any it writes none. It fails with output.ErrWrite.
func (r *Recorder) SaveLast(path string) error {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.kept == nil {
		return nil
	}
	if err := r.kept.WriteFile(path); err != nil {
		return output.Failed(path, err)
	}
	return nil
}

// sink returns what takes the events of the log.
func (r *Recorder) sink() events.Sink {
	var s events.Sink = r.log
	if r.kept != nil {
		s = r.kept
	}
	if r.Tail == nil {
		return s
	}
	return tailed{s, r.Tail}
}

// Serves begins the log of a board that the command serves, of which clock returns the clocks. s is told what happens.
// It does nothing without a log.
func (r *Recorder) Serves(s *events.Served, selector string, hz uint64, clock func() uint64) error {
	r.opens = true
	if !r.logs() {
		return nil
	}
	sink, err := r.events(events.HeaderOf(selector, hz))
	if err == nil {
		s.Begin(selector, hz, sink, clock)
	}
	return err
}

// Expect notes in the log that a node is given work that must fault: see eventlog.Expect.
func (r *Recorder) Expect(node int, cause uint32, addr uint64) {
	if r.board != nil {
		r.board.Expect(node, cause, addr)
	}
}

// CanRecord reports whether the command opens a board, so that it can write a log.
func (r *Recorder) CanRecord() bool { return r.opens }

// Logged returns the file of the log, or "" if there is none.
func (r *Recorder) Logged() string {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.log == nil {
		return ""
	}
	return r.Record
}

// commitLog ends the log of a command that ended with err, or nil, and writes its timeline.
func (r *Recorder) commitLog(err error) error {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	if r.log == nil && r.opens && r.logs() && (r.Mistake == nil || !r.Mistake(err)) {
		// No board was opened. If this fails, the error of the file is that of an earlier attempt.
		if _, berr := r.begin(eventlog.Header{Map: regmap.Hash()}); berr != nil && err == nil {
			return berr
		}
	}
	if r.log == nil {
		return nil
	}
	if !r.ended {
		r.ended = true
		end := eventlog.New(eventlog.End)
		if err != nil {
			end = end.WithText(err.Error())
		}
		r.log.Add(end)
	}
	return errors.Join(r.log.Flush(), r.logFile.Finish(), r.commitTracks())
}

// commitTracks writes the timeline. Only the first call has an effect.
func (r *Recorder) commitTracks() error {
	if r.copied == nil {
		return nil
	}
	log := r.copied
	r.copied = nil
	defer os.Remove(log.Name())
	defer log.Close()
	defer r.tracks.Discard()
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return err
	}
	l, err := eventlog.NewReader(log)
	if err != nil {
		return err
	}
	if err := timeline.Write(r.tracks, l); err != nil {
		return err
	}
	return r.tracks.Commit()
}
