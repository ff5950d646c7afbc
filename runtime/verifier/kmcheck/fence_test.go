package kmcheck

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// read reads a register that has value v.
func (r *rig) read(t *ddi.Thread, v uint32) {
	r.value = v
	r.cb.ReadRegister(t, r.h, kmddi.HMapping{}, 0)
}

// completes runs an interrupt routine that reads a fence and reports another.
func (r *rig) completes(node, read, report uint32) {
	r.interrupt(func(t *ddi.Thread) {
		r.read(t, read)
		r.notify(t, node, report)
		r.cb.QueueDpc(t, r.h)
	})
}

// synchronized makes the driver's query run code in SynchronizeExecution.
func (r *rig) synchronized(code func(t *ddi.Thread)) {
	r.query(func(t *ddi.Thread) {
		r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { code(t); return true })
	})
}

// fault runs an interrupt routine that reports a fault.
func (r *rig) fault(fence uint32) {
	r.interrupt(func(t *ddi.Thread) {
		r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAFaulted, FenceID: fence})
		r.cb.QueueDpc(t, r.h)
	})
}

// preempted runs an interrupt routine that reads a fence and reports a preemption.
func (r *rig) preempted(read, fence, last uint32) {
	r.interrupt(func(t *ddi.Thread) {
		r.read(t, read)
		r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMAPreempted, FenceID: fence, LastCompletedFenceID: last})
		r.cb.QueueDpc(t, r.h)
	})
}

// engine reports a fence of an engine of node 0.
func (r *rig) engine(n uint32) {
	r.begin()
	r.submit(0, 1, 4)
	r.interrupt(func(t *ddi.Thread) {
		r.read(t, 1)
		r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: 1, EngineOrdinal: n})
		r.cb.QueueDpc(t, r.h)
	})
}

// allocates starts a device whose driver gets a page of memory, at r.page.
func (r *rig) allocates() (addr uint64) {
	addr = r.page
	r.on["StartDevice"] = func(t *ddi.Thread) { r.cb.AllocateContiguousMemory(t, r.h, 4096) }
	r.begin()
	return addr
}

// preemptCases are last completed fences of preemptions.
func preemptCases() []ruleCase {
	begin := func(r *rig) {
		r.begin()
		r.submit(0, 1, 4)
		r.completes(0, 1, 1)
		r.submit(0, 2, 4)
		r.submit(0, 3, 4)
	}
	return []ruleCase{
		{rule: "preempt-completed", breaks: func(r *rig) { // the one after the last
			begin(r)
			r.preempted(1, 4, 2)
		}, keeps: func(r *rig) {
			begin(r)
			r.preempted(2, 4, 2)
		}},
		{rule: "preempt-completed", breaks: func(r *rig) { // an empty buffer after one with commands
			begin(r)
			r.submit(0, 4, 0)
			r.preempted(1, 5, 4)
		}, keeps: func(r *rig) { // the GPU writes a later fence
			begin(r)
			r.preempted(3, 4, 2)
		}},
		{rule: "preempt-completed", breaks: func(r *rig) { // the first of two
			begin(r)
			r.completes(0, 2, 2)
			r.preempted(2, 4, 3)
		}, keeps: func(r *rig) { // nothing has completed since
			begin(r)
			r.preempted(1, 4, 1)
		}},
		{rule: "fence-unseen", breaks: func(r *rig) { // a driver with its own numbers
			r.begin()
			r.submit(0, 1, 4)
			r.submit(0, 2, 4)
			r.preempted(100, 3, 1)
		}, keeps: func(r *rig) {
			begin(r)
			r.preempted(2, 4, 2)
		}},
	}
}

