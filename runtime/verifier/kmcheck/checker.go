// Package kmcheck checks the kernel-mode driver interface: a display miniport
// driver and the graphics kernel that calls it. Its [Checker] is a hook for
// verifier.WrapKernelMode and reports broken rules of package rule to a
// verifier.Monitor. It knows the interface, and nothing of a particular GPU.
package kmcheck

import (
	"fmt"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// Options are optional settings of a Checker. The zero value works.
type Options struct {
}

// A Checker is a Hook that checks both sides of the kernel-mode interface of one
// adapter, from DxgkDdiAddDevice on. It reports violations to a Monitor. After the
// system has stopped it checks nothing, so that the stack can be torn down. If
// violations are collected, it restores the level of a thread that a driver left
// at another one, so that one mistake is one violation. It is safe for concurrent
// use.
type Checker struct {
	m *verifier.Monitor
	o Options

	mu      sync.Mutex // guards the fields below
	threads map[*ddi.Thread]*thread
	specs   map[*verifier.Func]*spec // by function, to look each up once
	active  []*frame                 // functions of the driver that have not returned
	adapter *ddi.Root
	state   state
}

// New returns a Checker that reports to m. It must be a later hook than m.
func New(m *verifier.Monitor, o Options) *Checker {
	return &Checker{m: m, o: o, threads: map[*ddi.Thread]*thread{}, specs: map[*verifier.Func]*spec{}}
}

// A thread is the state of a ddi.Thread.
type thread struct {
	frames []*frame // outermost first
	spare  []*frame
}

// A frame is a call or callback that has not returned.
type frame struct {
	t    *ddi.Thread
	f    *verifier.Func
	spec *spec
	args []any

	caller *frame   // for a callback, the code of the driver that made it
	level  ddi.IRQL // at its entry
}

// top returns the innermost frame, or nil.
func (th *thread) top() *frame {
	if len(th.frames) == 0 {
		return nil
	}
	return th.frames[len(th.frames)-1]
}

// Enter checks what the caller does.
func (k *Checker) Enter(t *ddi.Thread, f *verifier.Func, args ...any) {
	if k.m.Stopped() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	th := k.threads[t]
	if th == nil {
		th = &thread{}
		k.threads[t] = th
	}
	fr := th.push(frame{t: t, f: f, spec: k.specOf(f), args: args, caller: th.top(), level: t.IRQL()})
	if fr.spec == nil {
		return
	}
	if f.Callback {
		k.enterCallback(fr)
	} else {
		k.enterFunction(fr)
	}
}

// push adds a frame.
func (th *thread) push(fr frame) *frame {
	p := new(frame)
	if n := len(th.spare); n > 0 {
		p, th.spare = th.spare[n-1], th.spare[:n-1]
	}
	*p = fr
	th.frames = append(th.frames, p)
	return p
}

// Leave checks what the callee did.
func (k *Checker) Leave(t *ddi.Thread, f *verifier.Func, results ...any) {
	if k.m.Stopped() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	th := k.threads[t]
	if th == nil || len(th.frames) == 0 || th.top().f != f {
		return // the call began before the system stopped
	}
	fr := th.top()
	if fr.spec != nil {
		if f.Callback {
			k.leaveCallback(fr, results)
		} else {
			k.leaveFunction(fr, results)
		}
	}
	th.frames = th.frames[:len(th.frames)-1]
	th.spare = append(th.spare, fr)
}

// enterFunction checks what the system does when it calls the driver.
func (k *Checker) enterFunction(fr *frame) {
	k.checkState(fr)
	k.checkEntryLevel(fr)
	k.checkClass(fr)
	k.active = append(k.active, fr)
	k.begin(fr)
}

// leaveFunction checks what the driver did in a function.
func (k *Checker) leaveFunction(fr *frame, results []any) {
	k.checkReturnLevel(fr)
	k.finish(fr, results)
	for i, a := range k.active {
		if a == fr {
			k.active = append(k.active[:i], k.active[i+1:]...)
			break
		}
	}
}

// enterCallback checks what the driver does when it calls the system.
func (k *Checker) enterCallback(fr *frame) {
	k.checkStopped(fr)
	k.checkCallbackLevel(fr)
	k.checkPlace(fr)
}

// leaveCallback notes what a callback returned.
func (k *Checker) leaveCallback(fr *frame, results []any) {
}

// begin updates the state that a function changes when it begins.
func (k *Checker) begin(fr *frame) {
	if fr.f.Name == "DxgkDdiAddDevice" {
		k.adapter = fr.args[0].(kmddi.HAdapter).Root
	}
}

// finish updates the state that a function changes when it returns.
func (k *Checker) finish(fr *frame, results []any) {
	status, ok := statusOf(results)
	k.changeState(fr, !ok || !status.Failed())
}

// statusOf returns the status among the results of a function. It reports false
// if there is none.
func statusOf(results []any) (ddi.Status, bool) {
	if n := len(results); n > 0 {
		s, ok := results[n-1].(ddi.Status)
		return s, ok
	}
	return 0, false
}

// fail reports a violation of the named rule in the function of fr.
func (k *Checker) fail(fr *frame, broken, format string, args ...any) {
	k.m.Report(verifier.Report{Rule: broken, Thread: fr.t, Func: fr.f, Text: fmt.Sprintf(format, args...)})
}
