package miniport_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// kernel is a DXGKRNL_INTERFACE for a fake GPU.
type kernel struct {
	gpu     *fakeGPU
	info    kmddi.DeviceInfo
	command uint32            // command register in configuration space
	pending int               // remaining reads of Device Status with Transactions Pending set
	memory  map[uint64][]byte // contiguous memory, by physical address
	mapped  int
	next    uint64 // next physical address
	events  []string
	logged  []string // of LogEtwEvent

	calls  int
	failAt int                          // callback to fail, counted from 1
	synced int                          // calls of SynchronizeExecution
	dead   bool                         // all register and configuration accesses fail
	hook   func(write bool, off uint32) // called before each register access

	table   kmddi.DriverInitializationData
	thread  *ddi.Thread
	adapter kmddi.HAdapter
}

func newKernel(nodes uint32) *kernel {
	k := &kernel{
		gpu: newGPU(nodes), memory: map[uint64][]byte{}, next: 0x10000, command: 0x00100002,
		info: kmddi.DeviceInfo{
			VendorID: 0x1234, DeviceID: 0x4847, BARs: [6]uint64{0: 0x10000, 2: 1 << 20}, Messages: 2, SystemMemoryBytes: 64 << 20,
		},
		table: miniport.DriverEntry(), thread: &ddi.Thread{}, adapter: kmddi.HAdapter{Root: &ddi.Root{}},
	}
	return k
}

// started returns a kernel whose adapter runs.
func started(t testing.TB, nodes uint32) *kernel {
	k := newKernel(nodes)
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	return k
}

func (k *kernel) start() (kmddi.StartDeviceOut, ddi.Status) {
	return k.table.StartDevice(k.thread, k.adapter, kmddi.StartInfo{}, k.callbacks())
}

func (k *kernel) fails() bool {
	k.calls++
	return k.calls == k.failAt
}

func (k *kernel) log(format string, args ...any) {
	k.events = append(k.events, fmt.Sprintf(format, args...))
}

// drain returns the log since the last call.
func (k *kernel) drain() []string {
	e := k.events
	k.events = nil
	return e
}

type mapping struct{}

// vramMapping is a mapping of VRAM.
type vramMapping struct{ off, length uint64 }

// dword returns the offset in VRAM of an offset in the mapping.
func (m vramMapping) dword(off uint32) uint64 {
	if uint64(off)+4 > m.length || off%4 != 0 {
		panic("an access outside of the mapping of VRAM")
	}
	return m.off + uint64(off)
}

func (k *kernel) callbacks() *kmddi.DxgkrnlInterface {
	cb := &kmddi.DxgkrnlInterface{DeviceHandle: kmddi.HDxgkrnl{System: k}}
	cb.GetDeviceInformation = func(*ddi.Thread, kmddi.HDxgkrnl) (kmddi.DeviceInfo, ddi.Status) {
		if k.fails() {
			return kmddi.DeviceInfo{}, ddi.StatusUnsuccessful
		}
		return k.info, ddi.StatusSuccess
	}
	k.memoryCallbacks(cb)
	k.registerCallbacks(cb)
	k.interruptCallbacks(cb)
	return cb
}

func (k *kernel) memoryCallbacks(cb *kmddi.DxgkrnlInterface) {
	cb.MapMemory = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, bar int, off, length uint64) (kmddi.HMapping, ddi.Status) {
		if k.fails() {
			return kmddi.HMapping{}, ddi.StatusUnsuccessful
		}
		if bar == 2 && k.gpu.regs[idCaps2]&gartCap != 0 && off+length <= uint64(k.gpu.regs[idVRAM]) {
			k.mapped++
			return kmddi.HMapping{System: vramMapping{off, length}}, ddi.StatusSuccess
		}
		if bar != 0 || off != 0 || length != 0x10000 {
			panic("mapped something other than the registers")
		}
		k.mapped++
		return kmddi.HMapping{System: mapping{}}, ddi.StatusSuccess
	}
	cb.UnmapMemory = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, m kmddi.HMapping) ddi.Status {
		if _, vram := m.System.(vramMapping); !vram && m.System != (mapping{}) {
			panic("unmapped something other than the mapping")
		}
		k.mapped--
		return ddi.StatusSuccess
	}
	cb.AllocateContiguousMemory = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, size int) (kmddi.ContiguousMemory, ddi.Status) {
		if k.fails() {
			return kmddi.ContiguousMemory{}, ddi.StatusNoMemory
		}
		m := kmddi.ContiguousMemory{PhysicalAddress: k.next, Bytes: make([]byte, size)}
		k.memory[k.next] = m.Bytes
		k.next += 0x10000
		return m, ddi.StatusSuccess
	}
	cb.FreeContiguousMemory = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, m kmddi.ContiguousMemory) {
		if _, ok := k.memory[m.PhysicalAddress]; !ok {
			panic("freed memory that is not allocated")
		}
		delete(k.memory, m.PhysicalAddress)
	}
	cb.LogEtwEvent = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, text string) { k.logged = append(k.logged, text) }
}

