package dxgkrnl

import "github.com/hilgpu/hilgpu/runtime/ddi"

// A visit is the stay of a thread in the kernel.
type visit struct {
	level  ddi.IRQL
	device *device // that no other thread may use meanwhile; nil: none
}

// enter begins a visit, when it is the thread's turn.
func (k *Kernel) enter(t *ddi.Thread) visit {
	k.gate.enter(t)
	k.thread = t
	k.visits++
	return visit{level: t.IRQL()}
}

// Inside returns the process of the thread that is in the kernel. Only what that thread calls may ask, such as the
// function of hal.Machine.Refuse.
func (k *Kernel) Inside() uint32 { return k.thread.Process }

// leave ends a visit. An unwinding Bugcheck may have left the level of the thread
// higher than it was.
func (k *Kernel) leave(t *ddi.Thread, v *visit) {
	t.Lower(v.level)
	if v.device != nil {
		v.device.busy = false
	}
	k.visits--
	k.gate.leave(t)
}

// letIn lets other threads in, if one can do something. It returns when ready is true,
// or to let time pass.
func (k *Kernel) letIn(t *ddi.Thread, ready func() bool) {
	if k.gate.pass(t, ready) {
		k.back(t)
	}
}

// until waits for what other threads in the kernel do.
func (k *Kernel) until(t *ddi.Thread, ready func() bool) {
	for !ready() {
		k.gate.yield(t, func() bool { return k.crashed != nil || ready() })
		k.back(t)
	}
}

// back is called when it is the turn of a thread that waited. A Bugcheck of another
// thread unwinds it too, since the miniport must not be called.
func (k *Kernel) back(t *ddi.Thread) {
	if k.thread = t; k.crashed != nil {
		panic(k.crashed)
	}
}

// alone waits until no other thread is in the kernel. A Bugcheck of another one does not
// unwind it.
func (k *Kernel) alone(t *ddi.Thread) {
	k.visits-- // of several that wait for this, one goes first
	defer func() { k.visits++ }()
	left := func() bool { return k.visits == 0 }
	for !left() {
		k.gate.yield(t, left)
		k.thread = t
	}
}
