package verifier

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

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
	if !f.Callback && !m.Stopped() {
		checkStack(t, f)
	}
	h.Leave(t, f, results...)
	m.check()
}

// check unwinds the thread if the system has stopped.
func (m *Monitor) check() {
	if m.Stopped() {
		panic(unwinding{})
	}
}

// checkStack panics if f, a function of a driver that returns, is not the
// innermost function on its thread.
func checkStack(t *ddi.Thread, f *Func) {
	if stack := t.Stack(); len(stack) == 0 || stack[len(stack)-1] != f.Name {
		panic(&ddi.StackError{Function: f.Name, Stack: slices.Clone(stack)})
	}
}

// callback begins a callback of the driver and reports whether it may be made.
// It unwinds the functions on the goroutine if the system has stopped. A goroutine
// that is in no function of the driver cannot be unwound: its callback is a
// violation, and returns an error.
func (m *Monitor) callback(t *ddi.Thread, f *Func) bool {
	if m == nil {
		return true
	}
	driver := m.sides.inDriver()
	if driver {
		m.check()
	}
	foreign := driver && t != nil && m.foreign(t)
	if driver && !foreign && t != nil && len(t.Stack()) > 0 {
		return true
	}
	r := Report{Rule: "callback-outside", Thread: t, Func: f}
	switch {
	case foreign:
		r.Rule = "callback-thread"
		r.Text = fmt.Sprintf("called with the thread %d:%d, which another call uses, want that of the call that makes it", t.Process, t.ID)
		r.Thread = nil // only its ID can be read
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
	if driver {
		m.check()
	}
	return false
}

// Guard calls f, which calls the graphics kernel for the system itself. If a
// driver breaks a rule meanwhile, f unwinds and Guard returns the *Violation.
// After the system has stopped it returns the violation and does not call f. f
// runs on its own goroutine, so that a driver cannot end that of the caller. Any
// other panic in f is one of Guard.
func (m *Monitor) Guard(t *ddi.Thread, f func() error) (err error) {
	if m.Stopped() {
		return m.Err()
	}
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			panicked = recover()
			if e, ok := panicked.(runtime.Error); ok {
				panicked = fmt.Errorf("%w\n%s", e, debug.Stack())
			}
		}()
		defer m.rescue(t)
		err = f()
	}()
	<-done
	if panicked != nil {
		panic(panicked)
	}
	if m.Stopped() {
		return m.Err()
	}
	return err
}

// rescue is deferred by the outermost function on a thread. It ends a panic in a
// driver, or one that reports a broken rule, and records the violation. It also
// records that a driver ended the goroutine, which still ends.
func (m *Monitor) rescue(t *ddi.Thread) {
	p := recover()
	_, unwinds := p.(unwinding)
	switch {
	case p == nil && len(t.Stack()) == 0:
		return // each function has returned
	case p == nil:
		m.recordExit(t)
	case !unwinds && !m.recordPanic(t, p):
		panic(p)
	}
	m.mu.Lock()
	delete(m.running, t)
	m.mu.Unlock()
	t.Unwind()
}

// pass is deferred by each callback. It records a panic, such as one of the
// miniport in a callback of the user-mode driver, and unwinds, so that the driver
// that made the callback can neither hide the violation nor be blamed for it.
func (m *Monitor) pass(t *ddi.Thread) {
	p := recover()
	if p == nil {
		return
	}
	if _, unwinds := p.(unwinding); !unwinds && !m.recordPanic(t, p) {
		panic(p)
	}
	panic(unwinding{})
}

// recordExit records that a function on t ended its goroutine, unless a hook did.
// The functions on t then never return.
func (m *Monitor) recordExit(t *ddi.Thread) {
	if at := m.sides.ofPanic(); at != inDriver && at != inSystem {
		return
	}
	cause := errors.New("the goroutine ended")
	r := Report{Rule: "goroutine-exit", Thread: t, Func: innermost(t), Text: "the function ended its goroutine, want it to return"}
	m.record(r, &panicError{cause, debug.Stack()}, false)
	m.lost()
}

// innermost returns the innermost function on a thread.
func innermost(t *ddi.Thread) *Func {
	if stack := t.Stack(); len(stack) > 0 {
		return &Func{Name: stack[len(stack)-1]}
	}
	return &Func{Name: "no function"}
}

// recordPanic records a panic on a thread and reports whether it is a violation.
func (m *Monitor) recordPanic(t *ddi.Thread, p any) bool {
	r := Report{Thread: t, Func: innermost(t)}
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
		if r.Func.Name == synchronizeName {
			r.Text += ", in the function that the driver passed"
		}
		r = m.explained(r)
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
