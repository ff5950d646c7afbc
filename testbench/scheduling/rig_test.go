// Package scheduling tests what the scheduler of the graphics kernel asks of the miniport, on an
// emulated GPU whose clocks are counted: preemption at each clock, continuing a buffer whose
// allocations have moved, and resets of a node. The tests call the driver as the kernel does.
package scheduling

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The bus: host memory, the BARs and the address of messages.
const (
	memBase   = uint64(0x1_0000_0000)
	memBytes  = 4 << 20
	vramBytes = 1 << 20
	bar0      = uint64(0xe000_0000)
	bar2      = uint64(0x4_0000_0000)
	messages  = uint64(0xfee0_0000)
)

// patience is how many clocks anything may take.
const patience = 400_000

// A rig is a PC whose kernel is the test, with a started miniport.
type rig struct {
	*hostbfm.Bus
	t   testing.TB
	gpu *gpu.GPU

	table   kmddi.DriverInitializationData
	thread  *ddi.Thread
	adapter kmddi.HAdapter

	settings []kmddi.Setting

	message bool // an interrupt message has arrived
	dpc     bool
	notes   []kmddi.NotifyInterrupt // since the last take
	host    uint64                  // next free offset in host memory
	vram    uint64
}

// newRig starts the miniport with settings, on a GPU in its reset state.
func newRig(t testing.TB, dev *gpu.GPU, settings ...kmddi.Setting) *rig {
	t.Helper()
	dev.Reset()
	r := &rig{
		settings: settings,
		t:        t, gpu: dev, table: miniport.DriverEntry(), thread: &ddi.Thread{}, adapter: kmddi.HAdapter{Root: &ddi.Root{}},
		Bus: &hostbfm.Bus{
			Dev: dev, Rng: rand.New(rand.NewPCG(1, 2)), Mem: make([]byte, memBytes), Base: memBase,
			BARs: hostbfm.BARs{BAR0: bar0, BAR2: bar2},
		},
	}
	r.Wrote = func(q port.Request, _ []byte) { r.message = r.message || q.Addr >= messages && q.Addr < messages+4096 }
	for _, w := range [...]struct {
		off uint64
		v   uint32
	}{
		{pcicfg.BAR0, uint32(bar0)}, {pcicfg.BAR2, uint32(bar2 & (1<<32 - 1))}, {pcicfg.BAR3, uint32(bar2 >> 32)},
		{pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster}, {pcicfg.MSIX, pcicfg.MSIXEnable},
	} {
		r.SetConfig(w.off, w.v)
	}
	r.drain()
	for v := range uint64(pcicfg.Vectors) {
		at := msixreg.Base + v*msixreg.Stride
		r.SetReg(at+msixreg.AddrLo, uint32(messages)+4*uint32(v))
		r.SetReg(at+msixreg.Control, 0)
	}
	r.drain()
	require.Equal(t, ddi.StatusSuccess, r.table.AddDevice(r.thread, r.adapter))
	_, s := r.table.StartDevice(r.thread, r.adapter, kmddi.StartInfo{}, r.callbacks())
	require.Equal(t, ddi.StatusSuccess, s)
	return r
}

// until steps until done.
func (r *rig) until(done func() bool) {
	r.t.Helper()
	for n := 0; !done(); n++ {
		require.Less(r.t, n, patience, "clock %d: no end of a wait", r.Clocks)
		r.Step()
	}
	require.NoError(r.t, r.Err)
}

// drain steps until the requests of the CPU are complete.
func (r *rig) drain() { r.until(func() bool { return !r.Busy() }) }

// step runs clocks in which the CPU does nothing.
func (r *rig) step(clocks int) {
	for range clocks {
		r.Step()
	}
}

// at runs fn at a level.
func (r *rig) at(level ddi.IRQL, fn func()) {
	old := r.thread.Raise(level)
	defer r.thread.Lower(old)
	fn()
}

// interrupts runs the interrupt routine for the messages that have arrived, and the DPC.
func (r *rig) interrupts() {
	for r.message || r.dpc {
		if r.message {
			r.message = false
			r.at(ddi.DIRQL, func() { r.table.InterruptRoutine(r.thread, r.adapter, 0) })
		}
		if r.dpc {
			r.dpc = false
			r.at(ddi.DispatchLevel, func() { r.table.DpcRoutine(r.thread, r.adapter) })
		}
	}
}

// await handles interrupts until something of a kind was reported, and returns all that was
// reported.
func (r *rig) await(kind kmddi.NotifyType) []kmddi.NotifyInterrupt {
	r.t.Helper()
	r.until(func() bool {
		r.interrupts()
		for _, n := range r.notes {
			if n.InterruptType == kind {
				return true
			}
		}
		return false
	})
	notes := r.notes
	r.notes = nil
	return notes
}