func (k *kernel) registerCallbacks(cb *kmddi.DxgkrnlInterface) {
	cb.ReadDeviceSpace = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, off int) (uint32, ddi.Status) {
		if k.fails() || k.dead {
			return 0, ddi.StatusIODeviceError
		}
		switch {
		case off == 4:
			return k.command, ddi.StatusSuccess
		case off != deviceControl:
			panic("read something other than the command register and the device status")
		case k.pending > 0:
			k.pending--
			return 1<<21 | 0x2810, ddi.StatusSuccess
		}
		return 0x2810, ddi.StatusSuccess
	}
	cb.WriteDeviceSpace = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, off int, v uint32) ddi.Status {
		if k.fails() || k.dead {
			return ddi.StatusIODeviceError
		}
		if off != 4 || v>>16 != 0 {
			panic("wrote something other than the command half")
		}
		k.command = k.command&0xffff0000 | v
		return ddi.StatusSuccess
	}
	cb.ReadRegister = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, m kmddi.HMapping, off uint32) (uint32, ddi.Status) {
		if k.hook != nil {
			k.hook(false, off)
		}
		if k.fails() || k.dead || k.mapped == 0 {
			return 0xffffffff, ddi.StatusIODeviceError
		}
		if v, ok := m.System.(vramMapping); ok {
			return k.gpu.vram[v.dword(off)], ddi.StatusSuccess
		}
		if m.System != (mapping{}) {
			return 0xffffffff, ddi.StatusIODeviceError
		}
		return k.gpu.read(off), ddi.StatusSuccess
	}
	cb.WriteRegister = func(_ *ddi.Thread, _ kmddi.HDxgkrnl, m kmddi.HMapping, off, v uint32) ddi.Status {
		if k.hook != nil {
			k.hook(true, off)
		}
		if k.fails() || k.dead || k.mapped == 0 {
			return ddi.StatusIODeviceError
		}
		if m, ok := m.System.(vramMapping); ok {
			k.gpu.vram[m.dword(off)] = v
			return ddi.StatusSuccess
		}
		if m.System != (mapping{}) {
			return ddi.StatusIODeviceError
		}
		k.gpu.write(off, v)
		return ddi.StatusSuccess
	}
}

func (k *kernel) interruptCallbacks(cb *kmddi.DxgkrnlInterface) {
	cb.NotifyInterrupt = func(t *ddi.Thread, _ kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
		if t.IRQL() != ddi.DIRQL {
			panic("NotifyInterrupt below DIRQL")
		}
		if arg.InterruptType == 2 {
			k.log("preempted node %d fence %#x last %#x", arg.NodeOrdinal, arg.FenceID, arg.LastCompletedFenceID)
			return
		}
		kind := map[kmddi.NotifyType]string{1: "completed", 4: "faulted"}[arg.InterruptType]
		k.log("%s node %d fence %#x status %#x", kind, arg.NodeOrdinal, arg.FenceID, arg.Status)
	}
	cb.QueueDpc = func(*ddi.Thread, kmddi.HDxgkrnl) bool { k.log("QueueDpc"); return true }
	cb.NotifyDpc = func(*ddi.Thread, kmddi.HDxgkrnl) { k.log("NotifyDpc") }
	cb.SynchronizeExecution = func(t *ddi.Thread, _ kmddi.HDxgkrnl, _ uint32, fn func(*ddi.Thread) bool) (bool, ddi.Status) {
		if k.fails() {
			return false, ddi.StatusUnsuccessful
		}
		k.synced++
		old := t.Raise(ddi.DIRQL)
		defer t.Lower(old)
		return fn(t), ddi.StatusSuccess
	}
}

// interrupt runs the interrupt routine as the kernel does.
func (k *kernel) interrupt(message uint32) bool {
	old := k.thread.Raise(ddi.DIRQL)
	defer k.thread.Lower(old)
	return k.table.InterruptRoutine(k.thread, k.adapter, message)
}

