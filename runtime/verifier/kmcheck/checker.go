// Package kmcheck checks the kernel-mode driver interface: a display miniport
// driver and the graphics kernel that calls it. Its [Checker] is a hook for
// verifier.WrapKernelMode and reports broken rules of package rule to a
// verifier.Monitor. It knows the interface, and nothing of a particular GPU.
package kmcheck

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// Options are optional settings of a Checker. The zero value works.
type Options struct {
	Now func() uint64 // virtual time in clocks of the device; nil: budgets of time are not checked
	Hz  uint64        // clocks per second

	// Configured means that the driver has settings, which the device may not support.
	Configured bool
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

	mu      sync.Mutex               // guards the fields below
	threads map[*ddi.Thread]*thread  // that are in a call
	idle    []*thread                // for reuse
	specs   map[*verifier.Func]*spec // by function, to look each up once
	active  []*frame                 // functions of the driver that have not returned
	state   state
	ran     bool // the device has been started since it was added
	objects map[*ddi.Root]*object
	sets    map[kind]bool     // kinds of objects in which the driver has set Driver
	gone    []*object         // objects that no longer exist, in the order in which they are forgotten
	ids     uint64            // last id given to an object
	held    []resource        // memory and mappings of the driver
	queues  map[uint32]*queue // by node
	isrs    uint64            // counts calls of the interrupt routine
	claims  uint64            // counts those that returned TRUE
	news    uint64            // counts interrupts, reads of registers and the GPU's writes
	writes  uint64            // counts writes to registers and configuration space
	patch   patcher

	evidence evidence

	calls    uint64           // counts calls of functions of the driver
	made     [maxMade]made    // the last callbacks
	madeNext uint64           // counts callbacks
	refusal  *verifier.Report // why the device did not start, until it is removed
}

// New returns a Checker that reports to m. It must be a later hook than m.
func New(m *verifier.Monitor, o Options) *Checker {
	k := &Checker{
		m: m, o: o, threads: map[*ddi.Thread]*thread{}, specs: map[*verifier.Func]*spec{}, objects: map[*ddi.Root]*object{},
		queues: map[uint32]*queue{}, sets: map[kind]bool{}, evidence: evidence{written: map[*byte]writing{}, freed: map[string]int{}},
	}
	m.OnBlame(k.blame, judged...)
	return k
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
	number uint64   // of a function, in the order of those of the driver
	call   uint64   // its number in the order of all calls

	objects   []*object    // that a function gets
	created   *object      // that it creates
	destroyed *object      // that it destroys
	passed    []ddi.Status // of its callbacks
	notified  bool         // it called NotifyInterrupt
	callbacks int          // that it made

	began    uint64 // of an access: when it began
	accesses int    // that a function made
	spent    uint64 // clocks that they took
	over     bool   // the budget was exceeded
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
	fr := k.thread(t).push(frame{t: t, f: f, spec: k.specOf(f), args: args, level: t.IRQL(), call: k.m.Number(t)})
	if fr.spec == nil {
		return
	}
	k.enterEvidence(fr)
	if f.Callback {
		k.enterCallback(fr)
	} else {
		k.enterFunction(fr)
	}
}

// thread returns the state of a thread.
func (k *Checker) thread(t *ddi.Thread) *thread {
	th := k.threads[t]
	if th == nil {
		th = &thread{}
		if n := len(k.idle); n > 0 {
			th, k.idle = k.idle[n-1], k.idle[:n-1]
		}
		k.threads[t] = th
	}
	return th
}

// push adds a frame.
func (th *thread) push(fr frame) *frame {
	var p *frame
	if n := len(th.spare); n > 0 {
		p, th.spare = th.spare[n-1], th.spare[:n-1]
	} else {
		p = new(frame)
	}
	fr.caller, fr.objects, fr.passed = th.top(), p.objects, p.passed
	*p = fr
	th.frames = append(th.frames, p)
	return p
}

// pop removes the innermost frame and keeps it for reuse, without what it refers to.
func (k *Checker) pop(th *thread) {
	fr := th.top()
	th.frames = th.frames[:len(th.frames)-1]
	clear(fr.objects)
	*fr = frame{t: fr.t, objects: fr.objects[:0], passed: fr.passed[:0]}
	th.spare = append(th.spare, fr)
	if len(th.frames) == 0 {
		delete(k.threads, fr.t)
		fr.t = nil
		k.idle = append(k.idle, th)
	}
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
		k.leaveEvidence(fr)
		if f.Callback {
			k.leaveCallback(fr, results)
		} else {
			k.leaveFunction(fr, results)
		}
	}
	k.pop(th)
}

// enterFunction checks what the system does when it calls the driver.
func (k *Checker) enterFunction(fr *frame) {
	k.calls++
	fr.number = k.calls
	k.checkEntryLevel(fr)
	k.checkClass(fr)
	k.active = append(k.active, fr)
	if k.checkState(fr) {
		k.beginObjects(fr)
	}
	k.enterFence(fr)
	if fr.f.Name == "DxgkDdiRemoveDevice" {
		k.checkLeaks(fr)
	}
}

// leaveFunction checks what the driver did in a function.
func (k *Checker) leaveFunction(fr *frame, results []any) {
	verifier.CheckReturnLevel(fr.t, fr.level, func(broken, format string, args ...any) { k.fail(fr, broken, format, args...) })
	k.checkDrivers(fr)
	status, ok := statusOf(results)
	if ok {
		if !k.checkRefused(fr, status) {
			k.checkStatus(fr, status)
			k.checkFailed(fr, status)
		}
	}
	if !status.Failed() && len(results) > 0 {
		k.checkOutput(fr, results)
		k.note(fr, results)
	}
	k.leaveFence(fr, results)
	k.endObjects(fr, !status.Failed())
	k.changeState(fr, !status.Failed())
	if fr.f.Name == "DxgkDdiRemoveDevice" {
		k.reportRefusal()
	}
	k.active = slices.DeleteFunc(k.active, func(a *frame) bool { return a == fr })
}

// enterCallback checks what the driver does when it calls the system.
func (k *Checker) enterCallback(fr *frame) {
	k.checkStopped(fr)
	k.checkCallbackLevel(fr)
	k.checkPlace(fr)
	k.checkPassed(fr)
	k.enterFence(fr)
	k.beginAccess(fr)
}

// leaveCallback notes what a callback returned.
func (k *Checker) leaveCallback(fr *frame, results []any) {
	if s, ok := statusOf(results); ok {
		k.pass(fr, s)
		k.checkArguments(fr, s)
	}
	k.noteMade(fr, results)
	k.endAccess(fr)
	k.leaveResource(fr, results)
	k.leaveFence(fr, results)
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
	k.failBy(fr, nil, broken, format, args...)
}

// failBy is fail for a mistake of another call, if c is not nil.
func (k *Checker) failBy(fr *frame, c *verifier.Culprit, broken, format string, args ...any) {
	r := verifier.Report{Rule: broken, Thread: fr.t, Func: fr.f, Text: fmt.Sprintf(format, args...), Culprit: c}
	for _, o := range fr.objects {
		if o.kind != adapterKind {
			r.Handles = append(r.Handles, o.String())
		}
	}
	if fr.created != nil {
		r.Handles = append(r.Handles, fr.created.String())
	}
	k.m.Report(r)
}
