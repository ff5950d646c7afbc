package why

import (
	"fmt"
	"regexp"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Design note: a broken rule names calls of the driver interfaces by the verifier's number. Keeping each of these calls would cost much
// memory, so a run keeps the one that Reading asks for.

// A function is a call of the driver interfaces.
type function struct {
	frame
	stack []frame // that were open, with itself
	call  *call   // of the API, or nil
	end   Point
}

// numbered keeps the call of the driver interfaces that is asked for.
func (b *builder) numbered(e *eventlog.Event, at Point, name string) {
	n := e.Fields[0]
	if n == 0 {
		return
	}
	if b.ddis[0] == 0 {
		b.ddis[0] = n
	}
	b.ddis[0], b.ddis[1] = min(b.ddis[0], n), max(b.ddis[1], n)
	if n == b.asked {
		b.function = &function{frame: frame{at, name, 0, e.Process, e.Thread}, stack: b.open(e), call: b.caller(e)}
	}
}

// endsNumbered notes the return of that call.
func (b *builder) endsNumbered(e *eventlog.Event, at Point) {
	if f := b.function; f != nil && f.Event == e.Cause {
		f.end = at
	}
}

// Function answers which call of the driver interfaces has a number of the verifier, as a broken rule names it with #, and what the call of
// the API around it led to. The number is the one that Reading was given. It fails with ErrQuestion.
func (r *Run) Function(number uint64) (*Answer, error) {
	f := r.function
	switch {
	case r.ddis[1] == 0:
		return nil, fmt.Errorf("%w: it has no numbers of the verifier", ErrQuestion)
	case f == nil || r.asked != number:
		return nil, fmt.Errorf("%w: no call #%d of the driver interfaces; it has calls #%d to #%d", ErrQuestion, number, r.ddis[0], r.ddis[1])
	}
	a := &Answer{}
	if f.call != nil {
		var err error
		if a, err = r.Call(f.call.number); err != nil {
			return nil, err
		}
		a.Verdict = fmt.Sprintf("it is event %d, in call %d, %s; about that call: %s", f.Event, f.call.number, f.call.name, a.Verdict)
	} else {
		a.Verdict = fmt.Sprintf("it is event %d, in no call of the API", f.Event)
	}
	a.Question = fmt.Sprintf("ddi %d, %s", number, f.name)
	a.frames(f.stack)
	a.step(f.end, "%s returns", f.name)
	a.sort()
	a.once()
	return a, nil
}

// callText is how a broken rule names a call of the driver interfaces.
var callText = regexp.MustCompile(`\(call #(\d+)[,)]`)

// names adds a note on how to ask for the calls that a broken rule names.
func (a *Answer) names(text string) {
	for _, m := range callText.FindAllStringSubmatch(text, -1) {
		a.Notes = append(a.Notes, fmt.Sprintf("call #%s is of the driver interfaces, as the verifier counts them: ask for ddi %s", m[1], m[1]))
	}
}