// submit submits a part of a DMA buffer at physical address 0x20000.
func (k *kernel) submit(t testing.TB, node, start, end, id uint32) {
	old := k.thread.Raise(ddi.DispatchLevel)
	defer k.thread.Lower(old)
	require.Equal(t, ddi.StatusSuccess, k.table.SubmitCommand(k.thread, k.adapter, kmddi.SubmitCommand{
		DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionStartOffset: start, DmaBufferSubmissionEndOffset: end,
		SubmissionFenceID: id, NodeOrdinal: node,
	}))
}

// debug returns the text of CollectDbgInfo.
func (k *kernel) debug(t testing.TB) string {
	b := make([]byte, 64<<10)
	out, s := k.table.CollectDbgInfo(k.thread, k.adapter, kmddi.CollectDbgInfo{Reason: 0x117, Buffer: b})
	require.Equal(t, ddi.StatusSuccess, s)
	return string(b[:out.Length])
}

// ringDwords returns the dwords of a node's ring from its base up to WPTR, as
// the device would find them.
func (k *kernel) ringDwords(node uint32) []uint32 {
	r := node * cpStride
	base := uint64(k.gpu.regs[0x1008+r]) | uint64(k.gpu.regs[0x100c+r]&0x7fffffff)<<32
	var out []uint32
	for i := range k.gpu.regs[cp0Wptr+r] {
		out = append(out, binary.LittleEndian.Uint32(k.memory[base][4*i:]))
	}
	return out
}

// client is a device with a context.
type client struct {
	k   *kernel
	dev kmddi.HDevice
	ctx kmddi.HContext
}

func (k *kernel) client(t testing.TB) *client {
	c := &client{k: k, dev: kmddi.HDevice{Root: &ddi.Root{}}, ctx: kmddi.HContext{Root: &ddi.Root{}}}
	require.Equal(t, ddi.StatusSuccess, k.table.CreateDevice(k.thread, k.adapter, c.dev, kmddi.CreateDevice{}))
	_, s := k.table.CreateContext(k.thread, c.dev, c.ctx, kmddi.CreateContext{EngineAffinity: 1})
	require.Equal(t, ddi.StatusSuccess, s)
	return c
}

// open creates an allocation and opens it.
func (c *client) open(t testing.TB, desc privdata.Allocation) kmddi.HDeviceAllocation {
	k := c.k
	al, open := kmddi.HAllocation{Root: &ddi.Root{}}, kmddi.HDeviceAllocation{Root: &ddi.Root{}}
	private := desc.Append(nil)
	_, s := k.table.CreateAllocation(k.thread, k.adapter, al, kmddi.CreateAllocation{PrivateDriverData: private})
	require.Equal(t, ddi.StatusSuccess, s)
	s = k.table.OpenAllocation(k.thread, c.dev, open, kmddi.OpenAllocation{Allocation: al, PrivateDriverData: private, Create: true})
	require.Equal(t, ddi.StatusSuccess, s)
	return open
}

// userMemory is application memory. change is called after each read.
type userMemory struct {
	b      []byte
	status ddi.Status
	change func(b []byte)
	reads  []int // offset and length of each read
}

func (u *userMemory) Size() int { return len(u.b) }

func (u *userMemory) Read(off int, p []byte) ddi.Status {
	u.reads = append(u.reads, off, len(p))
	copy(p, u.b[off:])
	if u.change != nil {
		u.change(u.b)
	}
	return u.status
}

// userPatches is an application's patch list. Each element is overwritten after
// it is read.
type userPatches struct {
	list   []kmddi.PatchLocation
	failAt int // 1 + index of the element that cannot be read
	spoil  bool
}

func (u *userPatches) Len() int { return len(u.list) }

func (u *userPatches) At(i int) (kmddi.PatchLocation, ddi.Status) {
	if i == u.failAt-1 {
		return kmddi.PatchLocation{}, ddi.StatusInvalidUserBuffer
	}
	p := u.list[i]
	if u.spoil {
		u.list[i] = kmddi.PatchLocation{AllocationIndex: 0xffffffff, PatchOffset: 0xfffffffc}
	}
	return p, ddi.StatusSuccess
}

// words encodes dwords.
func words(ws ...uint32) []byte {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// surface32 describes an allocation of w x h elements of four bytes.
func surface32(place privdata.Place, w, h uint32) privdata.Allocation {
	return privdata.Allocation{Place: place, Bytes: uint64(w*h) * 4, Width: w, Height: h, Pitch: w * 4, Format: pkt.Format32}
}
