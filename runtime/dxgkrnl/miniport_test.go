package dxgkrnl

import (
	"cmp"
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// private is the private data of an allocation of the fake miniport.
type private struct {
	size                 uint64
	align                uint32
	preferred, supported uint32
	hidden               bool
}

func (p private) encode() []byte {
	b := le.AppendUint64(nil, p.size)
	b = le.AppendUint32(b, p.align)
	b = le.AppendUint32(b, p.preferred)
	b = le.AppendUint32(b, p.supported)
	if p.hidden {
		return append(b, 1)
	}
	return append(b, 0)
}

// miniport is a miniport for the fake GPU. It logs its calls and can misbehave.
type miniport struct {
	gpu      *gpu
	caps     kmddi.DriverCaps
	segments kmddi.QuerySegment
	info     kmddi.ContextInfo
	piece    uint64 // bytes per paging command
	most     int    // bytes of a DMA buffer that Render uses, a multiple of opBytes; 0: all
	maps     bool   // the CPU maps pages of the aperture, and not what is in a paging buffer

	cb   *kmddi.DxgkrnlInterface
	regs kmddi.HMapping
	last []uint32 // last reported fence, by node
	any  []bool   // a fence was submitted
	log  []string
	live int // number of contexts, devices, allocations and opened allocations
	fail map[string]ddi.Status
	irql []string          // calls at a wrong level
	at   map[string]func() // called in the next call of a function

	every func(name string) // called in each call of a function

	// Functions replaced by tests.
	isr    func(t *ddi.Thread)
	query  func(t *ddi.Thread, node uint32) (uint32, ddi.Status)
	render func(arg kmddi.Render) (kmddi.RenderOut, ddi.Status, bool)
	build  func(arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status, bool)
	dpc    func(t *ddi.Thread)

	patched func(arg kmddi.Patch) // called at the end of Patch
	preempt func(node int)        // called by PreemptCommand; nil: the GPU stops after a command

	responsive bool                                                                    // what QueryEngineStatus answers
	group      uint64                                                                  // what QueryDependentEngineGroup answers; 0: the node alone
	engine     func(t *ddi.Thread, node uint32) (last uint32, s ddi.Status, done bool) // called by ResetEngine

	stopping []uint32 // preemption fence, by node
	cancels  int      // calls of CancelCommand
}

func (m *miniport) call(t *ddi.Thread, level ddi.IRQL, format string, args ...any) ddi.Status {
	line := fmt.Sprintf(format, args...)
	m.log = append(m.log, line)
	if t.IRQL() != level {
		m.irql = append(m.irql, fmt.Sprintf("%s at %v", line, t.IRQL()))
	}
	var name string
	fmt.Sscan(line, &name)
	if m.every != nil {
		m.every(name)
	}
	if f := m.at[name]; f != nil {
		delete(m.at, name)
		f()
	}
	return m.fail[name]
}

func (m *miniport) table() kmddi.DriverInitializationData {
	return kmddi.DriverInitializationData{
		Version:     kmddi.InterfaceVersion,
		AddDevice:   func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return m.call(t, 0, "AddDevice") },
		StartDevice: m.start, StopDevice: m.stop,
		RemoveDevice:     func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status { return m.call(t, 0, "RemoveDevice") },
		InterruptRoutine: m.interrupt, DpcRoutine: m.dpcRoutine, QueryAdapterInfo: m.adapterInfo,
		CreateDevice: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HDevice, a kmddi.CreateDevice) ddi.Status {
			return m.made(m.call(t, 0, "CreateDevice system=%v", a.SystemDevice))
		},
		DestroyDevice: func(t *ddi.Thread, _ kmddi.HDevice) ddi.Status {
			m.live--
			return m.call(t, 0, "DestroyDevice")
		},
		CreateContext: func(t *ddi.Thread, _ kmddi.HDevice, _ kmddi.HContext, a kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			return m.info, m.made(m.call(t, 0, "CreateContext node=%d", a.NodeOrdinal))
		},
		DestroyContext: func(t *ddi.Thread, _ kmddi.HContext) ddi.Status {
			m.live--
			return m.call(t, 0, "DestroyContext")
		},
		CreateAllocation: m.createAllocation,
		DestroyAllocation: func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HAllocation) ddi.Status {
			m.live--
			return m.call(t, 0, "DestroyAllocation")
		},
		OpenAllocation: func(t *ddi.Thread, _ kmddi.HDevice, o kmddi.HDeviceAllocation, a kmddi.OpenAllocation) ddi.Status {
			return m.made(m.call(t, 0, "OpenAllocation create=%v", a.Create))
		},
		CloseAllocation: func(t *ddi.Thread, _ kmddi.HDevice, _ kmddi.HDeviceAllocation) ddi.Status {
			m.live--
			return m.call(t, 0, "CloseAllocation")
		},
		Render: m.renderCommand, RenderKm: m.renderKm, Present: m.present, BuildPagingBuffer: m.buildPaging, Patch: m.patch, SubmitCommand: m.submit,
		QueryCurrentFence: m.queryFence, CollectDbgInfo: m.collect,
		PreemptCommand: m.preemptCommand, CancelCommand: m.cancelCommand,
		QueryEngineStatus: func(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.QueryEngineStatus) (kmddi.QueryEngineStatusOut, ddi.Status) {
			return kmddi.QueryEngineStatusOut{Responsive: m.responsive}, m.call(t, 0, "QueryEngineStatus node=%d", arg.NodeOrdinal)
		},
		QueryDependentEngineGroup: func(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.QueryDependentEngineGroup) (kmddi.QueryDependentEngineGroupOut, ddi.Status) {
			s := m.call(t, 0, "QueryDependentEngineGroup node=%d", arg.NodeOrdinal)
			return kmddi.QueryDependentEngineGroupOut{DependentNodeOrdinalMask: cmp.Or(m.group, 1<<arg.NodeOrdinal)}, s
		},
		ResetEngine:      m.resetEngine,
		ResetFromTimeout: m.reset,
		RestartFromTimeout: func(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status {
			s := m.call(t, 0, "RestartFromTimeout")
			m.read(t, regStatus)
			return s
		},
	}
}

