package dxgkrnl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Reasons of CollectDbgInfo: the codes of Windows live dumps.
const (
	reasonTimeout = 0x141 // VIDEO_ENGINE_TIMEOUT_DETECTED
	reasonAdapter = 0x117 // VIDEO_TDR_TIMEOUT_DETECTED
)

// dbgInfoBytes is the size of the buffer for CollectDbgInfo.
const dbgInfoBytes = 64 << 10

// Kind is the reason why the adapter was stopped.
type Kind uint8

// The kinds.
const (
	Fault   Kind = iota // the GPU reported a fault
	Timeout             // the GPU made no progress in time
	Link                // the link to the GPU failed
	Broken              // the miniport broke a contract: Cause is a *Bugcheck
)

var kindNames = [...]string{Fault: "GPU fault", Timeout: "GPU time-out", Link: "link failure", Broken: "broken contract"}

// String returns the name of the kind.
func (kd Kind) String() string {
	if int(kd) < len(kindNames) {
		return kindNames[kd]
	}
	return fmt.Sprintf("Kind(%d)", uint8(kd))
}

// A DeviceError describes why the adapter was stopped, or why a device was lost. A stopped
// adapter is sticky: every thunk that needs the GPU fails until a reset succeeds.
type DeviceError struct {
	Kind  Kind
	Node  uint32 // of the GPU fault or time-out
	Fence uint32 // the fence that faulted or timed out
	Cause error  // a ddi.Status, an error of the link, or a *Bugcheck
	Work  string // the calls that made the work of the fence, or ""
	Storm uint64 // interrupt messages since the last progress, in an interrupt storm; else 0
	Dump  string // kernel state, then the text from CollectDbgInfo

	Recovery error // why the adapter has not recovered by itself; nil: it has not tried
}

// Error describes the error in one line.
func (e *DeviceError) Error() string {
	if e.Kind != Fault && e.Kind != Timeout {
		return fmt.Sprintf("dxgkrnl: %v: %v", e.Kind, e.Cause)
	}
	s := fmt.Sprintf("dxgkrnl: %v: node %d, fence %d: %v", e.Kind, e.Node, e.Fence, e.Cause)
	if e.Storm > 0 {
		s += fmt.Sprintf(": interrupt storm: %d messages since the last progress", e.Storm)
	}
	if e.Work != "" {
		s += ": " + e.Work
	}
	if e.Recovery != nil {
		s += fmt.Sprintf(": no recovery: %v", e.Recovery)
	}
	return s
}

// status returns the status for thunks: a link failure differs from a hung GPU.
func (e *DeviceError) status() ddi.Status {
	if e.Kind == Link {
		return ddi.StatusIODeviceError
	}
	return ddi.StatusDeviceRemoved
}

// Unwrap returns the cause.
func (e *DeviceError) Unwrap() error { return e.Cause }

// Lost returns why the GPU lost a device, or for 0 why it last lost what the kernel drew: a
// *DeviceError, or nil if it did not, or there is no such device. Of a stopped adapter it is that of Err for any device.
func (k *Kernel) Lost(dev ddi.KMHandle) error {
	var err error
	k.gate.peek(func() {
		d, ok := k.device(dev)
		if dev == 0 && len(k.devices) > 0 {
			d, ok = k.devices[0], true
		}
		if ok && d.lost != nil {
			err = d.lost
		} else if k.err != nil {
			err = k.err
		}
	})
	return err
}

// Err returns why the adapter was stopped, a *DeviceError, or nil.
func (k *Kernel) Err() error {
	var err error
	k.gate.peek(func() {
		if k.err != nil {
			err = k.err
		}
	})
	return err
}

// faultOf returns the error for the fault that a node has reported.
func (k *Kernel) faultOf(n *node) *DeviceError {
	f := n.faulted
	return &DeviceError{Kind: Fault, Node: n.ordinal, Fence: f.fence, Cause: ddi.Status(f.status), Work: k.workOf(n.ordinal, f.fence)}
}

// timeOutOf returns the error for a node that made no progress.
func (k *Kernel) timeOutOf(n *node) *DeviceError {
	fence := n.fenceID(n.completed + 1)
	if len(n.hardware) > 0 {
		fence = n.hardware[0].arg.SubmissionFenceID
	}
	return &DeviceError{Kind: Timeout, Node: n.ordinal, Fence: fence, Cause: ddi.StatusIOTimeout, Work: k.workOf(n.ordinal, fence), Storm: k.storm()}
}

// stormRate is the rate of messages without progress of an interrupt storm, per second.
const stormRate = 50

// storm returns the number of messages since the last progress, or 0 if that is no
// interrupt storm. In a storm messages arrive faster than the ISR returns, or many in
// the time in which no node makes progress.
func (k *Kernel) storm() uint64 {
	s := k.dev.Stats()
	n := s.Messages - k.calm.Messages
	if s.Storms > k.calm.Storms || n > stormRate && n*k.dev.Hz() > stormRate*k.tdrDelay() {
		return n
	}
	return 0
}

