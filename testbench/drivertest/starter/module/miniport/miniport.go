// Package miniport is a small display miniport: one node, one ring, COPY and FILL
// packets. It checks what user mode submits. It has no reset after a time-out.
package miniport

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/privdata"
)

const (
	vram, host  = 1, 2                   // the segments by ID
	packetBytes = 4 * (1 + pkt.CopyBody) // size of a COPY, and of a FILL
	resetPolls  = 1 << 12                // reads until the device must have left reset
)

// An adapter is the state from DxgkDdiStartDevice to DxgkDdiStopDevice.
type adapter struct {
	cb         *kmddi.DxgkrnlInterface
	bar        kmddi.HMapping         // the registers
	mem        kmddi.ContiguousMemory // the ring, then the fence that the node writes
	ring       *ring.Ring
	vram, host uint64 // bytes of VRAM, and of host memory that the device can access
	maxPacket  uint64 // bytes that one packet may move
}

// DriverEntry returns the functions of the miniport, for one adapter.
func DriverEntry() kmddi.DriverInitializationData {
	a := new(adapter)
	return kmddi.DriverInitializationData{
		Version:   kmddi.InterfaceVersion,
		AddDevice: none[kmddi.HAdapter], StartDevice: a.startDevice, StopDevice: a.stopDevice, RemoveDevice: none[kmddi.HAdapter],
		QueryAdapterInfo: a.queryAdapterInfo,
		InterruptRoutine: a.interruptRoutine, DpcRoutine: a.dpcRoutine,
		QueryCurrentFence: a.queryCurrentFence, CollectDbgInfo: a.collectDbgInfo,
		CreateDevice: none3[kmddi.HAdapter, kmddi.HDevice, kmddi.CreateDevice], DestroyDevice: none[kmddi.HDevice],
		CreateContext: createContext, DestroyContext: none[kmddi.HContext],
		CreateAllocation: createAllocation, DestroyAllocation: none2[kmddi.HAdapter, kmddi.HAllocation],
		OpenAllocation: openAllocation, CloseAllocation: none2[kmddi.HDevice, kmddi.HDeviceAllocation],
		Render: a.render, Present: a.present, BuildPagingBuffer: a.buildPagingBuffer, Patch: patch, SubmitCommand: a.submitCommand,
	}
}

// These functions have nothing to do, for any arguments.
func none[A any](*ddi.Thread, A) ddi.Status              { return ddi.StatusSuccess }
func none2[A, B any](*ddi.Thread, A, B) ddi.Status       { return ddi.StatusSuccess }
func none3[A, B, C any](*ddi.Thread, A, B, C) ddi.Status { return ddi.StatusSuccess }

// ReadRegister reads a register of BAR 0.
func (a *adapter) ReadRegister(t *ddi.Thread, off uint32) (uint32, ddi.Status) {
	return a.cb.ReadRegister(t, a.cb.DeviceHandle, a.bar, off)
}

// WriteRegister writes a register of BAR 0.
func (a *adapter) WriteRegister(t *ddi.Thread, off, v uint32) ddi.Status {
	return a.cb.WriteRegister(t, a.cb.DeviceHandle, a.bar, off, v)
}

