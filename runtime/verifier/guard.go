package verifier

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// unwinding is the panic value that unwinds the functions on a thread after the
// system has stopped.
type unwinding struct{}

// Broken is implemented by panic values that report a broken rule, such as a
// bugcheck of the graphics kernel.
type Broken interface {
	error

	// BrokenRule returns the name of the rule in package rule, the function that
	// broke it, or "" for the innermost one, and what was found.
	BrokenRule() (name, function, found string)
}

// callEnter calls the hook of a function that begins.
func callEnter(h Hook, m *Monitor, t *ddi.Thread, f *Func, args ...any) {
	h.Enter(t, f, args...)
	m.check()
}

// callLeave calls the hook of a function that has returned.
func callLeave(h Hook, m *Monitor, t *ddi.Thread, f *Func, results ...any) {
	h.Leave(t, f, results...)
	m.check()
}

// check unwinds the thread if the system has stopped.
func (m *Monitor) check() {
	if m.Stopped() {
		panic(unwinding{})
	}
}

// callback begins a callback of the driver and reports whether it may be made.
// It unwinds the thread if the system has stopped. A goroutine that is in no
// function of the driver cannot be unwound: its callback is a violation, and
// returns an error.
func (m *Monitor) callback(t *ddi.Thread, f *Func) bool {
	if m == nil {
		return true
	}
	if t != nil && m.sides.inDriver() {
		m.check()
		return true
	}
	r := Report{Rule: "callback-outside", Thread: t, Func: f}
	switch {
	case t == nil:
		r.Text = "the thread is nil, want that of the running function of the driver"
	case len(t.Stack()) > 0:
		// The thread is in use by another goroutine, so only its ID can be read.
		r.Rule = "callback-goroutine"
		r.Text = fmt.Sprintf("called on a goroutine that is in no function of the driver, with the thread %d:%d of another", t.Process, t.ID)
		r.Thread = nil
	case f.Name == "pfnSetErrorCb":
		r.Rule = "error-outside"
		fallthrough
	default:
		r.Text = fmt.Sprintf("no function of the driver runs on thread %d:%d", t.Process, t.ID)
	}
	m.record(r, nil, m.collect)
	return false
}

// Guard calls f, which calls the graphics kernel for the system itself. If a
// driver breaks a rule meanwhile, f unwinds and Guard returns the *Violation.
// After the system has stopped it returns the violation and does not call f.
func (m *Monitor) Guard(t *ddi.Thread, f func() error) (err error) {
	if m.Stopped() {
		return m.Err()
	}
	defer func() {
		if m.Stopped() {
			err = m.Err()
		}
	}()
	defer m.rescue(t)
	return f()
}

// rescue is deferred by the outermost function on a thread. It ends a panic in a
// driver, or one that reports a broken rule, and records the violation.
func (m *Monitor) rescue(t *ddi.Thread) {
	p := recover()
	if p == nil {
		return
	}
	if _, ok := p.(unwinding); !ok && !m.recordPanic(t, p) {
		panic(p)
	}
	m.mu.Lock()
	delete(m.running, t)
	m.mu.Unlock()
	t.Unwind()
}

// recordPanic records a panic on a thread and reports whether it is a violation.
func (m *Monitor) recordPanic(t *ddi.Thread, p any) bool {
	r := Report{Thread: t, Func: &Func{Name: "no function"}}
	if stack := t.Stack(); len(stack) > 0 {
		r.Func = &Func{Name: stack[len(stack)-1]}
	}
	if b, ok := p.(Broken); ok {
		name, function, found := b.BrokenRule()
		r.Rule, r.Text = name, found
		if function != "" {
			r.Func = &Func{Name: function}
		}
		m.record(r, b, false)
		return true
	}
	switch m.sides.ofPanic() {
	case inDriver:
		r.Rule = "driver-panic"
	case inSystem:
		r.Rule = "system-panic"
	default:
		return false
	}
	r.Text = fmt.Sprint(p)
	cause, ok := p.(error)
	if !ok {
		cause = errors.New(r.Text)
	}
	if r.Rule == "driver-panic" {
		r.Text = m.explained(t, r.Text)
	}
	m.record(r, &panicError{cause, debug.Stack()}, false)
	return true
}

// A panicError is a panic in a driver or in the system, with the stack of the
// goroutine.
type panicError struct {
	error
	stack []byte
}

func (e *panicError) Unwrap() error { return e.error }

// Details returns the stack.
func (e *panicError) Details() string { return string(e.stack) }