func (m *miniport) made(s ddi.Status) ddi.Status {
	if !s.Failed() {
		m.live++
	}
	return s
}

func (m *miniport) start(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
	if s := m.call(t, 0, "StartDevice"); s.Failed() {
		return kmddi.StartDeviceOut{}, s
	}
	m.cb = cb
	var s ddi.Status
	m.regs, s = cb.MapMemory(t, cb.DeviceHandle, 0, 0, 0x1000)
	return kmddi.StartDeviceOut{}, s
}

func (m *miniport) stop(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status {
	s := m.call(t, 0, "StopDevice")
	m.cb.UnmapMemory(t, m.cb.DeviceHandle, m.regs)
	return s
}

// reset drops the jobs of the GPU.
func (m *miniport) reset(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status {
	s := m.call(t, 0, "ResetFromTimeout")
	for i := range m.gpu.queues {
		m.gpu.queues[i], m.any[i], m.stopping[i] = nil, false, 0
	}
	le.PutUint32(m.gpu.bar0[regStopped:], 0)
	m.cb.WriteRegister(t, m.cb.DeviceHandle, m.regs, regFault, 0)
	m.cb.WriteRegister(t, m.cb.DeviceHandle, m.regs, regStatus, math.MaxUint32)
	return s
}

func (m *miniport) adapterInfo(t *ddi.Thread, _ kmddi.HAdapter, a kmddi.QueryAdapterInfo) (out kmddi.QueryAdapterInfoOut, s ddi.Status) {
	s = m.call(t, 0, "QueryAdapterInfo%d", a.Type)
	switch a.Type {
	case kmddi.InfoUMDriverPrivate:
		out.UMDriverPrivate = []byte{1, 2, 3}
	case kmddi.InfoDriverCaps:
		out.DriverCaps = m.caps
	case kmddi.InfoQuerySegment:
		out.Segments = m.segments
	}
	return out, s
}

func (m *miniport) createAllocation(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HAllocation, a kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
	p := a.PrivateDriverData
	return kmddi.AllocationInfo{
		Size: le.Uint64(p), Alignment: le.Uint32(p[8:]), PreferredSegment: le.Uint32(p[12:]),
		SupportedSegmentSet: le.Uint32(p[16:]), CPUVisible: p[20] == 0,
	}, m.made(m.call(t, 0, "CreateAllocation"))
}

// renderCommand copies as many commands as fit, with their patches.
func (m *miniport) renderCommand(t *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
	if s := m.call(t, 0, "Render"); s.Failed() {
		return kmddi.RenderOut{}, s
	}
	if m.render != nil {
		if out, s, done := m.render(arg); done {
			return out, s
		}
	}
	off := int(arg.MultipassOffset)
	n := min(arg.Command.Size()-off, len(arg.DmaBuffer)/opBytes*opBytes)
	if m.most > 0 {
		n = min(n, m.most)
	}
	if s := arg.Command.Read(off, arg.DmaBuffer[:n]); s.Failed() {
		return kmddi.RenderOut{}, s
	}
	out := kmddi.RenderOut{DmaBufferUsed: uint32(n), MultipassOffset: uint32(off + n)}
	for i := range arg.PatchLocationListIn.Len() {
		p, s := arg.PatchLocationListIn.At(i)
		if s.Failed() {
			return out, s
		}
		if int(p.PatchOffset) >= off && int(p.PatchOffset) < off+n {
			p.PatchOffset -= uint32(off)
			p.SplitOffset -= min(p.SplitOffset, uint32(off))
			arg.PatchLocationListOut[out.PatchesUsed] = p
			out.PatchesUsed++
		}
	}
	if off+n < arg.Command.Size() {
		return out, ddi.StatusInsufficientDMABuffer
	}
	return out, ddi.StatusSuccess
}

// present copies 64 bytes.
func (m *miniport) present(t *ddi.Thread, _ kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
	if s := m.call(t, 0, "Present list=%d write=%v", len(arg.AllocationList), arg.AllocationList[2].WriteOperation); s.Failed() {
		return kmddi.RenderOut{}, s
	}
	copy(arg.DmaBuffer, encodeOp(opCopy, 64, 0, 0, 0))
	arg.PatchLocationListOut[0] = kmddi.PatchLocation{AllocationIndex: 1, PatchOffset: srcAt}
	arg.PatchLocationListOut[1] = kmddi.PatchLocation{AllocationIndex: 2, PatchOffset: dstAt}
	return kmddi.RenderOut{DmaBufferUsed: opBytes, PatchesUsed: 2}, ddi.StatusSuccess
}

func (m *miniport) patch(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
	s := m.call(t, 0, "Patch fence=%d node=%d", arg.SubmissionFenceID, arg.NodeOrdinal)
	first, n := arg.PatchLocationListSubmissionStart, arg.PatchLocationListSubmissionLength
	for _, p := range arg.PatchLocationList[first : first+n] {
		al := arg.AllocationList[p.AllocationIndex]
		null := al.SegmentID == 0 && le.Uint32(arg.DmaBuffer[p.PatchOffset/opBytes*opBytes:]) != opNop // which has no operand
		if null || p.PatchOffset < arg.DmaBufferSubmissionStartOffset || p.PatchOffset >= arg.DmaBufferSubmissionEndOffset {
			m.gpu.fail("patch at %#x in segment %d", p.PatchOffset, al.SegmentID)
		}
		le.PutUint64(arg.DmaBuffer[p.PatchOffset:], al.PhysicalAddress+uint64(p.AllocationOffset))
	}
	if m.patched != nil {
		m.patched(arg)
	}
	return s
}

func (m *miniport) submit(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
	what := "buffer"
	if arg.Flags.Paging {
		what = "paging"
	}
	s := m.call(t, ddi.DispatchLevel, "Submit %s fence=%d node=%d", what, arg.SubmissionFenceID, arg.NodeOrdinal)
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	if !m.any[arg.NodeOrdinal] {
		m.any[arg.NodeOrdinal], m.last[arg.NodeOrdinal] = true, arg.SubmissionFenceID-1
		le.PutUint32(m.gpu.bar0[regFence+4*arg.NodeOrdinal:], arg.SubmissionFenceID-1)
	}
	if m.stopping[arg.NodeOrdinal] != 0 {
		m.gpu.fail("fence %d is submitted to node %d before it has answered the preemption", arg.SubmissionFenceID, arg.NodeOrdinal)
	}
	w := work{addr: arg.DmaBufferPhysicalAddress + uint64(start), bytes: end - start, fence: arg.SubmissionFenceID}
	if m.caps.PreemptionAware {
		w.part, w.place = start, arg.DmaBufferPrivateData
		if !arg.Flags.Resubmission {
			clear(w.place)
		}
		if le.Uint32(w.place[4:]) == start { // parts of a buffer share their private data
			at := le.Uint32(w.place)
			w.addr, w.bytes = w.addr+uint64(at), w.bytes-at
		}
	}
	m.gpu.submit(arg.NodeOrdinal, w)
	m.cb.WriteRegister(t, m.cb.DeviceHandle, m.regs, regDoorbell, 1)
	return s
}

func (m *miniport) read(t *ddi.Thread, off uint32) uint32 {
	v, s := m.cb.ReadRegister(t, m.cb.DeviceHandle, m.regs, off)
	if s.Failed() {
		m.gpu.fail("read of %#x: %v", off, s)
	}
	return v
}

func (m *miniport) notify(t *ddi.Thread, arg kmddi.NotifyInterrupt) {
	m.log = append(m.log, fmt.Sprintf("NotifyInterrupt type=%d fence=%d node=%d", arg.InterruptType, arg.FenceID, arg.NodeOrdinal))
	m.cb.NotifyInterrupt(t, m.cb.DeviceHandle, arg)
}

func (m *miniport) interrupt(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool {
	m.call(t, ddi.DIRQL, "InterruptRoutine")
	status := m.read(t, regStatus)
	if status == 0 {
		return false
	}
	m.cb.WriteRegister(t, m.cb.DeviceHandle, m.regs, regStatus, status)
	if m.isr != nil {
		m.isr(t)
		return true
	}
	for node := range m.last {
		if status&(1<<node) != 0 {
			m.event(t, uint32(node))
		}
	}
	m.log = append(m.log, "QueueDpc")
	m.cb.QueueDpc(t, m.cb.DeviceHandle)
	return true
}

// event reports what has happened to a node: completion, a stop, a fault.
func (m *miniport) event(t *ddi.Thread, node uint32) {
	m.advance(t, node)
	if m.read(t, regStopped)&(1<<node) != 0 {
		m.cb.WriteRegister(t, m.cb.DeviceHandle, m.regs, regStopped, 1<<node)
		fence := m.stopping[node]
		m.stopping[node] = 0
		m.notify(t, kmddi.NotifyInterrupt{
			InterruptType: kmddi.InterruptDMAPreempted, NodeOrdinal: node, FenceID: fence, LastCompletedFenceID: m.last[node],
		})
	}
	if m.read(t, regFault) == node+1 {
		fence := m.last[node] + 1
		if q := m.gpu.queues[node]; len(q) > 0 { // a preemption may have skipped some
			fence = q[0].fence
		}
		m.notify(t, kmddi.NotifyInterrupt{
			InterruptType: kmddi.InterruptDMAFaulted, NodeOrdinal: node, FenceID: fence, Status: uint32(ddi.StatusGPUExceptionOnDevice),
		})
	}
}

func (m *miniport) advance(t *ddi.Thread, node uint32) {
	if f := m.read(t, regFence+4*node); f != m.last[node] {
		m.last[node] = f
		m.notify(t, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: f, NodeOrdinal: node})
	}
}

func (m *miniport) preemptCommand(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.PreemptCommand) ddi.Status {
	s := m.call(t, ddi.DispatchLevel, "Preempt fence=%d node=%d", arg.PreemptionFenceID, arg.NodeOrdinal)
	m.stopping[arg.NodeOrdinal] = arg.PreemptionFenceID
	if m.preempt != nil {
		m.preempt(int(arg.NodeOrdinal))
	} else {
		m.gpu.stop(int(arg.NodeOrdinal), 1)
	}
	return s
}

func (m *miniport) cancelCommand(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.CancelCommand) ddi.Status {
	m.cancels++
	return m.call(t, 0, "Cancel")
}

func (m *miniport) dpcRoutine(t *ddi.Thread, _ kmddi.HAdapter) {
	m.call(t, ddi.DispatchLevel, "DpcRoutine")
	if m.dpc != nil {
		m.dpc(t)
		return
	}
	m.log = append(m.log, "NotifyDpc")
	m.cb.NotifyDpc(t, m.cb.DeviceHandle)
}

func (m *miniport) queryFence(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
	m.call(t, 0, "QueryCurrentFence")
	if m.query != nil {
		f, s := m.query(t, arg.NodeOrdinal)
		return kmddi.QueryCurrentFenceOut{CurrentFence: f}, s
	}
	return kmddi.QueryCurrentFenceOut{CurrentFence: m.read(t, regFence+4*arg.NodeOrdinal)}, ddi.StatusSuccess
}

func (m *miniport) collect(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
	m.call(t, t.IRQL(), "CollectDbgInfo %#x", arg.Reason)
	return kmddi.CollectDbgInfoOut{Length: copy(arg.Buffer, "miniport: state\n")}, m.fail["CollectDbgInfo"]
}
