package verifier

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// Options say what a Checker does about violations.
type Options struct {
	Waive   []string // names of rules that do not stop; they are counted
	Collect bool     // keep violations for Violations, do not stop
}

// A Checker is a Hook that checks the contract of the user-mode interface, from
// OpenAdapter10_2 on, on both sides: package rule lists what it knows. On a violation
// it panics with a *Violation, unless it collects; from then on it checks
// nothing, so that what is left can be torn down.
type Checker struct {
	rules   map[string]rule.Rule
	waive   []string
	collect bool

	stopped atomic.Bool

	mu       sync.Mutex // guards what follows
	stop     *Violation
	found    []*Violation
	findings map[string]*Finding
	last     history
	threads  map[*ddi.Thread]*thread
	caps     map[*ddi.Root]uint32 // of adapters
	contexts map[*ddi.Root]*context
	cores    map[any]*context
	objects  map[*ddi.Object]*object
	gone     []*object  // forgotten in this order
	buried   []*context // likewise
	ids      uint64     // given to contexts and objects
}

// maxGone is how many destroyed objects are known by name, maxBuried how many
// contexts.
const (
	maxGone   = 4096
	maxBuried = 256
)

// New returns a Checker. The error wraps rule.ErrName if a waived rule does not exist.
func New(o Options) (*Checker, error) {
	k := &Checker{
		rules: map[string]rule.Rule{}, waive: slices.Clone(o.Waive), collect: o.Collect, findings: map[string]*Finding{},
		threads: map[*ddi.Thread]*thread{}, caps: map[*ddi.Root]uint32{}, contexts: map[*ddi.Root]*context{},
		cores: map[any]*context{}, objects: map[*ddi.Object]*object{},
	}
	for _, r := range rule.All() {
		k.rules[r.Name] = r
	}
	for _, name := range o.Waive {
		if _, err := rule.Named(name); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Violations returns what was found, in order.
func (k *Checker) Violations() []*Violation {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.found)
}

// Findings returns the waived rules that were broken and the warnings, in the
// order of rule.All.
func (k *Checker) Findings() []Finding {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Finding
	for _, r := range rule.All() {
		if f := k.findings[r.Name]; f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// A thread is what a ddi.Thread is doing.
type thread struct {
	frames []*frame // outermost first
	spare  []*frame
	sizes  map[string][]int // what Calc functions have answered, by the Create functions that are to follow
}

// A frame is a call or callback that has not returned.
type frame struct {
	t    *ddi.Thread
	th   *thread
	f    *Func
	spec *spec
	args []any

	ctx     *context      // whose function it is; callbacks: whose core layer
	holds   []*context    // contexts whose thread this is, because of this call
	objects []*object     // that it got
	resting []*object     // lists that were compared before it
	created *object       // by it
	target  *context      // the deferred context that it makes or makes a list of
	outer   *frame        // the driver's function around a callback
	errors  []ddi.HRESULT // reported
	legal   results       // what it may report
	refresh *refresh      // a state-refresh callback
	inside  bool          // a Set function in a refresh
	scope   *context      // of which it may change all
	begun   bool          // its context is one that can be called
}

// driver says whether f is a function of the driver, not a callback.
func (fr *frame) driver() bool { return !fr.f.Callback }

// top returns the innermost frame, or nil.
func (th *thread) top() *frame {
	if len(th.frames) == 0 {
		return nil
	}
	return th.frames[len(th.frames)-1]
}

// inDriver returns the innermost function of the driver, or nil.
func (th *thread) inDriver() *frame {
	for i := len(th.frames) - 1; i >= 0; i-- {
		if th.frames[i].driver() {
			return th.frames[i]
		}
	}
	return nil
}

func (k *Checker) thread(t *ddi.Thread) *thread {
	th := k.threads[t]
	if th == nil {
		th = &thread{sizes: map[string][]int{}}
		k.threads[t] = th
	}
	return th
}

// Enter checks what the caller does. It panics with a *Violation.
func (k *Checker) Enter(t *ddi.Thread, f *Func, args ...any) {
	if k.stopped.Load() {
		return
	}
	k.mu.Lock()
	k.enter(t, f, args)
	k.unlock()
}

// Leave checks what the callee did. It panics with a *Violation.
func (k *Checker) Leave(t *ddi.Thread, f *Func, results ...any) {
	if k.stopped.Load() {
		return
	}
	k.mu.Lock()
	k.leave(t, f, results)
	k.unlock()
}

// unlock unlocks, and stops if a rule was broken.
func (k *Checker) unlock() {
	v := k.stop
	k.stop = nil
	if v != nil {
		k.stopped.Store(true)
	}
	k.mu.Unlock()
	if v != nil {
		panic(v)
	}
}

func (k *Checker) enter(t *ddi.Thread, f *Func, args []any) {
	th := k.thread(t)
	fr := &frame{t: t, th: th, f: f, spec: specOf(f), args: args}
	if n := len(th.spare); n > 0 {
		fr = th.spare[n-1]
		th.spare = th.spare[:n-1]
		*fr = frame{t: t, th: th, f: f, spec: specOf(f), args: args, holds: fr.holds[:0], objects: fr.objects[:0], errors: fr.errors[:0]}
	}
	outer := th.top()
	fr.outer = th.inDriver()
	if len(args) > 0 {
		fr.ctx = k.contextOf(args[0])
	}
	p := past{f: f, process: t.Process, thread: t.ID, depth: len(th.frames)}
	if fr.ctx != nil {
		p.context = fr.ctx.id
	}
	k.last.add(p)
	th.frames = append(th.frames, fr)
	if f.Callback {
		k.enterCallback(fr)
	} else {
		k.enterFunction(fr, outer)
	}
}

func (k *Checker) leave(t *ddi.Thread, f *Func, results []any) {
	th := k.thread(t)
	at := len(th.frames) - 1
	for at >= 0 && th.frames[at].f != f {
		at-- // a call that unwound
	}
	if at < 0 {
		return
	}
	for _, fr := range th.frames[at+1:] {
		k.release(fr)
	}
	fr := th.frames[at]
	if f.Callback {
		k.leaveCallback(fr, results)
	} else {
		k.leaveFunction(fr, results)
	}
	k.release(fr)
	th.frames = th.frames[:at]
	th.spare = append(th.spare, fr)
}

// contextOf returns the context that the first argument of a function names, if
// it is known.
func (k *Checker) contextOf(arg any) *context {
	switch a := arg.(type) {
	case umddi.HDevice:
		return k.contexts[a.Root]
	case umddi.Present:
		return k.contexts[a.Device.Root]
	case umddi.HRTCoreLayer:
		return k.layer(a.Runtime)
	}
	return nil
}

// forget keeps a destroyed object by name for a while.
func (k *Checker) forget(o *object) {
	k.gone = append(k.gone, o)
	for len(k.gone) > maxGone {
		if old := k.gone[0]; k.objects[old.h] == old && !old.alive() {
			delete(k.objects, old.h)
		}
		k.gone = k.gone[1:]
	}
}

// bury does so with a context.
func (k *Checker) bury(c *context) {
	k.buried = append(k.buried, c)
	for len(k.buried) > maxBuried {
		if old := k.buried[0]; k.contexts[old.root] == old {
			delete(k.contexts, old.root)
		}
		k.buried = k.buried[1:]
	}
}
