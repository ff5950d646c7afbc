package kmcheck

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// maxRecent is the number of values from the device that are remembered.
const maxRecent = 64

// A writing is the call that wrote a DMA buffer.
type writing struct {
	function string // "": not known
	call     uint64
}

// An evidence is what a Checker remembers to find the call to blame. Calls are by
// their numbers in the order of all calls.
type evidence struct {
	recent    [maxRecent]uint32 // the last values from the device
	received  uint64            // counts them
	unknown   bool              // the last fence reported is not pending, and came from the device
	submit    uint64            // last SubmitCommand
	written   map[*byte]writing // what wrote a DMA buffer, by its first byte
	writer    writing           // what wrote the buffer patched last
	paging    uint64            // last BuildPagingBuffer
	faulted   *pending          // submission that the device faulted
	queueDPC  uint64            // QueueDpc in the last call of the interrupt routine; 0: none
	notify    uint64            // likewise NotifyInterrupt
	lastWrite uint64            // last write to a register since the device started
	start     uint64            // last StartDevice
	stop      uint64            // last StopDevice
	stopMade  int               // callbacks that it made
	freed     map[string]int    // callbacks that gave back memory or mappings, by name
	command   bool              // the driver has read Command of configuration space
	mapped    bool              // a call of MapMemory succeeded
}

// createdBy returns the culprit for an object that its Create function left without
// the driver's part.
func createdBy(o *object) *verifier.Culprit {
	return &verifier.Culprit{Function: creators[o.kind], Call: o.made, Why: fmt.Sprintf("did not set Driver of %v", o)}
}

// replacedBy returns the culprit for an object whose Driver another function has
// replaced: the creation of an object of the kind that got none.
func (k *Checker) replacedBy(of *object) *verifier.Culprit {
	var last *object
	for _, o := range k.objects {
		if o.kind == of.kind && o.life == alive && o.root.Driver == nil && o.made > of.made && (last == nil || o.made > last.made) {
			last = o
		}
	}
	if last == nil {
		return nil
	}
	return createdBy(last)
}

// heldBy returns the culprit for memory or a mapping that a driver still holds.
func (k *Checker) heldBy(r resource, from, undo string) *verifier.Culprit {
	switch e := &k.evidence; {
	case k.refusal != nil:
		return &verifier.Culprit{Function: startDevice, Call: e.start, Why: fmt.Sprintf("returned %v", k.refusal.Cause)}
	case k.ran && e.stop > 0 && e.stopMade == 0:
		return &verifier.Culprit{Function: stopDevice, Call: e.stop, Why: "made no callback"}
	case e.freed[undo] == 0:
		return verifier.Missing(undo, k.stopper())
	default:
		return &verifier.Culprit{Function: from, Call: r.call, Why: "gave it, and the driver has freed what other calls gave"}
	}
}

// failedBy returns the culprit for a function that failed although the device answered.
func (k *Checker) failedBy(fr *frame, s ddi.Status) *verifier.Culprit {
	if c, ok := k.refusedOf(fr); ok {
		return &verifier.Culprit{Function: c.f.Name, Call: c.call, Why: fmt.Sprintf("returned %v", c.s)}
	}
	mine := k.madeIn(fr)
	if len(mine) == 0 {
		switch {
		case k.madeNext == 0 && k.ran:
			return &verifier.Culprit{Function: startDevice, Call: k.evidence.start, Why: "returned success and made no callback"}
		case fr.f.Name == queryFence:
			return verifier.Missing(synchronize, fr.f.Name)
		}
		return nil
	}
	last := mine[len(mine)-1]
	switch {
	case (s == ddi.StatusNoMemory || s == ddi.StatusInsufficientResources) && last.f.Name == "MmAllocateContiguousMemory":
		return &verifier.Culprit{Function: last.f.Name, Call: last.call, Argument: "argument size", Why: "is of the memory that the function got last"}
	case fr.f.Name != startDevice:
	case k.evidence.lastWrite > 0:
		return &verifier.Culprit{Function: "WRITE_REGISTER_ULONG", Call: k.evidence.lastWrite, Why: "was the last to tell the device anything"}
	case polls(mine):
		return verifier.Missing("WRITE_REGISTER_ULONG", fr.f.Name)
	}
	return nil
}

// polls reports whether callbacks read a register twice, with the same value.
func polls(all []made) bool {
	seen := map[string]bool{}
	for _, c := range all {
		if c.reads && seen[c.String()] {
			return true
		}
		seen[c.String()] = true
	}
	return false
}

// madeIn returns the last callbacks of a function.
func (k *Checker) madeIn(fr *frame) (all []made) {
	for i := k.madeNext - min(k.madeNext, maxMade); i < k.madeNext; i++ {
		if c := k.made[i%maxMade]; c.in == fr.number {
			all = append(all, c)
		}
	}
	return all
}

