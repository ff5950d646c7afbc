package miniport

import (
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The fence words of the nodes are in one page, each in its own cache line. The states from
// which the nodes resume follow.
const (
	fenceBytes  = 4096
	fenceStride = 64
)

// versionMajor is the part of ID.VERSION that must be equal.
const versionMajor = 0xffff0000

// identity is the checked identity of the device.
type identity struct {
	nodes      int
	lengthBits uint32 // width of a linear packet's byte count, in bits
	hostBits   uint32 // width of a host address, in bits
	vramBytes  uint64
	clockHz    uint32
	mapHash    uint32
	aperture   bool     // VRAM is accessible through BAR 2
	limits     bool     // reads of host memory may have a time-out
	have       caps.Set // capabilities of the device
}

// maxLength returns the maximum byte count of a linear packet.
func (c identity) maxLength() uint64 { return 1<<c.lengthBits - 1 }

// maxHost returns the highest host address that the device can access.
func (c identity) maxHost() uint64 { return 1<<c.hostBits - 1 }

// addDevice returns the function that creates the adapter, with the image of the firmware and its
// observer. The function does not access the device.
//
//	DDI     DxgkDdiAddDevice, dispmprt.h
//	Caller  the kernel, PASSIVE_LEVEL, once
//	Effect  the handle's Driver is the adapter
//	Returns StatusSuccess; StatusInvalidHandle without a handle
func addDevice(image []byte, o Observer) func(*ddi.Thread, kmddi.HAdapter) ddi.Status {
	return func(_ *ddi.Thread, h kmddi.HAdapter) ddi.Status {
		if h.Root == nil {
			return ddi.StatusInvalidHandle
		}
		h.Driver = &adapter{image: image, observer: o}
		return ddi.StatusSuccess
	}
}

// removeDevice removes the adapter, which has been stopped.
//
//	DDI     DxgkDdiRemoveDevice, dispmprt.h
//	Caller  the kernel, PASSIVE_LEVEL, after StopDevice or a failed StartDevice
//	Returns StatusSuccess; StatusInvalidHandle for a handle without adapter
func removeDevice(_ *ddi.Thread, h kmddi.HAdapter) ddi.Status {
	if _, ok := adapterOf(h); !ok {
		return ddi.StatusInvalidHandle
	}
	h.Driver = nil
	return ddi.StatusSuccess
}

// startDevice starts the device: it maps the registers, checks that the device
// is supported, resets it, since an earlier driver may have left it in any
// state, gives each node a ring and a fence word, loads the firmware, and enables
// the interrupts. It enables the aperture, if there is one. It does without a firmware that is refused or does not boot, unless the
// settings ask for its queues.
// There are no displays.
//
//	DDI     DxgkDdiStartDevice, dispmprt.h
//	Caller  the kernel, PASSIVE_LEVEL, alone
//	In      cb: valid until StopDevice returns
//	Effect  on a failure nothing stays mapped, allocated or running
//	Returns StatusSuccess
//	        StatusRevisionMismatch: another major version or register map
//	        StatusNoSuchDevice: another device
//	        StatusDeviceConfiguration: impossible BARs, messages or
//	        capabilities
//	        StatusInsufficientResources: memory that the device cannot access
//	        StatusIOTimeout: the device or a node does not leave reset, or
//	        ignores it
//	        StatusInvalidParameter: a setting out of range
//	        StatusNotSupported: settings that the device cannot satisfy
//	        StatusDeviceNotReady: the queues that the settings ask for need a
//	        firmware, and it does not run or refuses them
//	        the status of a failed callback
//	Source  learn.microsoft.com, nc-dispmprt-dxgkddi_start_device
func startDevice(t *ddi.Thread, h kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok {
		return kmddi.StartDeviceOut{}, ddi.StatusInvalidHandle
	}
	if a.cb != nil || cb == nil {
		return kmddi.StartDeviceOut{}, ddi.StatusInvalidParameter
	}
	a.cb = cb
	for _, step := range [...]func(*ddi.Thread) ddi.Status{
		a.mapRegisters, a.identify, a.configure, a.resetDevice, a.limitReads, a.enableMastering, a.allocate, a.allocateQueues, a.startRings, a.startFirmware, a.startQueues,
		a.startAperture, a.enableInterrupts,
	} {
		if s := step(t); s != ddi.StatusSuccess {
			a.release(t)
			return kmddi.StartDeviceOut{}, s
		}
	}
	return kmddi.StartDeviceOut{}, ddi.StatusSuccess
}

// stopDevice stops the nodes and releases everything that StartDevice acquired.
// If a node cannot be stopped, bus mastering is disabled, so that the device
// cannot write to freed memory.
//
//	DDI     DxgkDdiStopDevice, dispmprt.h
//	Caller  the kernel, PASSIVE_LEVEL, alone, with nothing submitted
//	Returns StatusSuccess, even if the link is dead: everything is released;
//	        StatusInvalidHandle for a handle without adapter
func stopDevice(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
	a, ok := adapterOf(h)
	if !ok {
		return ddi.StatusInvalidHandle
	}
	a.release(t)
	return ddi.StatusSuccess
}

// mapRegisters maps BAR0.
func (a *adapter) mapRegisters(t *ddi.Thread) ddi.Status {
	info, s := a.cb.GetDeviceInformation(t, a.cb.DeviceHandle)
	if s != ddi.StatusSuccess {
		return s
	}
	if info.VendorID != pcicfg.VendorID || info.DeviceID != pcicfg.DeviceID {
		return ddi.StatusNoSuchDevice
	}
	if info.BARs[0] < pcicfg.BAR0Size || info.Messages == 0 {
		return ddi.StatusDeviceConfiguration
	}
	m, s := a.cb.MapMemory(t, a.cb.DeviceHandle, 0, 0, pcicfg.BAR0Size)
	if s != ddi.StatusSuccess {
		return s
	}
	a.info, a.regs = info, registers{cb: a.cb, mapping: m}
	return ddi.StatusSuccess
}

// identify checks the identity and the capabilities of the device.
func (a *adapter) identify(t *ddi.Thread) ddi.Status {
	var magic, version, hash, word, word2, vram, hz, host uint32
	for _, r := range [...]struct {
		off uint32
		v   *uint32
	}{
		{idreg.Magic, &magic}, {idreg.Version, &version}, {idreg.MapHash, &hash}, {idreg.Caps, &word}, {idreg.Caps2, &word2},
		{idreg.VRAMSize, &vram}, {idreg.ClockHz, &hz}, {idreg.HostBits, &host},
	} {
		var s ddi.Status
		if *r.v, s = a.regs.ReadRegister(t, idreg.Base+r.off); s != ddi.StatusSuccess {
			return s
		}
	}
	if magic != idreg.MagicValue {
		return ddi.StatusNoSuchDevice
	}
	if version&versionMajor != idreg.VersionValue&versionMajor || hash != regmap.Hash() {
		return ddi.StatusRevisionMismatch
	}
	c := identity{
		nodes: int(reg.Field{Mask: idreg.CapsNodes}.Get(word)), lengthBits: reg.Field{Mask: idreg.CapsLength}.Get(word),
		hostBits: host, vramBytes: uint64(vram), clockHz: hz, mapHash: hash,
		aperture: caps.Of(word, word2).Has(caps.Aperture), limits: caps.Of(word, word2).Has(caps.ReadTimeout),
		have: caps.Of(word, word2),
	}
	if !c.valid() || c.aperture && c.vramBytes > a.info.BARs[vramBAR] {
		return ddi.StatusDeviceConfiguration
	}
	a.caps = c
	return ddi.StatusSuccess
}

// valid reports whether each capability is in its range. The checks of
// command buffers rely on these ranges.
func (c identity) valid() bool {
	return c.nodes >= 1 && c.nodes <= 2 && c.lengthBits >= 16 && c.lengthBits <= 32 &&
		c.hostBits >= 32 && c.hostBits <= 62 && c.vramBytes > 0 && c.clockHz > 0
}

// resetPolls bounds the number of reads of ID.RESET until the reset is done.
// The reset waits only for writes in progress.
const resetPolls = 1 << 12

// beforeReset is the value of ID.SCRATCH0 before a reset of the device, which clears it.
const beforeReset = 0x7e5e7001

// resetDevice resets both nodes with their timelines, and all registers except
// the time and those set by enumeration. At a start it is called before any memory
// is allocated, since a node that an earlier driver left running could write to
// that memory. ID.SCRATCH0 shows whether the reset took place: a device that ignores
// it reads as done too.
func (a *adapter) resetDevice(t *ddi.Thread) ddi.Status {
	for _, w := range [...]struct{ off, v uint32 }{{idreg.Scratch0, beforeReset}, {idreg.Reset, idreg.ResetWhole}} {
		if s := a.regs.WriteRegister(t, idreg.Base+w.off, w.v); s != ddi.StatusSuccess {
			return s
		}
	}
	for range resetPolls {
		v, s := a.regs.ReadRegister(t, idreg.Base+idreg.Reset)
		if s != ddi.StatusSuccess {
			return s
		}
		if v&idreg.ResetWhole == 0 {
			return a.isReset(t)
		}
	}
	return ddi.StatusIOTimeout
}

// isReset checks that ID.SCRATCH0 is 0, as after a reset of the device.
func (a *adapter) isReset(t *ddi.Thread) ddi.Status {
	v, s := a.regs.ReadRegister(t, idreg.Base+idreg.Scratch0)
	if s == ddi.StatusSuccess && v != 0 {
		return ddi.StatusIOTimeout
	}
	return s
}

// patience is the time in seconds in which a read of host memory must have ended, one
// way or the other: the kernel's time-out, which would stop the device.
const patience = 2

// farTrip is the number of clocks of a register read above which the device is at the end of
// a link, and not at a bus: 10 us at 100 MHz.
const farTrip = 1024

// limitReads sets the longest time-out of reads of host memory that ends them within
// patience: 84 to 168 ms at 100 MHz. A read that the host never answers is then a fault of
// its node. At the end of a link it is the longest time-out of all, because the rate of a
// link, which may be that of a serial line, can change.
func (a *adapter) limitReads(t *ddi.Thread) ddi.Status {
	if !a.caps.limits {
		return ddi.StatusSuccess
	}
	trip, s := a.trip(t)
	if s != ddi.StatusSuccess {
		return s
	}
	far := trip > farTrip
	r := uint32(1)
	for r < idreg.ReadTimeoutRange && (far || 2*idreg.TimeoutClocks(r+1) < patience*uint64(a.caps.clockHz)) {
		r++
	}
	return a.regs.WriteRegister(t, idreg.Base+idreg.ReadTimeout, r)
}

// enableMastering sets the bus master bit, which a stop may have cleared.
func (a *adapter) enableMastering(t *ddi.Thread) ddi.Status {
	return a.setMastering(t, pcicfg.CommandBusMaster)
}

// setMastering writes the bus master bit. The error bits in the status half are
// write-1-to-clear and are not changed.
func (a *adapter) setMastering(t *ddi.Thread, bit uint32) ddi.Status {
	v, s := a.cb.ReadDeviceSpace(t, a.cb.DeviceHandle, pcicfg.Command)
	if s != ddi.StatusSuccess || v&pcicfg.CommandBusMaster == bit {
		return s
	}
	return a.cb.WriteDeviceSpace(t, a.cb.DeviceHandle, pcicfg.Command, v&0xffff&^pcicfg.CommandBusMaster|bit)
}

// allocate allocates the fence page and the memory of the rings.
func (a *adapter) allocate(t *ddi.Thread) ddi.Status {
	var s ddi.Status
	if a.fences, s = a.allocateContiguous(t, fenceBytes); s != ddi.StatusSuccess {
		return s
	}
	for i := range a.caps.nodes {
		mem, s := a.allocateContiguous(t, ring.Size)
		if s != ddi.StatusSuccess {
			return s
		}
		fence := pkt.Host | a.fences.PhysicalAddress + uint64(i)*fenceStride
		r, err := ring.New(i, mem, fence, a.regs)
		if err != nil {
			a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, mem)
			return ddi.StatusInsufficientResources
		}
		a.rings, a.nodes = append(a.rings, r), append(a.nodes, node{})
	}
	return ddi.StatusSuccess
}