// callbacks returns the kernel of the miniport.
func (r *rig) callbacks() *kmddi.DxgkrnlInterface {
	cb := &kmddi.DxgkrnlInterface{
		GetDeviceInformation: func(*ddi.Thread, kmddi.HDxgkrnl) (kmddi.DeviceInfo, ddi.Status) {
			return kmddi.DeviceInfo{
				VendorID: pcicfg.VendorID, DeviceID: pcicfg.DeviceID, Messages: pcicfg.Vectors, SystemMemoryBytes: memBase + memBytes,
				BARs: [6]uint64{0: pcicfg.BAR0Size, 2: vramBytes}, Settings: r.settings,
			}, ddi.StatusSuccess
		},
		MapMemory: func(*ddi.Thread, kmddi.HDxgkrnl, int, uint64, uint64) (kmddi.HMapping, ddi.Status) {
			return kmddi.HMapping{System: r}, ddi.StatusSuccess
		},
		UnmapMemory: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping) ddi.Status { return ddi.StatusSuccess },
		NotifyInterrupt: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			r.notes = append(r.notes, arg)
		},
		QueueDpc:  func(*ddi.Thread, kmddi.HDxgkrnl) bool { r.dpc = true; return true },
		NotifyDpc: func(*ddi.Thread, kmddi.HDxgkrnl) {},
		SynchronizeExecution: func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ uint32, fn func(*ddi.Thread) bool) (ok bool, s ddi.Status) {
			r.at(ddi.DIRQL, func() { ok = fn(t) })
			return ok, ddi.StatusSuccess
		},
		AllocateContiguousMemory: func(_ *ddi.Thread, _ kmddi.HDxgkrnl, size int) (kmddi.ContiguousMemory, ddi.Status) {
			return r.pages(size), ddi.StatusSuccess
		},
		FreeContiguousMemory: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.ContiguousMemory) {},
		LogEtwEvent:          func(*ddi.Thread, kmddi.HDxgkrnl, string) {},
	}
	r.accesses(cb)
	return cb
}

// accesses sets the callbacks that access the device.
func (r *rig) accesses(cb *kmddi.DxgkrnlInterface) {
	cb.ReadDeviceSpace = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, off int) (v uint32, _ ddi.Status) {
		r.GetConfig(uint64(off), func(got uint32) { v = got })
		r.drain()
		return v, ddi.StatusSuccess
	}
	cb.WriteDeviceSpace = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, off int, v uint32) ddi.Status {
		r.SetConfig(uint64(off), v)
		r.drain()
		return ddi.StatusSuccess
	}
	cb.ReadRegister = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, off uint32) (v uint32, _ ddi.Status) {
		s := ddi.StatusIODeviceError
		r.Reg(uint64(off), func(got uint32) { v, s = got, ddi.StatusSuccess })
		r.drain()
		return v, s
	}
	cb.WriteRegister = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, _ kmddi.HMapping, off, v uint32) ddi.Status {
		r.SetReg(uint64(off), v)
		r.drain()
		return ddi.StatusSuccess
	}
}

// pages allocates host memory.
func (r *rig) pages(size int) kmddi.ContiguousMemory {
	at := r.host
	r.host += (uint64(size) + 0xfff) &^ 0xfff
	require.LessOrEqual(r.t, r.host, uint64(memBytes))
	return kmddi.ContiguousMemory{PhysicalAddress: memBase + at, Bytes: r.Mem[at : at+uint64(size) : at+uint64(size)]}
}

// place returns the GPU address of n free bytes, in host memory or in VRAM.
func (r *rig) place(n int, inVRAM bool) uint64 {
	if !inVRAM {
		return pkt.Host | r.pages(n).PhysicalAddress
	}
	at := r.vram
	r.vram += (uint64(n) + 0xff) &^ 0xff
	require.LessOrEqual(r.t, r.vram, uint64(vramBytes))
	return at
}

// load returns memory at a GPU address, a multiple of 8 in VRAM.
func (r *rig) load(addr uint64, n int) []byte {
	if addr&pkt.Host != 0 {
		off := addr&^pkt.Host - memBase
		return append([]byte(nil), r.Mem[off:off+uint64(n)]...)
	}
	var b []byte
	for ; len(b) < n; addr += 8 {
		b = binary.LittleEndian.AppendUint64(b, r.gpu.VRAMWord(addr))
	}
	return b[:n]
}

// set writes memory at a GPU address. In VRAM address and length are multiples of 8.
func (r *rig) set(addr uint64, b []byte) {
	if addr&pkt.Host != 0 {
		copy(r.Mem[addr&^pkt.Host-memBase:], b)
		return
	}
	for ; len(b) > 0; b, addr = b[8:], addr+8 {
		r.gpu.SetVRAMWord(addr, binary.LittleEndian.Uint64(b))
	}
}