// startDevice starts the device. After a failure it holds nothing.
func (a *adapter) startDevice(t *ddi.Thread, h kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (out kmddi.StartDeviceOut, s ddi.Status) {
	*a = adapter{cb: cb}
	if a.bar, s = cb.MapMemory(t, cb.DeviceHandle, 0, 0, pcicfg.BAR0Size); s.Failed() {
		return out, s
	}
	if s = a.start(t); s.Failed() {
		a.stopDevice(t, h)
	}
	return out, s
}

// start identifies the device and resets it, since an earlier driver may have left
// it in any state. Only then it allocates the memory that node 0 may write.
func (a *adapter) start(t *ddi.Thread) (s ddi.Status) {
	var v [5]uint32
	for i, off := range []uint32{idreg.Magic, idreg.MapHash, idreg.Caps, idreg.VRAMSize, idreg.HostBits} {
		if v[i], s = a.ReadRegister(t, idreg.Base+off); s.Failed() {
			return s
		}
	}
	switch {
	case v[0] != idreg.MagicValue:
		return ddi.StatusNoSuchDevice
	case v[1] != regmap.Hash():
		return ddi.StatusRevisionMismatch
	}
	length := reg.Field{Mask: idreg.CapsLength}.Get(v[2]) // bits of a packet's byte count
	a.maxPacket, a.vram, a.host = (1<<length-1)&^15, uint64(v[3]), 1<<v[4]
	s = a.WriteRegister(t, idreg.Base+idreg.Reset, idreg.ResetWhole)
	for n, busy := 0, uint32(1); busy != 0 && !s.Failed(); n++ {
		if busy, s = a.ReadRegister(t, idreg.Base+idreg.Reset); n == resetPolls {
			s = ddi.StatusIOTimeout
		}
	}
	if s.Failed() {
		return s
	}
	if a.mem, s = a.cb.AllocateContiguousMemory(t, a.cb.DeviceHandle, 2*ring.Size); s.Failed() {
		return s
	}
	base := kmddi.ContiguousMemory{PhysicalAddress: a.mem.PhysicalAddress, Bytes: a.mem.Bytes[:ring.Size]}
	if a.ring, _ = ring.New(0, base, pkt.Host|base.PhysicalAddress+ring.Size, a); a.ring == nil {
		return ddi.StatusInsufficientResources
	}
	if s = a.ring.Start(t); !s.Failed() {
		s = a.WriteRegister(t, intcreg.Base+intcreg.Mask, intcreg.Done0)
	}
	return s
}

// stopDevice stops the node before it frees the memory that the node can write.
func (a *adapter) stopDevice(t *ddi.Thread, _ kmddi.HAdapter) ddi.Status {
	if a.ring != nil {
		a.WriteRegister(t, intcreg.Base+intcreg.Mask, 0)
		a.ring.Stop(t)
	}
	if a.mem.Bytes != nil {
		a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, a.mem)
	}
	a.cb.UnmapMemory(t, a.cb.DeviceHandle, a.bar)
	*a = adapter{}
	return ddi.StatusSuccess
}

// queryAdapterInfo answers each type of query; the kernel reads the field of its own.
func (a *adapter) queryAdapterInfo(*ddi.Thread, kmddi.HAdapter, kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
	return kmddi.QueryAdapterInfoOut{
		UMDriverPrivate: privdata.Adapter(a.maxPacket),
		DriverCaps:      kmddi.DriverCaps{HighestAcceptableAddress: a.host - 1, WDDMVersion: 1300, NumberOfNodes: 1, HwQueuePacketCap: ring.Slots},
		Segments: kmddi.QuerySegment{PagingBufferSize: 4096, Segments: []kmddi.SegmentDescriptor{
			vram - 1: {Size: a.vram},
			host - 1: {Size: a.host, BaseAddress: pkt.Host, Flags: kmddi.SegmentFlags{System: true}},
		}},
	}, ddi.StatusSuccess
}

// interruptRoutine acknowledges before it reads the fence: a later one interrupts again.
func (a *adapter) interruptRoutine(t *ddi.Thread, _ kmddi.HAdapter, _ uint32) bool {
	if a.ring == nil { // an interrupt of an earlier driver
		return false
	}
	events, s := a.ReadRegister(t, intcreg.Base+intcreg.Status)
	if s.Failed() || events&intcreg.Done0 == 0 {
		return false
	}
	a.WriteRegister(t, intcreg.Base+intcreg.Status, intcreg.Done0)
	a.notify(t)
	return true
}

// notify reports the node's fence, at DIRQL. It reports whether the fence was readable.
func (a *adapter) notify(t *ddi.Thread) bool {
	id, s := a.ring.ReadFence(t)
	if s.Failed() {
		return false
	}
	newer, err := a.ring.Complete(id)
	if newer {
		a.cb.NotifyInterrupt(t, a.cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: id})
		a.cb.QueueDpc(t, a.cb.DeviceHandle)
	}
	return err == nil
}