func fenceCases() []ruleCase {
	le := binary.LittleEndian
	return []ruleCase{
		{rule: "fence-twice", breaks: func(r *rig) {
			r.begin()
			r.submit(0, 7, 4)
			r.completes(0, 7, 7)
			r.completes(0, 7, 7)
		}, keeps: func(r *rig) { // the same number on another node, and after a wrap
			r.begin()
			r.submit(0, 7, 4)
			r.submit(1, 7, 4)
			r.completes(0, 7, 7)
			r.completes(1, 7, 7)
			r.submit(0, 0xffffffff, 4)
			r.submit(0, 0, 4)
			r.completes(0, 0, 0) // stands for both
		}},
		{rule: "fence-twice", breaks: func(r *rig) { // a reset lost the fence
			r.begin()
			r.submit(0, 1, 4)
			r.funcs.ResetFromTimeout(r.th, r.adapter)
			r.completes(0, 1, 1)
		},
			keeps: func(r *rig) {
				r.begin()
				r.submit(0, 1, 4)
				r.funcs.ResetFromTimeout(r.th, r.adapter)
				r.funcs.RestartFromTimeout(r.th, r.adapter)
				r.submit(0, 2, 4)
				r.completes(0, 2, 2)
			}},
		{rule: "fence-early", breaks: func(r *rig) {
			r.begin()
			r.on["SubmitCommand"] = func(t *ddi.Thread) {
				r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.notify(t, 0, 1); return r.cb.QueueDpc(t, r.h) })
			}
			r.submit(0, 1, 4)
		}, keeps: func(r *rig) { // an empty buffer needs no GPU
			r.begin()
			r.on["SubmitCommand"] = func(t *ddi.Thread) {
				r.cb.SynchronizeExecution(t, r.h, 0, func(t *ddi.Thread) bool { r.notify(t, 0, 1); return r.cb.QueueDpc(t, r.h) })
			}
			r.submit(0, 1, 0)
		}},
		{rule: "fence-early", breaks: func(r *rig) { // news from before the submission do not count
			at := r.allocates()
			r.k.DeviceWrote(at, le.AppendUint32(nil, 1))
			r.submit(0, 1, 4)
			r.synchronized(func(t *ddi.Thread) { r.notify(t, 0, 1) })
		}, keeps: func(r *rig) { // the GPU wrote the fence, and the driver polls memory
			at := r.allocates()
			r.submit(0, 1, 4)
			r.k.DeviceWrote(at+8, le.AppendUint32(nil, 1))
			r.synchronized(func(t *ddi.Thread) { r.notify(t, 0, 1) })
		}},
		{rule: "fence-unseen", breaks: func(r *rig) { // the last one submitted, not the one completed
			r.begin()
			r.submit(0, 1, 4)
			r.submit(0, 2, 4)
			r.completes(0, 1, 2)
		}, keeps: func(r *rig) { // a later fence was seen
			r.begin()
			r.submit(0, 1, 4)
			r.submit(0, 2, 4)
			r.completes(0, 2, 1)
			r.completes(0, 2, 2)
		}},
		{rule: "fence-unseen", breaks: func(r *rig) { // written to memory that is not the driver's
			at := r.allocates()
			r.submit(0, 1, 4)
			r.k.DeviceWrote(at+4096, le.AppendUint32(nil, 1))
			r.completes(0, 0, 1)
		}, keeps: func(r *rig) { // the last dword of the driver's memory, in a longer write
			at := r.allocates()
			r.submit(0, 1, 4)
			r.k.DeviceWrote(at+4090, append([]byte{9, 9}, le.AppendUint32(nil, 1)...))
			r.completes(0, 0, 1)
		}},
		{rule: "fence-query", breaks: func(r *rig) {
			r.begin()
			r.submit(0, 5, 4)
			r.fence = 5
			r.query(func(t *ddi.Thread) { r.read(t, 5) })
		}, keeps: func(r *rig) {
			r.begin()
			r.submit(0, 5, 4)
			r.fence = 5
			r.synchronized(func(t *ddi.Thread) { r.read(t, 5); r.notify(t, 0, 5) })
			r.query(nil)
		}},
		{rule: "fence-query", breaks: func(r *rig) { // fence 0, after another one
			r.begin()
			r.submit(0, 0xffffffff, 4)
			r.submit(0, 0, 4)
			r.completes(0, 0xffffffff, 0xffffffff)
			r.query(nil)
		}, keeps: func(r *rig) { // 0 as long as none has completed, also after a reset
			r.begin()
			r.submit(0, 0, 4)
			r.query(nil)
			r.funcs.ResetFromTimeout(r.th, r.adapter)
			r.funcs.RestartFromTimeout(r.th, r.adapter)
			r.submit(0, 1, 4)
			r.query(nil)
		}},
		{rule: "interrupt-engine", breaks: func(r *rig) { r.engine(1) }, keeps: func(r *rig) { r.engine(0) }},
		{rule: "interrupt-claim", breaks: func(r *rig) {
			r.begin()
			r.claim = false
			r.submit(0, 1, 4)
			r.completes(0, 1, 1)
		}, keeps: func(r *rig) { // an interrupt that is not the device's, and one that is
			r.begin()
			r.claim = false
			r.interrupt(func(t *ddi.Thread) { r.read(t, 0) })
			r.claim = true
			r.submit(0, 1, 4)
			r.completes(0, 1, 1)
		}},
		{rule: "fence-faulted", breaks: func(r *rig) {
			r.begin()
			r.submit(0, 5, 4)
			r.completes(0, 5, 5)
			r.fault(5)
		}, keeps: func(r *rig) { r.begin(); r.submit(0, 5, 4); r.fault(5) }},
	}
}