// allocateContiguous allocates memory that the device can access.
func (a *adapter) allocateContiguous(t *ddi.Thread, size int) (kmddi.ContiguousMemory, ddi.Status) {
	m, s := a.cb.AllocateContiguousMemory(t, a.cb.DeviceHandle, size)
	if s != ddi.StatusSuccess {
		return kmddi.ContiguousMemory{}, s
	}
	if len(m.Bytes) != size || !a.caps.reachable(m.PhysicalAddress, uint64(size)) {
		a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, m)
		return kmddi.ContiguousMemory{}, ddi.StatusInsufficientResources
	}
	return m, ddi.StatusSuccess
}

// reachable reports whether the device can access n bytes of host memory at
// addr.
func (c identity) reachable(addr, n uint64) bool {
	return n <= c.maxHost() && addr <= c.maxHost()+1-n
}

func (a *adapter) startRings(t *ddi.Thread) ddi.Status {
	clear(a.nodes)
	for _, r := range a.rings {
		if s := r.Start(t); s != ddi.StatusSuccess {
			return s
		}
	}
	return ddi.StatusSuccess
}

// enableInterrupts clears old events of the nodes and unmasks the events. Those of the firmware, which runs,
// stay: it may have hung or sent a notice since the load.
func (a *adapter) enableInterrupts(t *ddi.Thread) ddi.Status {
	if s := a.regs.WriteRegister(t, intcreg.Base+intcreg.Status, intcreg.NodesAll); s != ddi.StatusSuccess {
		return s
	}
	a.running = true
	return a.regs.WriteRegister(t, intcreg.Base+intcreg.Mask, a.events())
}

