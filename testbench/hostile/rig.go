// Package hostile gives the miniport of this GPU what a hostile application could:
// mutated command buffers, private data and adapter queries, and command memory that
// changes while it is read. A model of legality, written from docs/packets.md and the
// rules in the comments of the miniport, decides what the miniport must accept. The
// reference model and the RTL execute what it accepts, and each access must be in an
// allocation that the submission lists.
package hostile

import (
	"fmt"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The device of a rig: width of a linear packet's length and of a host address.
const (
	lengthBits = 16
	hostBits   = 40
)

// A rig is a started miniport with a device and a context. Its GPU only has
// registers: packets are executed by the reference model and by the RTL.
type rig struct {
	table   kmddi.DriverInitializationData
	thread  *ddi.Thread
	adapter kmddi.HAdapter
	dev     kmddi.HDevice
	ctx     kmddi.HContext
	regs    map[uint32]uint32
	command uint32 // command register in configuration space
	next    uint64 // next free bus address
}

func newRig(aperture bool) (*rig, error) {
	r := &rig{
		table: miniport.DriverEntry(), thread: &ddi.Thread{}, adapter: kmddi.HAdapter{Root: &ddi.Root{}},
		// ID.MAGIC, VERSION, CAPS, MAP_HASH, VRAM in bytes, CLOCK and HOST_BITS.
		regs: map[uint32]uint32{
			0x00: 0x47504c48, 0x04: 0x10000, 0x08: 2 | 16<<8 | lengthBits<<16 | 1<<29, 0x0c: regmap.Hash(),
			0x10: 1 << 20, 0x14: 100_000_000, 0x40: hostBits,
		},
		next: 0x100000,
	}
	if aperture {
		r.regs[0x08] |= uint32(caps.Aperture)          // CAPS: the CPU writes the table through the BAR of VRAM
		r.regs[0x48] = uint32(uint64(caps.GART) >> 32) // CAPS2
	}
	if s := r.table.AddDevice(r.thread, r.adapter); s != ddi.StatusSuccess {
		return nil, fmt.Errorf("hostile: AddDevice: %w", s)
	}
	if _, s := r.table.StartDevice(r.thread, r.adapter, kmddi.StartInfo{}, r.callbacks()); s != ddi.StatusSuccess {
		return nil, fmt.Errorf("hostile: StartDevice: %w", s)
	}
	var err error
	r.dev, r.ctx, err = r.client()
	return r, err
}

// client creates a device with a context.
func (r *rig) client() (kmddi.HDevice, kmddi.HContext, error) {
	dev, ctx := kmddi.HDevice{Root: &ddi.Root{}}, kmddi.HContext{Root: &ddi.Root{}}
	if s := r.table.CreateDevice(r.thread, r.adapter, dev, kmddi.CreateDevice{}); s != ddi.StatusSuccess {
		return dev, ctx, fmt.Errorf("hostile: CreateDevice: %w", s)
	}
	if _, s := r.table.CreateContext(r.thread, dev, ctx, kmddi.CreateContext{}); s != ddi.StatusSuccess {
		return dev, ctx, fmt.Errorf("hostile: CreateContext: %w", s)
	}
	return dev, ctx, nil
}

// open creates an allocation and opens it for a device.
func (r *rig) open(dev kmddi.HDevice, desc privdata.Allocation) (kmddi.HDeviceAllocation, error) {
	al, open := kmddi.HAllocation{Root: &ddi.Root{}}, kmddi.HDeviceAllocation{Root: &ddi.Root{}}
	if _, s := r.table.CreateAllocation(r.thread, r.adapter, al, kmddi.CreateAllocation{PrivateDriverData: desc.Append(nil)}); s != ddi.StatusSuccess {
		return open, fmt.Errorf("hostile: CreateAllocation: %w", s)
	}
	if s := r.table.OpenAllocation(r.thread, dev, open, kmddi.OpenAllocation{Allocation: al}); s != ddi.StatusSuccess {
		return open, fmt.Errorf("hostile: OpenAllocation: %w", s)
	}
	return open, nil
}

// callbacks returns those of a kernel whose GPU has idle registers.
func (r *rig) callbacks() *kmddi.DxgkrnlInterface {
	type none struct{}
	ok := ddi.StatusSuccess
	return &kmddi.DxgkrnlInterface{
		DeviceHandle: kmddi.HDxgkrnl{System: r},
		GetDeviceInformation: func(*ddi.Thread, kmddi.HDxgkrnl) (kmddi.DeviceInfo, ddi.Status) {
			return kmddi.DeviceInfo{
				VendorID: 0x1234, DeviceID: 0x4847, BARs: [6]uint64{0: 0x10000, 2: 1 << 20}, Messages: 2, SystemMemoryBytes: 64 << 20,
			}, ok
		},
		MapMemory: func(*ddi.Thread, kmddi.HDxgkrnl, int, uint64, uint64) (kmddi.HMapping, ddi.Status) {
			return kmddi.HMapping{System: none{}}, ok
		},
		UnmapMemory: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping) ddi.Status { return ok },
		AllocateContiguousMemory: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, n int) (kmddi.ContiguousMemory, ddi.Status) {
			m := kmddi.ContiguousMemory{PhysicalAddress: r.next, Bytes: make([]byte, n)}
			r.next += uint64(n+0xfff) &^ 0xfff
			return m, ok
		},
		FreeContiguousMemory: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.ContiguousMemory) {},
		LogEtwEvent:          func(*ddi.Thread, kmddi.HDxgkrnl, string) {},
		ReadDeviceSpace:      func(*ddi.Thread, kmddi.HDxgkrnl, int) (uint32, ddi.Status) { return r.command, ok },
		WriteDeviceSpace: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, _ int, v uint32) ddi.Status {
			r.command = v
			return ok
		},
		ReadRegister: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, off uint32) (uint32, ddi.Status) {
			return r.regs[off], ok
		},
		// A node keeps CTL.RUN. Resets end at once.
		WriteRegister: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, off, v uint32) ddi.Status {
			if off&^0x100 == 0x1000 {
				r.regs[off] = v & 1
			}
			return ok
		},
		NotifyInterrupt: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.NotifyInterrupt) {},
		QueueDpc:        func(*ddi.Thread, kmddi.HDxgkrnl) bool { return true },
		NotifyDpc:       func(*ddi.Thread, kmddi.HDxgkrnl) {},
		SynchronizeExecution: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ uint32, fn func(*ddi.Thread) bool) (bool, ddi.Status) {
			old := t.Raise(ddi.DIRQL)
			defer t.Lower(old)
			return fn(t), ok
		},
	}
}
