package verifier

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrTrace is returned, wrapped with the line, for what is no trace.
var ErrTrace = errors.New("verifier: not a DDI trace")

// An Event is one line of a trace: a call into a driver, or a callback out of it,
// begins or returns.
//
// Arguments and results have the names that they have in packages umddi and kmddi.
// An object is a text of its kind and a number, as in "resource 3", counted in the
// order that the line is in: "resource 2.3" is the third of deferred context 2. A
// command list whose handle was recycled has the number of its life too, as in
// "list 2.1:2". Memory is its size, as in {"bytes": 64}, and a list with room for
// what the callee writes its length, as in {"len": 64}. Constants have their names in
// Go; flags, addresses, and offsets and values of registers are hexadecimal; HRESULT
// and NTSTATUS are the names of winerror.h and ntstatus.h.
type Event struct {
	At      string `json:"at"`      // "enter" or "leave"
	Context int    `json:"context"` // the deferred context whose order it is in, or 0 for that of the executing context and the kernel
	Seq     uint64 `json:"seq"`     // of the call, in that order of entry, from 1; both lines have it
	Name    string `json:"name"`    // as in the WDK
	Process uint32 `json:"process"` // 0 is the system
	Thread  uint32 `json:"thread"`  // in the process
	Cycle   uint64 `json:"cycle"`   // of the device's clock; 0 in the order of a deferred context

	// At "enter".
	Direction string `json:"direction"` // "call" into a driver or "callback" out of it
	Depth     int    `json:"depth"`     // DDI functions around this one on its thread
	IRQL      string `json:"irql"`

	Args    map[string]any `json:"args"`    // all of them, at "leave" those that the call has changed
	Results map[string]any `json:"results"` // at "leave"
}

// ReadTrace returns the events of a trace, or of several that follow each other. It
// fails with ErrTrace, and with the error of r.
func ReadTrace(r io.Reader) ([]Event, error) {
	var out []Event
	err := eachLine(r, func() error { return nil }, func(l traceLine) { out = append(out, l.Event) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// A traceLine is a line as it stands in the trace.
type traceLine struct {
	Event
	text []byte // with its end
}

// eachLine calls begin at the header of each trace, and do with each line after it. A
// last line without an end is left out: the program that wrote it was killed in the
// middle.
func eachLine(r io.Reader, begin func() error, do func(l traceLine)) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		switch {
		case err == io.EOF && n == 1:
			return fmt.Errorf("%w: it has no first line", ErrTrace)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case string(text) == traceHeader:
			if err := begin(); err != nil {
				return err
			}
			continue
		case n == 1:
			return headerError(text)
		}
		l, err := newTraceLine(text)
		if err == nil && (l.Context < 0 || l.Context > n) {
			err = fmt.Errorf("context %d, want the number of a deferred context", l.Context)
		}
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrTrace, n, err)
		}
		do(l)
	}
}

func newTraceLine(text []byte) (l traceLine, err error) {
	l.text = text
	if err = json.Unmarshal(text, &l.Event); err == nil && l.At != "enter" && l.At != "leave" {
		err = fmt.Errorf("%q at %q, want enter or leave", l.Name, l.At)
	}
	return l, err
}

// headerError returns what is wrong with a first line that is none of this version.
func headerError(text []byte) error {
	var h struct {
		Trace   string
		Version int
	}
	if json.Unmarshal(text, &h) != nil || h.Trace != "hilgpu-ddi" {
		return fmt.Errorf("%w: it begins with %q", ErrTrace, bytes.TrimSpace(text))
	}
	return fmt.Errorf("%w: version %d, want %d", ErrTrace, h.Version, TraceVersion)
}
