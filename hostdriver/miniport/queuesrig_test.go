package miniport_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Ops and statuses of messages, as docs/firmware.md lists them.
const (
	opHello, opNodeTake, opQueueCreate, opQueueDestroy, opFault, opYielded = 1, 16, 18, 19, 64, 66

	statusState, statusBusy = 7, 9
)

// A request is the op of a message and its payload.
type request struct {
	op      uint32
	payload []uint32
}

// fakeFirmware answers the messages of a driver. The test executes the queues.
type fakeFirmware struct {
	k        *kernel
	requests []request
	bells    []uint32            // doorbells of queues
	statuses map[uint32][]uint32 // of the next answers to an op; then OK
	silent   bool                // it does not answer
	stays    bool                // it does not answer a preemption after RESET
	created  map[uint32][]uint32 // payload of QUEUE_CREATE, by queue
}

// area returns the message area, which window 1 shows.
func (f *fakeFirmware) area() []byte { return f.memory(f.k.gpu.regs[0x690], f.k.gpu.regs[0x694]) }

// memory returns host memory from a GPU address on.
func (f *fakeFirmware) memory(lo, hi uint32) []byte {
	if hi>>31 != 1 {
		panic("an address in VRAM")
	}
	at := uint64(hi&0x7fffffff)<<32 | uint64(lo)
	for base, b := range f.k.memory {
		if at >= base && at < base+uint64(len(b)) {
			return b[at-base:]
		}
	}
	panic("an address without memory")
}

func (f *fakeFirmware) word(at uint32) uint32 { return binary.LittleEndian.Uint32(f.area()[at:]) }
func (f *fakeFirmware) set(at, v uint32)      { binary.LittleEndian.PutUint32(f.area()[at:], v) }

// ring answers all requests.
func (f *fakeFirmware) ring(bells uint32) {
	if bells&^1 != 0 {
		f.bells = append(f.bells, bells)
	}
	hung := f.k.gpu.regs[mcuStatus]&4 != 0
	for bells&1 != 0 && !f.silent && !hung && f.word(0x40) != f.word(0x20) {
		at := 0x1000 + 64*(f.word(0x40)%16)
		head := f.word(at + 4)
		r := request{op: head & 0xff}
		for i := range head >> 8 & 0xff / 4 {
			r.payload = append(r.payload, f.word(at+8+4*i))
		}
		f.set(0x40, f.word(0x40)+1)
		f.requests = append(f.requests, r)
		status := uint32(0)
		if s := f.statuses[r.op]; len(s) > 0 {
			status, f.statuses[r.op] = s[0], s[1:]
		}
		var answer []uint32
		switch {
		case r.op == opHello:
			answer = []uint32{1, 0x1234abcd, 16}
		case r.op == opQueueCreate && status == 0:
			f.created[r.payload[0]] = r.payload
		case r.op == opQueueDestroy && status == 0:
			delete(f.created, r.payload[0])
		}
		f.answer(f.word(at), r.op|status<<16, answer...)
	}
}

// answer writes an answer or a notice, and raises the event.
func (f *fakeFirmware) answer(sequence, head uint32, payload ...uint32) {
	at := 0x2000 + 64*(f.word(0x44)%16)
	f.set(at, sequence)
	f.set(at+4, head|uint32(len(payload))<<10)
	for i, v := range payload {
		f.set(at+8+4*uint32(i), v)
	}
	f.set(0x44, f.word(0x44)+1)
	f.k.gpu.regs[intcStatus] |= 1 << 2
}

// entry returns the last entry of a queue, in dwords.
func (f *fakeFirmware) entry(queue uint32) (e [8]uint32) {
	c := f.created[queue]
	i := (f.word(0x80+4*queue) - 1) % (1 << c[6])
	b := f.memory(c[4], c[5])[32*i:]
	for j := range e {
		e[j] = binary.LittleEndian.Uint32(b[4*j:])
	}
	return e
}

// finish completes all entries of a queue on a node: it writes the progress value of the last one, and
// raises the event.
func (f *fakeFirmware) finish(queue, node uint32) {
	e := f.entry(queue)
	b := f.memory(e[4], e[5])
	binary.LittleEndian.PutUint32(b, e[6])
	binary.LittleEndian.PutUint32(b[4:], e[7])
	f.set(0xc0+4*queue, f.word(0x80+4*queue))
	f.k.gpu.regs[intcStatus] |= 1 << node
}

