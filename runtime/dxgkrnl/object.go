package dxgkrnl

import (
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// device is a user-mode driver's device, or the kernel's own device.
type device struct {
	handle      ddi.KMHandle // 0 for the kernel's own device
	driver      kmddi.HDevice
	contexts    []*context    // in order of creation
	allocations []*allocation // in order of creation, without destroyed ones
	removed     ddi.Status    // the status of a removed device, else StatusSuccess
	lost        *DeviceError  // why the GPU lost it, or nil
	busy        bool          // a thread is in a thunk of the device
	process     uint32        // that has created it
	system      bool          // it is the kernel's own
}

// context is a stream of command buffers to one node.
type context struct {
	handle ddi.KMHandle
	device *device
	driver kmddi.HContext
	line   line
	info   kmddi.ContextInfo

	jobs     []*job        // software queue
	pending  []*submission // made, but not in the hardware, before what is made of jobs
	priority int           // MinPriority to MaxPriority
	level    int           // its priority at the moment, see candidates
	used     uint64        // ticks of its node
	turn     uint64        // when work of it last left the hardware

	dma     []*dmaBuffer // all DMA buffers of the context
	free    []*dmaBuffer
	users   [userBuffers]userBuffer
	current int // index of the user buffers being recorded

	command ddi.UserMemory // accessors, reused by each Render
	memory  userMemory
	patches userPatchList
}

// userBuffers is the number of user buffer sets of a context. The driver has
// copied the last set when Render returns, so two are enough.
const userBuffers = 2

// userBuffer is a set of buffers that the user-mode driver records to.
type userBuffer struct {
	command []byte
	allocs  []umddi.AllocationList
	patches []umddi.PatchLocation
}

// dmaBuffer is a DMA buffer with the lists for its content.
type dmaBuffer struct {
	lent
	context *context
	job     job                    // in the queue of the context
	list    []kmddi.AllocationList // for the driver
	objects []*allocation          // same indices as list; nil for none
	patches []kmddi.PatchLocation
	refs    int // number of submissions, plus the Render that writes it, plus its job

	nList, nPatches int
	used            uint32 // in bytes
	present         bool

	savedList    []kmddi.AllocationList // list as it was lent
	savedPatches []kmddi.PatchLocation  // patches when they were written
}

// release drops one reference.
func (d *dmaBuffer) release() {
	if d.refs--; d.refs == 0 {
		if d.job.id != 0 {
			d.count(-1)
			d.job.id = 0
		}
		clear(d.objects[:d.nList])
		d.giveBack()
		d.giveBackLists()
		d.context.free = append(d.context.free, d)
	}
}

// newDevice creates a device.
func (k *Kernel) newDevice(t *ddi.Thread, system bool) (*device, ddi.Status) {
	d := &device{driver: kmddi.HDevice{Root: new(ddi.Root)}, process: t.Process, system: system}
	if !system {
		h, ok := k.handles.add(d)
		if !ok {
			return nil, ddi.StatusNoMemory
		}
		d.handle = h
	}
	if s := k.driver.CreateDevice(t, k.adapter, d.driver, kmddi.CreateDevice{SystemDevice: system}); s.Failed() {
		if !system {
			k.handles.remove(d.handle)
		}
		return nil, s
	}
	k.devices = append(k.devices, d)
	return d, ddi.StatusSuccess
}

// destroyDevice waits for a device's work and destroys the device with all its
// remaining objects, contexts first.
func (k *Kernel) destroyDevice(t *ddi.Thread, d *device) ddi.Status {
	k.wait(t, "all submissions of the device", d.idle)
	for i := len(d.contexts) - 1; i >= 0; i-- {
		k.destroyContext(t, d.contexts[i])
	}
	for len(d.allocations) > 0 {
		k.retireAllocation(d.allocations[len(d.allocations)-1])
	}
	// Paging buffers may use the destroyed allocations as well.
	k.awaitDestroyed(t, d)
	k.reap(t)
	k.devices = slices.DeleteFunc(k.devices, func(e *device) bool { return e == d })
	if d.handle != 0 {
		k.handles.remove(d.handle)
	}
	return k.driver.DestroyDevice(t, d.driver)
}

// idle reports whether all work of a context has completed.
func (c *context) idle() bool { return !c.waits() && c.line.completed == c.line.made }

// idle reports whether all work of a device has completed.
func (d *device) idle() bool {
	return !slices.ContainsFunc(d.contexts, func(c *context) bool { return !c.idle() })
}

// newContext creates a context with its first buffers.
func (k *Kernel) newContext(t *ddi.Thread, d *device, arg *umddi.CreateContext) (*context, ddi.Status) {
	if uint64(arg.NodeOrdinal) >= uint64(len(k.nodes)) {
		return nil, ddi.StatusInvalidParameter
	}
	c := &context{device: d, driver: kmddi.HContext{Root: new(ddi.Root)}}
	c.line = line{node: &k.nodes[arg.NodeOrdinal], context: c}
	info, s := k.driver.CreateContext(t, d.driver, c.driver, kmddi.CreateContext{
		NodeOrdinal: arg.NodeOrdinal, EngineAffinity: 1, SystemContext: d.system, PrivateDriverData: slices.Clone(arg.PrivateDriverData),
	})
	if s.Failed() {
		return nil, s
	}
	c.info = info
	c.command = &c.memory
	c.memory.once = k.poison && !d.system // memory of the kernel does not change meanwhile
	c.patches.once = c.memory.once
	if s = k.prepareContext(t, c); s.Failed() {
		k.driver.DestroyContext(t, c.driver)
		return nil, s
	}
	d.contexts = append(d.contexts, c)
	return c, ddi.StatusSuccess
}

// prepareContext allocates the buffers and the handle of a context.
func (k *Kernel) prepareContext(t *ddi.Thread, c *context) ddi.Status {
	i := c.info
	if k.broken(t, "context-info", "DxgkDdiCreateContext", checkContext(i)) {
		return ddi.StatusInvalidParameter
	}
	d := k.newDMABuffer(c)
	if d == nil {
		return ddi.StatusNoMemory
	}
	h, ok := k.handles.add(c)
	if !ok {
		k.machine.Free(d.whole)
		return ddi.StatusNoMemory
	}
	c.handle = h
	for j := range c.users {
		if c.device.system {
			break // the kernel records nothing
		}
		c.users[j] = userBuffer{
			command: make([]byte, i.DmaBufferSize),
			allocs:  make([]umddi.AllocationList, i.AllocationListSize),
			patches: make([]umddi.PatchLocation, i.PatchLocationListSize),
		}
	}
	c.dma, c.free = append(c.dma, d), append(c.free, d)
	return ddi.StatusSuccess
}

// newDMABuffer returns a DMA buffer for a context, or nil if no memory is
// available that the device can access.
func (k *Kernel) newDMABuffer(c *context) *dmaBuffer {
	l, ok := k.lend(c.info.DmaBufferSize, c.info.DmaBufferPrivateDataSize)
	if !ok {
		return nil
	}
	n := max(c.info.AllocationListSize, presentElements)
	d := &dmaBuffer{
		context: c, lent: l,
		list:    make([]kmddi.AllocationList, n),
		objects: make([]*allocation, n),
		patches: make([]kmddi.PatchLocation, c.info.PatchLocationListSize),
	}
	d.giveBackLists()
	return d
}

// pages allocates host memory that the device can access.
func (k *Kernel) pages(size, align uint64) (hal.Pages, bool) {
	if size > k.machine.MemBytes() {
		return hal.Pages{}, false
	}
	p, err := k.machine.Alloc(int(size), align)
	if err != nil {
		return hal.Pages{}, false
	}
	if top := k.caps.HighestAcceptableAddress; p.Phys+size-1 > top {
		k.machine.Free(p)
		return hal.Pages{}, false
	}
	p.Bytes = slices.Clip(p.Bytes) // the driver must not access memory beyond it
	return p, true
}

// destroyContext waits for a context's work and destroys it.
func (k *Kernel) destroyContext(t *ddi.Thread, c *context) ddi.Status {
	k.wait(t, "all submissions of the context", c.idle)
	k.dropWork(c) // of a GPU that has stopped
	d := c.device
	d.contexts = slices.DeleteFunc(d.contexts, func(e *context) bool { return e == c })
	k.handles.remove(c.handle)
	for _, b := range c.dma {
		k.freePages(b.whole)
	}
	return k.driver.DestroyContext(t, c.driver)
}

// freePages frees memory that no submitted work uses. If a stopped GPU may
// still use it, it is kept until the device stops.
func (k *Kernel) freePages(p hal.Pages) {
	if k.err != nil {
		k.held = append(k.held, p)
		return
	}
	k.machine.Free(p)
}

// releaseHeld frees memory that a stopped GPU might have used.
func (k *Kernel) releaseHeld() {
	for _, p := range k.held {
		k.machine.Free(p)
	}
	k.held = nil
}