// unseen returns the callback that a driver lacks that refuses a device without a
// look at it, or "".
func (k *Checker) unseen() string {
	switch {
	case k.callsOf("DxgkCbGetDeviceInformation") == 0:
		return "DxgkCbGetDeviceInformation"
	case k.evidence.mapped && k.callsOf("READ_REGISTER_ULONG") == 0:
		return "READ_REGISTER_ULONG"
	}
	return ""
}

// judged are the rules of the graphics kernel for whose violations blame knows more.
var judged = []string{"fence-reported", "interrupt-dpc", "dpc-notify", "callback-handle", "gpu-fault"}

// blame returns the culprit for a violation that the graphics kernel has found.
func (k *Checker) blame(_ *ddi.Thread, broken, function string) *verifier.Culprit {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := &k.evidence
	switch {
	case broken == "fence-reported" && e.unknown && e.submit > 0:
		return &verifier.Culprit{Function: "DxgkDdiSubmitCommand", Call: e.submit, Why: "was the last to give the GPU a fence: the one reported came from the device"}
	case broken == "interrupt-dpc" && e.queueDPC > 0 && e.notify > e.queueDPC:
		return &verifier.Culprit{Function: "DxgkCbNotifyInterrupt", Call: e.notify, Why: "was made after DxgkCbQueueDpc"}
	case broken == "interrupt-dpc":
		return verifier.Missing("DxgkCbQueueDpc", function)
	case broken == "dpc-notify":
		return verifier.Missing("DxgkCbNotifyDpc", function)
	case broken == "callback-handle" && function == "MmFreeContiguousMemory" && k.callsOf("MmAllocateContiguousMemory") == 0:
		return &verifier.Culprit{Function: "MmAllocateContiguousMemory", Why: "has given no memory"}
	case broken == "gpu-fault" && e.faulted != nil && !e.faulted.empty:
		return &verifier.Culprit{Function: writerOf(e.faulted.writer, e.faulted.flags), Call: e.faulted.writer.call, Why: fmt.Sprintf("wrote the buffer of fence %d", e.faulted.fence)}
	}
	return nil
}

// enterEvidence remembers calls that begin.
func (k *Checker) enterEvidence(fr *frame) {
	e := &k.evidence
	switch fr.f.Name {
	case startDevice:
		e.start, e.lastWrite = fr.call, 0
	case stopDevice:
		e.stop = fr.call
	case interruptRoutine:
		e.queueDPC, e.notify = 0, 0
	case "DxgkCbQueueDpc":
		e.queueDPC = fr.call
	case "WRITE_REGISTER_ULONG":
		e.lastWrite = fr.call
	case "DxgkDdiRender", "DxgkDdiRenderKm", "DxgkDdiPresent":
		e.wrote(bufferOf(fr), writing{fr.f.Name, fr.call})
	case "DxgkDdiBuildPagingBuffer":
		e.paging = fr.call
	case patchFunction:
		e.writer = e.written[first(fr.args[1].(kmddi.Patch).DmaBuffer)]
	case "DxgkCbNotifyInterrupt":
		e.notify = fr.call
	}
}

// leaveEvidence remembers calls that have returned.
func (k *Checker) leaveEvidence(fr *frame) {
	e := &k.evidence
	switch fr.f.Name {
	case stopDevice:
		e.stopMade = fr.callbacks
	case "DxgkCbReadDeviceSpace":
		e.command = e.command || fr.args[1].(int) == configCommand
	case "MmFreeContiguousMemory", "DxgkCbUnmapMemory":
		e.freed[fr.f.Name]++
	}
}

// writesBuffer reports whether a function writes a DMA buffer for a context.
func writesBuffer(name string) bool {
	return name == "DxgkDdiRender" || name == "DxgkDdiRenderKm" || name == "DxgkDdiPresent"
}

// bufferOf returns the DMA buffer of a function that writes one for a context, or nil.
func bufferOf(fr *frame) []byte {
	switch arg := lastArg(fr).(type) {
	case kmddi.Render:
		return arg.DmaBuffer
	case kmddi.Present:
		return arg.DmaBuffer
	}
	return nil
}

// first returns the address of the first byte of p, or nil.
func first(p []byte) *byte {
	if len(p) == 0 {
		return nil
	}
	return &p[0]
}

// wrote remembers the call that writes a DMA buffer. It forgets all when there are
// many: a kernel reuses few.
func (e *evidence) wrote(p []byte, w writing) {
	if len(e.written) > maxDestroyed {
		clear(e.written)
	}
	e.written[first(p)] = w
}

// receive remembers a value from the device.
func (e *evidence) receive(v uint32) {
	e.recent[e.received%maxRecent] = v
	e.received++
}

// came reports whether a value came from the device of late.
func (e *evidence) came(v uint32) bool {
	return slices.Contains(e.recent[:min(e.received, maxRecent)], v)
}