// finishOne completes the last but one entry of a queue on node 0.
func (f *fakeFirmware) finishOne(queue uint32) {
	e := f.entry(queue)
	i := (f.word(0x80+4*queue) - 2) % (1 << f.created[queue][6])
	copy(f.memory(e[4], e[5]), f.memory(f.created[queue][4], f.created[queue][5])[32*i+24:32*i+32])
	f.k.gpu.regs[intcStatus] |= 1
}

// place writes where a queue has stopped.
func (f *fakeFirmware) place(queue uint32, addr uint64, left, progress uint32) {
	for i, v := range []uint32{uint32(addr), uint32(addr >> 32), left, progress} {
		f.set(0x200+16*queue+4*uint32(i), v)
	}
}

// yielded drops the entries of the queues of a node, and answers the doorbell of a preemption.
func (f *fakeFirmware) yielded(node, places uint32) {
	for q, c := range f.created {
		if c[1] == node {
			f.set(0xc0+4*q, f.word(0x80+4*q))
		}
	}
	f.answer(0, opYielded, node, places, 0)
}

// unstarted returns a kernel whose GPU has a microcontroller and whose driver has settings, before
// StartDevice, and the firmware.
func unstarted(t testing.TB, nodes uint32, settings ...kmddi.Setting) (*kernel, *fakeFirmware) {
	t.Helper()
	k := newKernel(nodes)
	k.table = miniport.WithFirmware(firmware.Default())
	const counters, contexts, preemption, signal, master, mcu = 1 << 6, 1 << 25, 1 << 26, 1 << 1, 1 << 3, 1 << 4
	k.gpu.regs[idCaps] |= counters | contexts | preemption
	k.gpu.regs[idCaps2], k.gpu.regs[mcuInfo], k.gpu.boot = signal|master|mcu, 0x14820, ready
	k.info.Settings = append([]kmddi.Setting{{Name: "FirmwareQueues", Value: 1}}, settings...)
	f := &fakeFirmware{k: k, statuses: map[uint32][]uint32{}, created: map[uint32][]uint32{}}
	k.gpu.bell = f.ring
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	return k, f
}

// withQueues returns a kernel whose adapter runs with queues of the firmware.
func withQueues(t testing.TB, nodes uint32, settings ...kmddi.Setting) (*kernel, *fakeFirmware) {
	t.Helper()
	k, f := unstarted(t, nodes, settings...)
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	k.gpu.regs[intcStatus] = 0
	return k, f
}

// context creates a context of a device on a node.
func (k *kernel) context(t testing.TB, dev kmddi.HDevice, node uint32) kmddi.HContext {
	t.Helper()
	ctx := kmddi.HContext{Root: &ddi.Root{}}
	_, s := k.table.CreateContext(k.thread, dev, ctx, kmddi.CreateContext{NodeOrdinal: node, EngineAffinity: 1})
	require.Equal(t, ddi.StatusSuccess, s)
	k.gpu.regs[intcStatus] = 0
	return ctx
}

// device creates a device.
func (k *kernel) device(t testing.TB) kmddi.HDevice {
	t.Helper()
	dev := kmddi.HDevice{Root: &ddi.Root{}}
	require.Equal(t, ddi.StatusSuccess, k.table.CreateDevice(k.thread, k.adapter, dev, kmddi.CreateDevice{}))
	return dev
}

// work submits dwords of a context, or with paging of the system. The buffer is at 0x20000.
func (k *kernel) work(t testing.TB, ctx kmddi.HContext, node, dwords, id uint32, paging bool) {
	t.Helper()
	old := k.thread.Raise(ddi.DispatchLevel)
	defer k.thread.Lower(old)
	require.Equal(t, ddi.StatusSuccess, k.table.SubmitCommand(k.thread, k.adapter, kmddi.SubmitCommand{
		Context: ctx, DmaBufferPhysicalAddress: 0x20000, DmaBufferSize: 0x1000, DmaBufferSubmissionStartOffset: 0x40,
		DmaBufferSubmissionEndOffset: 0x40 + 4*dwords, SubmissionFenceID: id, NodeOrdinal: node, Flags: kmddi.SubmitFlags{Paging: paging},
	}))
}

// interrupted runs the interrupt routine and the DPC, and returns what they reported of fences.
func (k *kernel) interrupted(t testing.TB) []string {
	t.Helper()
	k.drain()
	require.True(t, k.interrupt(0))
	var fences []string
	for _, e := range k.drain() {
		if e != "QueueDpc" {
			fences = append(fences, e)
		}
	}
	old := k.thread.Raise(ddi.DispatchLevel)
	defer k.thread.Lower(old)
	k.table.DpcRoutine(k.thread, k.adapter)
	return fences
}
