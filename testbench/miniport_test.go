package testbench_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// plain is the smallest miniport that runs the buffers of the user-mode driver: one
// node, one ring, one submission at a time, no validation.
type plain struct {
	cb          *kmddi.DxgkrnlInterface
	bar         kmddi.HMapping
	ring, fence kmddi.ContiguousMemory
	wptr        uint32 // dwords
	last        uint32 // last fence id reported
	submitted   int
}

const plainRingLog2 = 12

func (p *plain) entry() kmddi.DriverInitializationData {
	ok1 := func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusSuccess }
	return kmddi.DriverInitializationData{
		Version: kmddi.InterfaceVersion, AddDevice: ok1, RemoveDevice: ok1,
		StartDevice: p.start, StopDevice: p.stop, QueryAdapterInfo: p.query, InterruptRoutine: p.interrupt, DpcRoutine: p.dpc,
		CreateDevice: func(*ddi.Thread, kmddi.HAdapter, kmddi.HDevice, kmddi.CreateDevice) ddi.Status {
			return ddi.StatusSuccess
		},
		DestroyDevice: func(*ddi.Thread, kmddi.HDevice) ddi.Status { return ddi.StatusSuccess },
		CreateContext: func(*ddi.Thread, kmddi.HDevice, kmddi.HContext, kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			return kmddi.ContextInfo{DmaBufferSize: 4096, AllocationListSize: 32, PatchLocationListSize: 128}, ddi.StatusSuccess
		},
		DestroyContext: func(*ddi.Thread, kmddi.HContext) ddi.Status { return ddi.StatusSuccess },
		CreateAllocation: func(_ *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
			a, err := privdata.DecodeAllocation(arg.PrivateDriverData)
			if err != nil {
				return kmddi.AllocationInfo{}, ddi.StatusInvalidParameter
			}
			return kmddi.AllocationInfo{Alignment: 256, Size: a.Bytes, PreferredSegment: 1, SupportedSegmentSet: 1, CPUVisible: true}, ddi.StatusSuccess
		},
		DestroyAllocation: func(*ddi.Thread, kmddi.HAdapter, kmddi.HAllocation) ddi.Status { return ddi.StatusSuccess },
		OpenAllocation: func(_ *ddi.Thread, _ kmddi.HDevice, open kmddi.HDeviceAllocation, arg kmddi.OpenAllocation) ddi.Status {
			a, err := privdata.DecodeAllocation(arg.PrivateDriverData)
			open.Driver = a
			if err != nil {
				return ddi.StatusInvalidParameter
			}
			return ddi.StatusSuccess
		},
		CloseAllocation: func(*ddi.Thread, kmddi.HDevice, kmddi.HDeviceAllocation) ddi.Status { return ddi.StatusSuccess },
		Render:          p.render, Present: p.present, BuildPagingBuffer: p.paging, Patch: p.patch, SubmitCommand: p.submit,
		QueryCurrentFence: p.queryFence,
		CollectDbgInfo: func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
			return kmddi.CollectDbgInfoOut{Length: copy(arg.Buffer, "plain miniport\n")}, ddi.StatusSuccess
		},
	}
}

// reset clears all state of an earlier host: both nodes, their fences, and the
// limits and masks of the registers.
func (p *plain) reset(t *ddi.Thread) ddi.Status {
	h := p.cb.DeviceHandle
	s := p.cb.WriteRegister(t, h, p.bar, idreg.Base+idreg.Reset, idreg.ResetWhole)
	for range 1 << 12 {
		if s.Failed() {
			return s
		}
		var busy uint32
		if busy, s = p.cb.ReadRegister(t, h, p.bar, idreg.Base+idreg.Reset); busy == 0 {
			return s
		}
	}
	return ddi.StatusIOTimeout
}