func (a *adapter) dpcRoutine(t *ddi.Thread, _ kmddi.HAdapter) { a.cb.NotifyDpc(t, a.cb.DeviceHandle) }

// queryCurrentFence also reports the fence, since an interrupt may have been lost.
func (a *adapter) queryCurrentFence(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
	ok, s := a.cb.SynchronizeExecution(t, a.cb.DeviceHandle, intcreg.VectorDone, a.notify)
	if !ok && !s.Failed() {
		s = ddi.StatusIODeviceError
	}
	return kmddi.QueryCurrentFenceOut{CurrentFence: a.ring.Completed()}, s
}

func (a *adapter) collectDbgInfo(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
	n := copy(arg.Buffer, fmt.Sprintf("fence %d of %d, ring error: %v\n", a.ring.Completed(), a.ring.Submitted(), a.ring.Err()))
	return kmddi.CollectDbgInfoOut{Length: n}, ddi.StatusSuccess
}

func createContext(*ddi.Thread, kmddi.HDevice, kmddi.HContext, kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
	return kmddi.ContextInfo{DmaBufferSize: 64 << 10, AllocationListSize: 256, PatchLocationListSize: 8192}, ddi.StatusSuccess
}

func createAllocation(_ *ddi.Thread, _ kmddi.HAdapter, _ kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
	a, ok := privdata.DecodeAllocation(arg.PrivateDriverData)
	if !ok {
		return kmddi.AllocationInfo{}, ddi.StatusInvalidParameter
	}
	info := kmddi.AllocationInfo{Alignment: 256, Size: a.Bytes, CPUVisible: true, PreferredSegment: vram, SupportedSegmentSet: 0b11}
	if a.Host {
		info.PreferredSegment, info.SupportedSegmentSet = host, 0b10
	}
	return info, ddi.StatusSuccess
}

// openAllocation keeps the size of the allocation, which createAllocation has checked.
func openAllocation(_ *ddi.Thread, _ kmddi.HDevice, open kmddi.HDeviceAllocation, arg kmddi.OpenAllocation) ddi.Status {
	a, _ := privdata.DecodeAllocation(arg.PrivateDriverData)
	open.Driver = a.Bytes
	return ddi.StatusSuccess
}

// render copies the command and the patch list once, since the application can change
// them at any time, and checks the copies. They fit, since createContext sets both sizes.
func (a *adapter) render(_ *ddi.Thread, _ kmddi.HContext, arg kmddi.Render) (_ kmddi.RenderOut, s ddi.Status) {
	dma, list := arg.DmaBuffer[:arg.Command.Size()], arg.PatchLocationListOut[:arg.PatchLocationListIn.Len()]
	s = arg.Command.Read(0, dma)
	for i := 0; i < len(list) && !s.Failed(); i++ {
		list[i], s = arg.PatchLocationListIn.At(i)
	}
	if !s.Failed() && !a.valid(dma, list, arg.AllocationList) {
		s = ddi.StatusInvalidParameter
	}
	return kmddi.RenderOut{DmaBufferUsed: uint32(len(dma)), PatchesUsed: uint32(len(list))}, s
}

// valid reports whether a command consists of COPY and FILL packets whose addresses
// have one patch each, in order, and that stay inside their allocations.
func (a *adapter) valid(dma []byte, list []kmddi.PatchLocation, allocs []kmddi.AllocationList) bool {
	for at := uint32(0); int(at) < len(dma); at += packetBytes {
		p, _, err := pkt.Decode(dma[at:])
		c, isCopy := p.(pkt.Copy)
		f, isFill := p.(pkt.Fill)
		n, fields := uint64(c.Bytes+f.Bytes), 1 // the last address is written
		if isCopy {
			fields = 2
		}
		if err != nil || !isCopy && !isFill || n > a.maxPacket || len(list) < fields {
			return false
		}
		for i, p := range list[:fields] {
			if p.PatchOffset != at+4+8*uint32(i) || p.SplitOffset != at || uint64(p.AllocationIndex) >= uint64(len(allocs)) {
				return false
			}
			al, write := allocs[p.AllocationIndex], i == fields-1
			if al.DeviceSpecificAllocation.Root == nil || write && !al.WriteOperation ||
				uint64(p.AllocationOffset)+n > al.DeviceSpecificAllocation.Driver.(uint64) {
				return false
			}
		}
		list = list[fields:]
	}
	return len(list) == 0
}

