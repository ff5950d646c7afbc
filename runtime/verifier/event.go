package verifier

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrTrace is returned, wrapped with the line number, for input that is not a
// trace.
var ErrTrace = errors.New("verifier: not a DDI trace")

// An Event is one line of a trace: the entry or the return of a call into a
// driver or of a callback.
//
// Arguments and results have the names used in packages umddi and kmddi. An
// object is shown as its kind and a number, such as "resource 3", counted in
// the order of calls of the line; "resource 2.3" is the third resource of
// deferred context 2. The name of a command list whose handle was recycled ends
// with a generation, such as "list 2.1:2". Memory is shown as its size, such as
// {"bytes": 64}. A list that the callee fills is shown as its length, such as
// {"len": 64}. Constants have their Go names. Flags, addresses, register
// offsets and register values are hexadecimal. HRESULT and NTSTATUS values have
// their names in winerror.h and ntstatus.h.
//
// Context selects the order of calls that the line belongs to. Calls of the
// kernel are in the order of the immediate context. The two lines of a call have
// the same Seq.
type Event struct {
	At      string `json:"at"`      // "enter" or "leave"
	Context int    `json:"context"` // deferred context, 0 for the immediate context
	Seq     uint64 `json:"seq"`     // of the call in that order, from 1
	Name    string `json:"name"`    // as in the WDK
	Process uint32 `json:"process"` // 0: the system
	Thread  uint32 `json:"thread"`  // within the process
	Cycle   uint64 `json:"cycle"`   // of the device's clock; 0 in the order of a deferred context

	// Set at "enter".
	Direction string `json:"direction"` // "call" into a driver or "callback" from it
	Depth     int    `json:"depth"`     // DDI functions that enclose this one on its thread
	IRQL      string `json:"irql"`

	Args    map[string]any `json:"args"`    // at "leave" only those changed
	Results map[string]any `json:"results"` // at "leave"
}

// ReadTrace returns the events of a trace, or of several traces in one stream.
// The error wraps ErrTrace or the error of r.
func ReadTrace(r io.Reader) ([]Event, error) {
	var out []Event
	err := eachLine(r, func() error { return nil }, func(l traceLine) { out = append(out, l.Event) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// A traceLine is a line of the trace and its text.
type traceLine struct {
	Event
	text []byte // includes the newline
}

// eachLine calls begin for the header of each trace and do for each other line.
// It ignores a last line without a newline, which a killed program may leave.
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

// headerError returns the error for a first line that is not a header of this
// version.
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
