package dxgkrnl

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
)

// The codes of a Bugcheck (bugcodes.h).
const (
	CodeTimeout   = 0x116 // VIDEO_TDR_ERROR
	CodeScheduler = 0x119 // VIDEO_SCHEDULER_INTERNAL_ERROR
	CodeMemory    = 0x10e // VIDEO_MEMORY_MANAGEMENT_INTERNAL
	CodeVerifier  = 0xc4  // DRIVER_VERIFIER_DETECTED_VIOLATION
)

// P1 of CodeScheduler.
const (
	SchedulerFence  = 0x1  // a fence id that is not outstanding was reported
	SchedulerSubmit = 0x2  // SubmitCommand or PreemptCommand failed
	SchedulerPatch  = 0x3  // Patch failed
	SchedulerPaging = 0x5  // SubmitCommand of a paging buffer failed
	SchedulerCancel = 0x9  // CancelCommand failed
	SchedulerAbort  = 0xa  // ResetEngine returned a fence that cannot be the aborted one
	SchedulerReset  = 0x10 // an interrupt between ResetEngine and the next work of the node
)

// P1 of CodeTimeout. The numbers are specific to this kernel; Windows gives an address.
const (
	TimeoutLimit = 0x1 // more resets of the adapter in a time than TdrLimitCount allows
	TimeoutDDI   = 0x2 // a function that resets took longer than TdrDdiDelay
)

// P1 of CodeMemory.
const (
	MemoryUnmap    = 0x3  // UNMAP_APERTURE_SEGMENT failed
	MemorySplit    = 0x8  // a patch list that cannot be split or is invalid
	MemoryPaging   = 0xb  // BuildPagingBuffer: illegal status, or no progress in an empty buffer
	MemoryMap      = 0xe  // MAP_APERTURE_SEGMENT failed
	MemoryOverflow = 0x12 // more of a DMA buffer or patch list used than its size
	MemoryPrivate  = 0x13 // memory outside the private data of a buffer was written
	MemoryContract = 0x16 // an empty DMA buffer is insufficient and MultipassOffset is unchanged
	MemoryAperture = 0x25 // the GPU wrote to pages of an aperture segment that are not mapped
)

// P1 of CodeVerifier: rules that have no documented code. The numbers are
// specific to this kernel.
const (
	VerifierNoQueueDPC  = 0x10001 // InterruptRoutine: NotifyInterrupt without a later QueueDpc
	VerifierNoNotifyDPC = 0x10002 // DpcRoutine returned without NotifyDpc
	VerifierLevel       = 0x10003 // a callback at the wrong interrupt request level
	VerifierHandle      = 0x10004 // a callback with a handle of another adapter
	VerifierAlign       = 0x10005 // the used part of a DMA buffer is not a multiple of 4
	VerifierInterrupt   = 0x10006 // NotifyInterrupt of an unknown type
	VerifierKept        = 0x10008 // memory that was lent changed after the function returned
	VerifierPatchRange  = 0x10009 // Patch changed bytes outside the submitted part
	VerifierSynchronize = 0x10007 // the function of SynchronizeExecution returned at another level than DIRQL
)

// A Bugcheck is a contract broken by the miniport. It is the value of a panic
// that unwinds to the caller of the driver stack, on the thread that found it and on
// every other one that waits in the kernel. The thunks restore the thread's level. Afterwards the kernel does not call the
// miniport, and every thunk returns StatusDeviceRemoved.
type Bugcheck struct {
	Code     uint32
	P1       uint32 // first parameter
	Function string // of the miniport, or the callback, that broke the contract
	Text     string // what was found and what is wanted
	Dump     string // state of the kernel
}

// Error describes the bugcheck in one line.
func (b *Bugcheck) Error() string {
	return fmt.Sprintf("dxgkrnl: bugcheck %#x/%#x: %s: %s", b.Code, b.P1, b.Function, b.Text)
}

// BrokenRule returns the rule of package rule, the function that broke it, and
// what was found.
func (b *Bugcheck) BrokenRule() (name, function, found string) {
	r, ok := rule.ByCode(b.Code, b.P1)
	if !ok {
		panic(fmt.Sprintf("dxgkrnl: bugcheck %#x/%#x has no rule", b.Code, b.P1))
	}
	return r.Name, b.Function, fmt.Sprintf("%s (bugcheck %#x/%#x)", b.Text, b.Code, b.P1)
}

// Details returns the state of the kernel, as text.
func (b *Bugcheck) Details() string { return b.Dump }

// bugcheck stops the adapter and unwinds.
func (k *Kernel) bugcheck(function string, code, p1 uint32, format string, args ...any) {
	b := &Bugcheck{Code: code, P1: p1, Function: function, Text: fmt.Sprintf(format, args...), Dump: k.dump()}
	if k.err == nil {
		k.err = &DeviceError{Kind: Broken, Cause: b, Dump: b.Dump}
	}
	k.crashed = b
	panic(b)
}