// start puts ring, fence and buffers in VRAM, reached through the BAR.
func (p *plain) start(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
	p.cb = cb
	h := cb.DeviceHandle
	var s [4]ddi.Status
	if p.bar, s[0] = cb.MapMemory(t, h, 0, 0, 0x10000); !s[0].Failed() {
		s[1] = p.reset(t)
	}
	p.ring, s[2] = cb.AllocateContiguousMemory(t, h, 1<<plainRingLog2)
	p.fence, s[3] = cb.AllocateContiguousMemory(t, h, 4096)
	for _, s := range s {
		if s.Failed() {
			return kmddi.StartDeviceOut{}, s
		}
	}
	base := p.ring.PhysicalAddress | pkt.Host
	for _, w := range [][2]uint32{
		{cpreg.Base + cpreg.RingLo, uint32(base)}, {cpreg.Base + cpreg.RingHi, uint32(base >> 32)},
		{cpreg.Base + cpreg.RingSize, plainRingLog2}, {intcreg.Base + intcreg.Mask, intcreg.Done0 | intcreg.Fault0},
		{cpreg.Base + cpreg.Ctl, cpreg.CtlRun},
	} {
		if s := cb.WriteRegister(t, h, p.bar, w[0], w[1]); s.Failed() {
			return kmddi.StartDeviceOut{}, s
		}
	}
	return kmddi.StartDeviceOut{}, ddi.StatusSuccess
}

// stop resets the device, so that it no longer uses the memory that is freed.
func (p *plain) stop(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status {
	h := p.cb.DeviceHandle
	s := p.reset(t)
	p.cb.FreeContiguousMemory(t, h, p.ring)
	p.cb.FreeContiguousMemory(t, h, p.fence)
	p.cb.UnmapMemory(t, h, p.bar)
	return s
}

func (p *plain) query(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
	hash, _ := p.cb.ReadRegister(t, p.cb.DeviceHandle, p.bar, idreg.MapHash)
	vram, _ := p.cb.ReadRegister(t, p.cb.DeviceHandle, p.bar, idreg.VRAMSize)
	return kmddi.QueryAdapterInfoOut{
		UMDriverPrivate: privdata.Adapter{MapHash: hash, Nodes: 1, LengthBits: 32, VRAMBytes: uint64(vram), ClockHz: 1}.Append(nil),
		DriverCaps:      kmddi.DriverCaps{HighestAcceptableAddress: 1<<48 - 1, WDDMVersion: 1300, NumberOfNodes: 1, HwQueuePacketCap: 1},
		Segments: kmddi.QuerySegment{
			Segments:         []kmddi.SegmentDescriptor{{Size: uint64(vram), Flags: kmddi.SegmentFlags{CPUVisible: true}, BAR: 2}},
			PagingBufferSize: 4096,
		},
	}, ddi.StatusSuccess
}

func (p *plain) render(_ *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
	n := arg.Command.Size()
	if n > len(arg.DmaBuffer) || arg.PatchLocationListIn.Len() > len(arg.PatchLocationListOut) {
		return kmddi.RenderOut{}, ddi.StatusInvalidUserBuffer
	}
	if s := arg.Command.Read(0, arg.DmaBuffer[:n]); s.Failed() {
		return kmddi.RenderOut{}, s
	}
	for i := range arg.PatchLocationListIn.Len() {
		var s ddi.Status
		if arg.PatchLocationListOut[i], s = arg.PatchLocationListIn.At(i); s.Failed() {
			return kmddi.RenderOut{}, s
		}
	}
	return kmddi.RenderOut{DmaBufferUsed: uint32(n), PatchesUsed: uint32(arg.PatchLocationListIn.Len())}, ddi.StatusSuccess
}

// present copies the allocation as bytes.
func (p *plain) present(_ *ddi.Thread, _ kmddi.HContext, arg kmddi.Present) (kmddi.RenderOut, ddi.Status) {
	src := arg.AllocationList[kmddi.PresentSourceIndex].DeviceSpecificAllocation.Driver.(privdata.Allocation)
	b, _ := pkt.Copy{Bytes: uint32(src.Bytes)}.Append(nil)
	copy(arg.PatchLocationListOut, []kmddi.PatchLocation{
		{AllocationIndex: kmddi.PresentSourceIndex, PatchOffset: 4},
		{AllocationIndex: kmddi.PresentDestinationIndex, PatchOffset: 12},
	})
	return kmddi.RenderOut{DmaBufferUsed: uint32(copy(arg.DmaBuffer, b)), PatchesUsed: 2}, ddi.StatusSuccess
}

func (p *plain) paging(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
	addr := func(l kmddi.PagingLocation) uint64 {
		if l.SegmentID == 0 {
			return l.Address | pkt.Host
		}
		return l.Address
	}
	var b []byte
	switch arg.Operation {
	case kmddi.PagingTransfer:
		b, _ = pkt.Copy{Src: addr(arg.Source), Dst: addr(arg.Destination), Bytes: uint32(arg.Size)}.Append(nil)
	case kmddi.PagingFill:
		v := uint64(arg.FillPattern)
		b, _ = pkt.Fill{Dst: addr(arg.Destination), Bytes: uint32(arg.Size), Value: v | v<<32}.Append(nil)
	}
	if len(b) > len(arg.DmaBuffer) {
		return kmddi.BuildPagingBufferOut{}, ddi.StatusInsufficientDMABuffer
	}
	return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(copy(arg.DmaBuffer, b))}, ddi.StatusSuccess
}

