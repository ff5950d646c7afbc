package events

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Design note: nothing in the interface says which function of the driver wrote which packet.
// But with checks the kernel hands out command buffers full of a value that is no header of
// a packet, so the packets that are new after a function are those that it wrote.

// Batches notes which function of the user-mode driver wrote which packets of a command buffer.
// It is a hook of the driver interfaces, called after that of the trace at an entry and before it
// at a return. It needs the checks of the kernel: dxgkrnl.Config.Poison.
//
// A function that any thread may call, such as pfnCreateResource, may run beside one that
// writes. So what it wrote counts as that of the next function of the immediate context.
type Batches struct {
	r *Recorder

	mu      sync.Mutex
	threads map[*ddi.Thread]*calls
	batches map[*ddi.Root][]*batch // by the device
}

// calls are what is needed of the functions that are open on a thread.
type calls struct {
	device *ddi.Root // of the outermost one, or nil
	free   bool      // any thread may call it
	args   []any     // of the callbacks, innermost last: the second argument
}

// A batch is the command buffer of a context that is being written.
type batch struct {
	context ddi.KMHandle
	buffer  []byte
	level   int // bytes of it that are known
}

// NewBatches returns a hook for the log of r.
func NewBatches(r *Recorder) *Batches {
	return &Batches{r: r, threads: map[*ddi.Thread]*calls{}, batches: map[*ddi.Root][]*batch{}}
}

// Enter implements verifier.Hook.
func (b *Batches) Enter(t *ddi.Thread, f *verifier.Func, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(t.Stack()) == 1 {
		b.threads[t] = &calls{device: deviceOf(args), free: isFree(f.Name)}
	}
	c := b.threads[t]
	if c == nil || !f.Callback {
		return
	}
	var arg any // callbacks with fewer arguments are of no interest
	if len(args) > 1 {
		arg = args[1]
	}
	c.args = append(c.args, arg)
	if _, renders := arg.(*umddi.Render); renders {
		b.emit(t, c)
	}
}

// Leave implements verifier.Hook.
func (b *Batches) Leave(t *ddi.Thread, f *verifier.Func, _ ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.threads[t]
	if c == nil {
		return
	}
	if len(t.Stack()) == 1 {
		if !c.free {
			b.emit(t, c)
		}
		delete(b.threads, t)
		return
	}
	if n := len(c.args); f.Callback && n > 0 {
		b.handedOut(c.device, c.args[n-1])
		c.args = c.args[:n-1]
	}
}

// handedOut notes the command buffer that a callback returned.
func (b *Batches) handedOut(device *ddi.Root, arg any) {
	switch arg := arg.(type) {
	case *umddi.CreateContext:
		b.batches[device] = append(b.batches[device], &batch{context: arg.Context, buffer: arg.CommandBuffer})
	case *umddi.Render:
		for _, of := range b.batches[device] {
			if of.context == arg.Context && len(arg.NewCommandBuffer) > 0 {
				of.buffer, of.level = arg.NewCommandBuffer, 0
			}
		}
	}
}

// emit notes the packets that are new in the command buffers of the device of a call.
func (b *Batches) emit(t *ddi.Thread, c *calls) {
	for _, of := range b.batches[c.device] {
		from := of.level
		for of.level+4 <= len(of.buffer) {
			header := binary.LittleEndian.Uint32(of.buffer[of.level:])
			if _, ok := pkt.Lookup(uint8(header >> 24)); !ok {
				break
			}
			of.level += 4 + 4*int(header&pkt.HeaderBody)
		}
		if of.level > from {
			b.r.emitted(t, eventlog.New(eventlog.Emit, uint64(of.context), uint64(from), uint64(of.level)))
		}
	}
}

// deviceOf returns the device of the arguments of a function, or nil.
func deviceOf(args []any) *ddi.Root {
	for _, a := range args {
		switch a := a.(type) {
		case umddi.HDevice:
			return a.Root
		case *umddi.CreateDevice:
			return a.Device.Root
		case umddi.Present:
			return a.Device.Root
		}
	}
	return nil
}

// isFree reports whether any thread may call a function.
func isFree(name string) bool {
	if name == "pfnCreateDevice" || name == "pfnDestroyDevice" {
		return false
	}
	for _, prefix := range [...]string{"pfnCreate", "pfnCalc", "pfnCheck", "pfnDestroy", "pfnOpen"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