// events returns the events of the existing nodes, and those of the firmware that the driver uses.
func (a *adapter) events() uint32 {
	e := a.hungEvent()
	for node := range a.rings {
		e |= (intcreg.Done0 | intcreg.Fault0) << node
	}
	if a.queues != nil {
		// The firmware handles faults, and sends a notice.
		e = e&(intcreg.DoneAll|intcreg.Hung) | intcreg.Firmware
	}
	return e
}

// release undoes the completed steps of StartDevice in reverse order.
func (a *adapter) release(t *ddi.Thread) {
	a.running = false
	if len(a.rings) > 0 && a.quiesce(t) != ddi.StatusSuccess {
		// If the link is dead, this write fails too, but the device cannot
		// access memory then.
		a.setMastering(t, 0)
	}
	for _, r := range a.rings {
		a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, r.Memory())
	}
	if a.queues != nil && a.queues.mem.Bytes != nil {
		a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, a.queues.mem)
	}
	if a.fences.Bytes != nil {
		a.cb.FreeContiguousMemory(t, a.cb.DeviceHandle, a.fences)
	}
	a.releaseAperture(t)
	if a.regs.cb != nil {
		a.cb.UnmapMemory(t, a.cb.DeviceHandle, a.regs.mapping)
	}
	*a = adapter{image: a.image, observer: a.observer}
}

// quiesce masks the interrupts and stops the firmware and the nodes. It tries everything and
// returns the first failure.
func (a *adapter) quiesce(t *ddi.Thread) ddi.Status {
	first := a.regs.WriteRegister(t, intcreg.Base+intcreg.Mask, 0)
	for _, step := range [...]func(*ddi.Thread) ddi.Status{a.stopFirmware, a.giveNodes} {
		if s := step(t); first == ddi.StatusSuccess {
			first = s
		}
	}
	for _, r := range a.rings {
		if s := r.Stop(t); first == ddi.StatusSuccess {
			first = s
		}
	}
	return first
}
