package dxgkrnl

// Holdings counts what a kernel holds. What grows from one time to the next is not released.
// It is for tests: nothing in the kernel uses it.
type Holdings struct {
	Processes   int // that have a device, except that of the kernel's own device
	Devices     int // except the kernel's own
	Contexts    int // with those of the kernel's own device
	Allocations int // with those that are destroyed and in use
	Handles     int // of devices, contexts and allocations
	DMABuffers  int // that contexts have
	Submissions int // that have not completed: in the hardware, and those that wait for it
	Jobs        int // DMA buffers in the queues of contexts

	MemoryBytes   uint64 // of memory segments, that allocations have
	ApertureBytes uint64 // of aperture segments, that allocations have

	DriverMemory int // blocks of memory that the miniport has allocated
	Mappings     int // of the device's memory, that the miniport has
	Kept         int // blocks of memory that a stopped GPU may use
}

// Holdings returns what the kernel holds now.
func (k *Kernel) Holdings() Holdings {
	var h Holdings
	k.gate.peek(func() {
		k.holdObjects(&h)
		k.holdWork(&h)
		for _, s := range k.segments {
			total := &h.MemoryBytes
			if !s.memory() {
				total = &h.ApertureBytes
			}
			for _, a := range s.residents {
				*total += s.spanOf(a)
			}
		}
		h.DriverMemory, h.Mappings, h.Kept = len(k.memory), len(k.mappings), len(k.held)
	})
	return h
}

// holdObjects counts objects and their handles.
func (k *Kernel) holdObjects(h *Holdings) {
	processes := map[uint32]bool{}
	for _, d := range k.devices {
		if !d.system {
			h.Devices++
			processes[d.process] = true
		}
		h.Contexts += len(d.contexts)
		h.Allocations += len(d.allocations)
		for _, c := range d.contexts {
			h.DMABuffers += len(c.dma)
		}
	}
	h.Processes = len(processes)
	h.Allocations += len(k.destroyed)
	for _, s := range k.handles.slots {
		if s.object != nil {
			h.Handles++
		}
	}
}

// holdWork counts work that has not completed.
func (k *Kernel) holdWork(h *Holdings) {
	for i := range k.nodes {
		h.Submissions += len(k.nodes[i].hardware) + len(k.nodes[i].waiting)
	}
	for _, d := range k.devices {
		for _, c := range d.contexts {
			h.Submissions += len(c.pending)
			h.Jobs += len(c.jobs)
		}
	}
	h.Submissions += len(k.paging.built)
}
