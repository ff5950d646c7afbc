package verifier

import (
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/content"
)

// A Checker is a Hook that checks both sides of the user-mode interface, from
// OpenAdapter10_2 on, against the rules of package rule. It reports violations to
// a Monitor. After the system has stopped it checks nothing, so that the stack can
// be torn down.
type Checker struct {
	m *Monitor

	mu                sync.Mutex              // guards the fields below
	threads           map[*ddi.Thread]*thread // that are in a call, or have asked for a size
	idle              []*thread               // for reuse
	caps              map[*ddi.Root]uint32    // by adapter
	contexts          map[*ddi.Root]*context
	cores             map[any]*context
	objects           map[*ddi.Object]*object
	destroyedObjects  []*object  // in the order in which they are forgotten
	destroyedContexts []*context // likewise
	contents          content.Model
	drawing           int            // drawings of the kernel that have not ended
	worked            map[sized]bool // sizes with which objects were created
	ids               uint64         // last id given to a context or object
}

// maxDestroyedObjects and maxDestroyedContexts bound the destroyed objects and
// contexts that the Checker still recognizes.
const (
	maxDestroyedObjects  = 4096
	maxDestroyedContexts = 256
)

// New returns a Checker that reports to m. It must be a later hook than m.
func New(m *Monitor) *Checker {
	k := &Checker{
		m: m, threads: map[*ddi.Thread]*thread{}, caps: map[*ddi.Root]uint32{}, contexts: map[*ddi.Root]*context{},
		cores: map[any]*context{}, objects: map[*ddi.Object]*object{}, worked: map[sized]bool{},
	}
	m.OnPanic(k.explain)
	return k
}

// A thread is the state of a ddi.Thread.
type thread struct {
	frames []*frame // outermost first
	spare  []*frame
	sizes  map[string][]answer // answers of Calc functions, by the name of the Create function

	answers answers // to the function that opens an adapter or a device
}

// A frame is a call or callback that has not returned.
type frame struct {
	t    *ddi.Thread
	th   *thread
	f    *Func
	spec *spec
	args []any

	level ddi.IRQL // at its entry
	call  uint64   // its number in the order of all calls

	ctx            *context      // context of the function; for a callback, of its core layer
	holds          []*context    // contexts that this call has acquired for its thread
	objects        []*object     // objects passed to the function
	retired        []*object     // retired lists compared at its entry
	created        *object       // object that it creates
	owner          *object       // for AllocateCb, the resource of the allocations
	destroyed      *object       // object that it destroys
	number         uint64        // the device's count of calls at its entry
	presents       int           // calls of PresentCb that succeeded
	rendered       bool          // it made a command buffer with CreateContextCb or RenderCb
	saved          []byte        // output memory before the checker overwrote it
	target         *context      // deferred context that it creates or whose list it creates
	outer          *frame        // for a callback, the driver function that made it
	errors         []ddi.HRESULT // reported through SetErrorCb
	predicated     bool          // its work depends on a predicate
	unsynchronized string        // describes a lock that did not wait, or is ""
	readOnly       []lock        // of a map function, with ReadOnly
	legal          results       // errors that it may report
	busy           *Culprit      // callback that returned that work is in progress
	before         []byte        // private memory of the object that it creates, at its entry
	unlocked       bool          // it called UnlockCb
	presentCall    uint64        // last call of PresentCb
	locked         []*allocation // that a map function locked
	refresh        *refresh      // for a state-refresh callback
	inRefresh      bool          // a Set function in a state refresh
	scope          *context      // context whose objects it may all change
	begun          bool          // its context was valid and begin has run
}

// driver reports whether fr is a function of the driver, not a callback.
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
	if th != nil {
		return th
	}
	if n := len(k.idle); n > 0 {
		th, k.idle = k.idle[n-1], k.idle[:n-1]
	} else {
		th = &thread{sizes: map[string][]answer{}}
	}
	k.threads[t] = th
	return th
}

// Enter checks what the caller does.
func (k *Checker) Enter(t *ddi.Thread, f *Func, args ...any) {
	if k.m.Stopped() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.enter(t, f, args)
}

// Leave checks what the callee did.
func (k *Checker) Leave(t *ddi.Thread, f *Func, results ...any) {
	if k.m.Stopped() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leave(t, f, results)
}

func (k *Checker) enter(t *ddi.Thread, f *Func, args []any) {
	th := k.thread(t)
	var fr *frame
	if n := len(th.spare); n > 0 {
		fr = th.spare[n-1]
		th.spare = th.spare[:n-1]
	} else {
		fr = new(frame)
	}
	*fr = frame{
		t: t, th: th, f: f, spec: specOf(f), args: args, level: t.IRQL(), call: k.m.Number(t), holds: fr.holds[:0], objects: fr.objects[:0], errors: fr.errors[:0],
		before: fr.before[:0],
	}
	outer := th.top()
	fr.outer = th.inDriver()
	if len(args) > 0 {
		fr.ctx = k.contextOf(args[0])
	}
	if fr.ctx != nil {
		k.m.Label(t, "context", fr.ctx.id)
	}
	th.frames = append(th.frames, fr)
	if f.Callback {
		k.checkCallbackLevel(fr)
		k.enterCallback(fr)
	} else {
		k.enterFunction(fr, outer)
	}
}

func (k *Checker) leave(t *ddi.Thread, f *Func, results []any) {
	th := k.thread(t)
	at := len(th.frames) - 1
	for at >= 0 && th.frames[at].f != f {
		at-- // skip calls that unwound
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
		CheckReturnLevel(t, fr.level, func(broken, format string, args ...any) { k.fail(fr, broken, format, args...) })
		k.leaveFunction(fr, results)
	}
	k.release(fr)
	th.frames = th.frames[:at]
	th.spare = append(th.spare, fr)
	if at == 0 && len(th.sizes) == 0 {
		delete(k.threads, t)
		k.idle = append(k.idle, th)
	}
}

// contextOf returns the context named by the first argument of a function, or
// nil if it is unknown.
func (k *Checker) contextOf(arg any) *context {
	switch a := arg.(type) {
	case umddi.HDevice:
		return k.contexts[a.Root]
	case umddi.Present:
		return k.contexts[a.Device.Root]
	case umddi.SetResourcePriority:
		return k.contexts[a.Device.Root]
	case umddi.OfferResources:
		return k.contexts[a.Device.Root]
	case umddi.ReclaimResources:
		return k.contexts[a.Device.Root]
	case umddi.HRTCoreLayer:
		return k.layer(a.Runtime)
	}
	return nil
}

// forget remembers a destroyed object for a while, so that its use can be
// reported by name.
func (k *Checker) forget(o *object) {
	k.destroyedObjects = append(k.destroyedObjects, o)
	for len(k.destroyedObjects) > maxDestroyedObjects {
		if old := k.destroyedObjects[0]; k.objects[old.h] == old && !old.alive() {
			delete(k.objects, old.h)
		}
		k.destroyedObjects = k.destroyedObjects[1:]
	}
}

// forgetContext is forget for a context.
func (k *Checker) forgetContext(c *context) {
	k.destroyedContexts = append(k.destroyedContexts, c)
	for len(k.destroyedContexts) > maxDestroyedContexts {
		if old := k.destroyedContexts[0]; k.contexts[old.root] == old {
			delete(k.contexts, old.root)
		}
		k.destroyedContexts = k.destroyedContexts[1:]
	}
}