// stopLink stops the adapter because the link failed.
func (k *Kernel) stopLink(t *ddi.Thread, err error) {
	k.stop(t, reasonAdapter, &DeviceError{Kind: Link, Cause: err})
}

// stop stops the adapter. The first cause is kept. Afterwards nothing is
// submitted and no fence is accepted.
func (k *Kernel) stop(t *ddi.Thread, reason uint32, e *DeviceError) {
	if k.err != nil {
		return
	}
	k.err = e
	if e.Dump == "" { // not of a reset that has failed
		k.collect(t, reason, e)
	}
	k.observe(Event{Kind: EventStop, Node: e.Node, Fence: e.Fence, Text: e.Error() + "\n" + e.Dump})
	k.reportWork(t, e)
}

// collect describes the state of the kernel and of the GPU in an error.
func (k *Kernel) collect(t *ddi.Thread, reason uint32, e *DeviceError) {
	e.Dump = k.dump()
	p := make([]byte, dbgInfoBytes)
	out, s := k.driver.CollectDbgInfo(t, k.adapter, kmddi.CollectDbgInfo{Reason: reason, Buffer: p})
	if s.Failed() {
		e.Dump += fmt.Sprintf("CollectDbgInfo: %v\n", s)
		return
	}
	e.Dump += string(p[:min(max(out.Length, 0), len(p))])
	if !strings.HasSuffix(e.Dump, "\n") {
		e.Dump += "\n"
	}
}

// dump describes the state of the kernel.
func (k *Kernel) dump() string {
	var b strings.Builder
	for i := range k.nodes {
		if f := k.nodes[i].faulted; f != nil {
			fmt.Fprintf(&b, "kernel: node %d reported fault %v in fence %d\n", i, ddi.Status(f.status), f.fence)
		}
	}
	for i := range k.nodes {
		k.dumpNode(&b, &k.nodes[i])
	}
	for _, s := range k.segments {
		s.dump(&b)
		if !s.desc.Flags.System {
			k.dumpShares(&b, s)
		}
	}
	return b.String()
}

// dumpShares describes what each process has of a segment, and its budget. What account has noted
// for a placement stays.
func (k *Kernel) dumpShares(b *strings.Builder, s *segment) {
	shares, needy, budget := slices.Clone(k.shares), k.needy, k.budget
	defer func() { k.shares, k.needy, k.budget = shares, needy, budget }()
	k.account(s, nil)
	slices.SortFunc(k.shares, func(x, y share) int { return cmp.Compare(x.process, y.process) })
	for _, p := range k.shares {
		over := ""
		if p.used > k.budget {
			over = ", over budget"
		}
		fmt.Fprintf(b, "kernel:   process %d: %#x bytes, budget %#x%s\n", p.process, p.used, k.budget, over)
	}
}

// dumpNode describes the fences and queues of a node.
func (k *Kernel) dumpNode(b *strings.Builder, n *node) {
	fmt.Fprintf(b, "kernel: node %d: fence %d completed, %d reported, %d submitted; %d of %d in hardware, %d paging buffers waiting\n",
		n.ordinal, n.fenceID(n.completed), n.fenceID(n.reported), n.fenceID(n.submitted),
		len(n.hardware), k.caps.HwQueuePacketCap, len(n.waiting))
	for _, s := range n.hardware {
		k.dumpSubmission(b, "hardware", s)
	}
	for _, s := range n.waiting {
		k.dumpSubmission(b, "waiting", s)
	}
	for _, d := range k.devices {
		for _, c := range d.contexts {
			if c.line.node == n && c.waits() {
				k.dumpContext(b, c)
			}
		}
	}
}

// dumpContext describes the software queue of a context.
func (k *Kernel) dumpContext(b *strings.Builder, c *context) {
	fmt.Fprintf(b, "kernel:   context %#x of priority %d: %d DMA buffers in its queue\n", c.handle, c.priority, len(c.jobs))
	for _, s := range c.pending {
		k.dumpSubmission(b, "waiting", s)
	}
}

// dumpSubmission describes a buffer and its dependencies.
func (k *Kernel) dumpSubmission(b *strings.Builder, where string, s *submission) {
	kind := "DMA buffer"
	if s.arg.Flags.Paging {
		kind = "paging buffer"
	}
	fence := "no fence"
	if s.fence != 0 {
		fence = fmt.Sprintf("fence %d", s.arg.SubmissionFenceID)
	}
	fmt.Fprintf(b, "kernel:   %s: %s, %s at %#x, bytes %#x to %#x", where, fence, kind,
		s.arg.DmaBufferPhysicalAddress, s.arg.DmaBufferSubmissionStartOffset, s.arg.DmaBufferSubmissionEndOffset)
	for _, m := range s.waits {
		if !m.completed() {
			b.WriteString(", waits for " + m.String())
		}
	}
	b.WriteByte('\n')
}
