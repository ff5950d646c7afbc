package d3d11

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// An Error is the failure of a call of the API. errors.Is finds its HRESULT and
// its causes.
type Error struct {
	HRESULT ddi.HRESULT
	Call    string // name of the function or method, as in Direct3D
	Text    string // argument, value and limit, or the state that forbids the call

	cause error
}

// Error describes the error in one line: call, result, text and cause.
func (e *Error) Error() string { return e.description(e.HRESULT.Error()) }

// description describes the error. result describes its result.
func (e *Error) description(result string) string {
	s := e.Call + ": " + result
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns the HRESULT and the cause, if there is one.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.HRESULT}
	}
	return []error{e.HRESULT, e.cause}
}

// A problem is why a call fails or is dropped. The zero value is no problem.
type problem struct {
	id   MessageID // 0 means the general one of the call and the result
	text string
}

// problemf returns a problem with a formatted text.
func problemf(id MessageID, format string, args ...any) problem {
	return problem{id, fmt.Sprintf(format, args...)}
}

// found reports whether there is a problem.
func (p problem) found() bool { return p.text != "" }

// limits returns a problem unless lo <= v <= hi.
func limits(id MessageID, name string, v, lo, hi uint64) problem {
	if v >= lo && v <= hi {
		return problem{}
	}
	return problemf(id, "%s is %d, want %d to %d", name, v, lo, hi)
}

// first returns the first problem found.
func first(all ...problem) problem {
	for _, p := range all {
		if p.found() {
			return p
		}
	}
	return problem{}
}

// failed returns the error of a call and adds a message to the queue. k is the thread of the call, or nil if it has
// none.
func (d *Device) failed(k *call, call string, hr ddi.HRESULT, p problem, cause error) error {
	e := &Error{HRESULT: hr, Call: call, Text: p.text, cause: cause}
	d.tell(k, call, e.Error())
	if p.id == 0 {
		p.id = generalID(call, hr)
	}
	d.queue.add(Message{categoryOf(call), SeverityError, p.id, e.Error()})
	return e
}

// refuse returns the error of a call that p makes invalid.
func (d *Device) refuse(k *call, call string, p problem) error {
	return d.failed(k, call, ddi.EInvalidArg, p, nil)
}

// drop adds a message: p makes a call without a result invalid, and the call has
// no effect. k is that of failed.
func (d *Device) drop(k *call, call string, p problem) {
	e := Error{Call: call, Text: p.text}
	if p.id == MessageDeviceRemoved {
		e.cause = d.removal.Load()
	}
	text := e.description("dropped")
	d.tell(k, call, text)
	d.queue.add(Message{categoryOf(call), SeverityError, p.id, text})
}

// warn adds a message: p makes a call suspicious, which has its effect.
func (d *Device) warn(call string, p problem) {
	e := Error{Call: call, Text: p.text}
	d.queue.add(Message{categoryOf(call), SeverityWarning, p.id, e.description("warning")})
}

// failed returns the error of an API call, one of whose driver functions on k
// ended with hr. It is nil for S_OK.
func (k *call) failed(call string, hr ddi.HRESULT) error {
	switch hr {
	case ddi.OK:
		return nil
	case ddi.DXGIDeviceRemoved, ddi.DDIDeviceRemoved:
		return k.dev.gone(k, call)
	case ddi.DDIStillDrawing, ddi.DXGIStillDrawing:
		// The answer to a poll. Messages would fill the queue.
		return &Error{HRESULT: ddi.DXGIStillDrawing, Call: call, Text: "the GPU still uses the resource"}
	}
	return k.dev.failed(k, call, apiResult(hr), problem{text: k.blame + " of the driver failed"}, nil)
}

// misuse returns why the application may not pass an object to d, or "".
func (c *child) misuse(d *Device) string {
	switch {
	case c.dev != d:
		return "belongs to another device"
	case c.refs.Load() < apiRef:
		return "was released"
	case c.offered.Load():
		return "is offered, want ReclaimResources before its use"
	}
	return ""
}

// misused returns a problem if the application may not pass the object, which is
// argument name, to d.
func (c *child) misused(d *Device, id MessageID, name string) problem {
	if text := c.misuse(d); text != "" {
		return problem{id, name + " " + text}
	}
	return problem{}
}