func (p *plain) patch(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
	start := arg.PatchLocationListSubmissionStart
	for _, l := range arg.PatchLocationList[start : start+arg.PatchLocationListSubmissionLength] {
		a := arg.AllocationList[l.AllocationIndex].PhysicalAddress + uint64(l.AllocationOffset)
		binary.LittleEndian.PutUint64(arg.DmaBuffer[l.PatchOffset:], a)
	}
	return ddi.StatusSuccess
}

func (p *plain) submit(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
	p.submitted++
	b, _ := pkt.Indirect{
		Addr:   pkt.Host | arg.DmaBufferPhysicalAddress + uint64(arg.DmaBufferSubmissionStartOffset),
		Dwords: (arg.DmaBufferSubmissionEndOffset - arg.DmaBufferSubmissionStartOffset) / 4,
	}.Append(nil)
	b, _ = pkt.Fence{Addr: pkt.Host | p.fence.PhysicalAddress, ID: arg.SubmissionFenceID, IRQ: true}.Append(b)
	for i := 0; i < len(b); i += 4 {
		copy(p.ring.Bytes[4*p.wptr:], b[i:i+4])
		p.wptr = (p.wptr + 1) % (1 << plainRingLog2 / 4)
	}
	return p.cb.WriteRegister(t, p.cb.DeviceHandle, p.bar, cpreg.Base+cpreg.Wptr, p.wptr)
}

func (p *plain) interrupt(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool {
	h := p.cb.DeviceHandle
	status, s := p.cb.ReadRegister(t, h, p.bar, intcreg.Base+intcreg.Status)
	if s.Failed() || status == 0 {
		return false
	}
	p.cb.WriteRegister(t, h, p.bar, intcreg.Base+intcreg.Status, status)
	p.advance(t)
	return true
}

// advance reports the fence of the node if it is new, at DIRQL.
func (p *plain) advance(t *ddi.Thread) ddi.Status {
	h := p.cb.DeviceHandle
	fence, s := p.cb.ReadRegister(t, h, p.bar, cpreg.Base+cpreg.Fence)
	if !s.Failed() && fence != p.last {
		p.last = fence
		p.cb.NotifyInterrupt(t, h, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: fence})
		p.cb.QueueDpc(t, h)
	}
	return s
}

func (p *plain) queryFence(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
	var read ddi.Status
	_, s := p.cb.SynchronizeExecution(t, p.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
		read = p.advance(t)
		return true
	})
	if s.Failed() {
		read = s
	}
	return kmddi.QueryCurrentFenceOut{CurrentFence: p.last}, read
}

func (p *plain) dpc(t *ddi.Thread, _ kmddi.HAdapter) { p.cb.NotifyDpc(t, p.cb.DeviceHandle) }

// A miniport with other segments, nodes and caps composes the same frame.
func TestAnotherMiniport(t *testing.T) {
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: 100, Height: 80, Contexts: 2, Seed: 3, Sources: sources})
	require.NoError(t, err)

	p := new(plain)
	sys, err := testbench.Open(onBoard("emu"), testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: p.entry}, testbench.Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	frame, err := compose.Run(sys, plan)
	require.NoError(t, err)
	require.NoError(t, sys.Close())

	_, n := compose.Diff(frame, plan.Reference())
	assert.Zero(t, n)
	assert.Positive(t, p.submitted)
}