// pieces writes a packet for each piece of size bytes, from a piece on. If dma has no
// room for all, it returns the next piece, with which the kernel calls again.
func (a *adapter) pieces(dma []byte, piece uint32, size uint64, packet func(at uint64, n uint32) pkt.Packet) (used, next uint32, _ ddi.Status) {
	b := dma[:0]
	for ; uint64(piece)*a.maxPacket < size; piece++ {
		if len(dma)-len(b) < packetBytes {
			return uint32(len(b)), piece, ddi.StatusInsufficientDMABuffer
		}
		at := uint64(piece) * a.maxPacket
		b, _ = packet(at, uint32(min(a.maxPacket, size-at))).Append(b) // any address is legal
	}
	return uint32(len(b)), 0, ddi.StatusSuccess
}

// present copies all bytes of the source, which has the size of the destination.
func (a *adapter) present(_ *ddi.Thread, _ kmddi.HContext, arg kmddi.Present) (out kmddi.RenderOut, s ddi.Status) {
	list, at := arg.PatchLocationListOut[:0], uint32(0)
	size := arg.AllocationList[kmddi.PresentSourceIndex].DeviceSpecificAllocation.Driver.(uint64)
	out.DmaBufferUsed, out.MultipassOffset, s = a.pieces(arg.DmaBuffer, arg.MultipassOffset, size, func(off uint64, n uint32) pkt.Packet {
		for i, index := range []uint32{kmddi.PresentSourceIndex, kmddi.PresentDestinationIndex} {
			list = append(list, kmddi.PatchLocation{AllocationIndex: index, AllocationOffset: uint32(off), PatchOffset: at + 4 + 8*uint32(i), SplitOffset: at})
		}
		at += packetBytes
		return pkt.Copy{Bytes: n}
	})
	out.PatchesUsed = uint32(len(list))
	return out, s
}

func (a *adapter) buildPagingBuffer(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status) {
	for _, l := range []*kmddi.PagingLocation{&arg.Source, &arg.Destination} {
		if l.SegmentID == kmddi.SegmentNone {
			l.Address |= pkt.Host
		}
	}
	out.DmaBufferUsed, out.MultipassOffset, s = a.pieces(arg.DmaBuffer, arg.MultipassOffset, arg.Size, func(off uint64, n uint32) pkt.Packet {
		switch arg.Operation {
		case kmddi.PagingTransfer:
			return pkt.Copy{Src: arg.Source.Address + off, Dst: arg.Destination.Address + off, Bytes: n}
		case kmddi.PagingFill:
			return pkt.Fill{Dst: arg.Destination.Address + off, Bytes: n, Value: uint64(arg.FillPattern) * (1<<32 + 1)}
		}
		return pkt.NOP{} // discarded content needs no work
	})
	return out, s
}

// patch writes the addresses of the allocations, which are resident now.
func patch(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
	for _, p := range arg.PatchLocationList[arg.PatchLocationListSubmissionStart:][:arg.PatchLocationListSubmissionLength] {
		address := arg.AllocationList[p.AllocationIndex].PhysicalAddress + uint64(p.AllocationOffset)
		binary.LittleEndian.PutUint64(arg.DmaBuffer[p.PatchOffset:], address)
	}
	return ddi.StatusSuccess
}

// submitCommand cannot fail: the ring keeps an error, which the time-out prints.
func (a *adapter) submitCommand(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
	start, end := arg.DmaBufferSubmissionStartOffset, arg.DmaBufferSubmissionEndOffset
	a.ring.Submit(t, pkt.Host|arg.DmaBufferPhysicalAddress+uint64(start), (end-start)/4, arg.SubmissionFenceID)
	return ddi.StatusSuccess
}
