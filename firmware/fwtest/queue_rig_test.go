package fwtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// Places in VRAM of the tests of queues.
const (
	nodesAt   = 0x10_0000 // window 0: a ring for each node
	ringsAt   = 0x18_0000 // rings of queues, 4 KiB apart
	savesAt   = 0x19_0000
	buffersAt = 0x20_0000 // indirect buffers, bufferBytes apart, depth for each queue

	depth       = 16 // entries of a queue
	bufferBytes = 0x1000

	// Places in host memory after the message area.
	progressAt = 0x8000  // 8 bytes for each queue
	hostSaves  = 0xc000  // save areas that are not in VRAM
	targetsAt  = 0x10000 // targetBytes for each queue
	rowBytes   = 256
	rows       = 64
	hostRings  = 0x50000 // rings of queues that are not in VRAM, hostRing apart
	hostRing   = depth * (fwabi.QueueEntryBytes + fwabi.SaveBytes)
	hostBytes  = 0x60000

	ringsLog2 = 3
)

// A queued is the host's side of a queue, and what the model knows of it.
type queued struct {
	exists     bool
	node       int
	priority   uint32
	quantum    uint32
	held       bool
	drains     bool // DRAIN was answered, and DRAINED has not arrived
	failed     bool
	broken     bool     // it failed at a fault or a reset of the node
	fails      bool     // an entry that makes it fail was written
	tail       uint32   // entries that were written
	values     []uint64 // progress values that are due, in order
	next       uint32   // number of the next entry, of all queues with this number
	unset      bool     // no entry has set the surface yet
	waits      uint64   // clock since which it has work and none of it was done; 0: it has none
	contests   bool     // one of the same or a lower priority worked while it waits
	excused    bool     // a part of its wait did not count
	lastNumber uint32   // number of the last entry that wrote data
	done       uint32   // entries that are complete or were dropped
	dropped    []given  // those that a yield dropped and that are not given again, in order
	given      map[uint32]given
}

// A queueRig is a complete GPU with the firmware, and a model that checks what the queues do.
type queueRig struct {
	complete
	g        *gpu.GPU
	sequence uint32
	requests uint32
	answers  uint32
	notices  [][4]uint32 // op and payload
	q        [fwabi.Queues]queued
	progress int       // values that were written
	service  [16]int64 // bytes of each queue
	last     [2]int    // the queue of each node that wrote last
	since    [2]uint64 // clock at which it began
	lastData [2]uint64 // clock of the last data of each node
	longest  uint64    // clocks of the longest wait of counted
	contests int       // waits of a queue while one of the same or a lower priority worked
	counted  int       // of these, the ones without a request, a fault or a drain meanwhile
	strict   bool      // check priority and fairness
	calm     uint64    // clock of the last answer or fault; a wait counts from it
	asking   bool      // a request has no answer yet
	inHost   uint32    // bit for each queue: its ring is in host memory
	shifted  uint32    // bit for each queue: its ring is an entry further
	saveHost uint32    // bit for each queue: its save area is in host memory
	rings    uint64    // clocks after which a request rings again; 0: it does not
	resets   int       // RESETs of a node after which no queue has failed
	draining [2]bool   // DRAINED of a node is due
	yielding [2]bool   // YIELDED of a node is due
	yields   []uint64  // clocks at which YIELDED was written
	places   [2]uint32 // queues with a place since the doorbell of the yield, one bit for each
}

func (r *queueRig) word(at uint32) uint32 { return binary.LittleEndian.Uint32(r.Mem[at:]) }
func (r *queueRig) set(at, v uint32)      { binary.LittleEndian.PutUint32(r.Mem[at:], v) }

// newQueueRig boots the firmware and takes both nodes.
func newQueueRig(t *testing.T) *queueRig {
	t.Helper()
	r := newIdleRig(t, newComplete(t, 32<<10, 1))
	r.boot()
	return r
}

// newIdleRig returns a rig whose firmware does not run.
func newIdleRig(t *testing.T, m complete) *queueRig {
	t.Helper()
	g, ok := m.Dev.(*gpu.GPU)
	require.True(t, ok)
	r := &queueRig{complete: m, g: g}
	m.Bus.Mem = make([]byte, hostBytes)
	r.Bus.Wrote = r.wrote
	return r
}

// boot boots the firmware and takes both nodes.
func (r *queueRig) boot() {
	r.t.Helper()
	r.load()
	for n := range uint32(2) {
		r.must(fwabi.OpNodeTake, n, n*0x1000, 10+n)
	}
}

// load boots the firmware, begins a session and gives both nodes to the second master.
func (r *queueRig) load() {
	r.t.Helper()
	r.sequence, r.requests, r.answers = 0, 0, 0
	r.set(fwabi.AreaMagicWord, fwabi.AreaMagic)
	r.set(fwabi.AreaVersion, fwabi.Version)
	r.set(fwabi.AreaRings, ringsLog2)
	o := firmware.Options{Limit: 1 << 20, Clocks: 1 << 20}
	for _, base := range []int{arbreg.Base, intcreg.Base, perfreg.Base, cpreg.Base, cpreg.Base + cpreg.Stride} {
		o.Blocks |= 1 << (base / mcureg.BlockBytes)
	}
	o.Windows[fwabi.WindowNodes] = firmware.Window{Base: nodesAt, Bytes: 0x10000, Write: true}
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: pkt.Host | memBase, Bytes: fwabi.AreaBytes, Write: true}
	_, err := firmware.Load(r, image(r.t), o)
	require.NoError(r.t, err)
	r.must(fwabi.OpHello, fwabi.Version, 7)
	r.sequence = 0
	require.NoError(r.t, r.Write(arbreg.Base+arbreg.Owner, 3))
}

// send sends a request.
func (r *queueRig) send(op uint32, payload ...uint32) {
	r.sequence++
	at := fwabi.AreaRequests + fwabi.EntryBytes*(r.requests%(1<<ringsLog2))
	r.set(at, r.sequence)
	r.set(at+4, op|uint32(4*len(payload))<<8)
	for i, v := range payload {
		r.set(at+8+4*uint32(i), v)
	}
	r.requests++
	r.set(fwabi.AreaRequestTail, r.requests)
	require.NoError(r.t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
}

// request sends a request, and returns the status and the payload of its answer.
func (r *queueRig) request(op uint32, payload ...uint32) (status uint32, answer []uint32) {
	r.send(op, payload...)
	r.asking = true
	defer func() { r.asking, r.calm = false, r.Clocks }()
	for n := 0; ; n++ {
		if n == 1_000_000 {
			require.Fail(r.t, "no answer", "op %d", op)
		}
		r.step(1)
		if r.rings != 0 && n%int(r.rings) == 0 {
			require.NoError(r.t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
		}
		if seq, got, data := r.take(); got != 0 && seq != 0 {
			require.Equal(r.t, op, got&0xff)
			require.Equal(r.t, r.sequence, seq)
			return got >> 16 & 0xff, data
		}
	}
}

// take takes an answer or a notice, if there is one.
func (r *queueRig) take() (sequence, head uint32, data []uint32) {
	if r.answers == r.word(fwabi.AreaAnswerTail) {
		return 0, 0, nil
	}
	at := fwabi.AreaAnswers + fwabi.EntryBytes*(r.answers%(1<<ringsLog2))
	sequence, head = r.word(at), r.word(at+4)
	for i := range head >> 8 & 0xff / 4 {
		data = append(data, r.word(at+8+4*i))
	}
	r.answers++
	r.set(fwabi.AreaAnswerHead, r.answers)
	if sequence == 0 {
		r.noticed(head&0xff, data)
	}
	return sequence, head, data
}

// noticed notes a notice. A queue may fail only if it has a reason.
func (r *queueRig) noticed(op uint32, data []uint32) {
	r.notices = append(r.notices, [4]uint32{op, data[0], data[1], data[2]})
	switch {
	case op == fwabi.OpYielded:
		r.yielded(int(data[0]), data[1])
	case op == fwabi.OpDrained:
		require.True(r.t, r.draining[data[0]], "DRAINED of node %d", data[0])
		r.draining[data[0]] = false
		for i := range r.q {
			if q := &r.q[i]; q.node == int(data[0]) && q.drains {
				q.held, q.drains = true, false
			}
		}
	case data[2] == fwabi.CauseReset:
		r.resets--
		require.GreaterOrEqual(r.t, r.resets, 0)
		r.fail(data[1])
	case data[1] < fwabi.Queues:
		require.True(r.t, r.q[data[1]].fails, "queue %d fails with the cause %d", data[1], data[2])
		r.fail(data[1])
		r.q[data[1]].broken = data[2] != fwabi.CauseEntry && data[2] != fwabi.CauseEntryRead
	}
}

// fail notes that a queue has stopped, or none.
func (r *queueRig) fail(i uint32) {
	r.calm = r.Clocks
	if i != fwabi.NoQueue {
		r.q[i].failed, r.q[i].broken, r.q[i].waits = true, true, 0
	}
}

// must sends a request that succeeds.
func (r *queueRig) must(op uint32, payload ...uint32) []uint32 {
	r.t.Helper()
	status, answer := r.request(op, payload...)
	require.EqualValues(r.t, fwabi.StatusOK, status, "op %d %v", op, payload)
	return answer
}

// step lets some clocks pass. Clocks in which nothing happens are skipped.
func (r *queueRig) step(clocks uint64) {
	for end := r.Clocks + clocks; r.Clocks < end; {
		if n := min(r.g.IdleFor(), r.Quiet(), end-r.Clocks); n > 1 {
			r.Skip(n)
			continue
		}
		if r.Step(); r.Err != nil { // a call of require takes longer than a clock
			require.NoError(r.t, r.Err)
		}
	}
}

// ringOf returns the GPU address of the ring of a queue.
func (r *queueRig) ringOf(i uint32) uint64 {
	if r.inHost>>i&1 != 0 {
		return pkt.Host | memBase + hostRings + hostRing*uint64(i)
	}
	return ringsAt + 0x1000*uint64(i) + uint64(r.shifted>>i&1*fwabi.QueueEntryBytes)
}

// create creates a queue. quantum may have fwabi.QuantumForced.
func (r *queueRig) create(i uint32, node int, priority, quantum uint32) {
	off := fwabi.SaveBytes * uint64(i)
	if r.saveHost>>i&1 != 0 {
		clear(r.Mem[hostSaves+off : hostSaves+off+fwabi.SaveBytes])
		r.createAt(i, node, priority, quantum, pkt.Host|memBase+hostSaves+off)
		return
	}
	r.g.PokeVRAM(savesAt+off, make([]byte, fwabi.SaveBytes))
	r.createAt(i, node, priority, quantum, savesAt+off)
}

// createAt creates a queue with a save area at a GPU address.
func (r *queueRig) createAt(i uint32, node int, priority, quantum uint32, save uint64) {
	q := &r.q[i]
	*q = queued{exists: true, node: node, priority: priority, quantum: quantum &^ fwabi.QuantumForced, next: q.next, unset: true, given: map[uint32]given{}}
	r.set(fwabi.AreaQueueTails+4*i, 0)
	r.must(fwabi.OpQueueCreate, i, uint32(node), priority, quantum, uint32(r.ringOf(i)), uint32(r.ringOf(i)>>32), 4, uint32(save), uint32(save>>32))
}

// destroy destroys a queue. It repeats the request while the node is in a reset.
func (r *queueRig) destroy(i uint32) {
	status := uint32(fwabi.StatusBusy)
	for n := 0; status == fwabi.StatusBusy; n++ {
		require.Less(r.t, n, 100, "queue %d", i)
		status, _ = r.request(fwabi.OpQueueDestroy, i)
	}
	require.EqualValues(r.t, fwabi.StatusOK, status, "queue %d", i)
}

// write writes an entry with packets in its buffer, without the doorbell.
func (r *queueRig) write(i uint32, packets []byte, flags uint32) {
	q := &r.q[i]
	g := given{number: q.next, rest: place{buffersAt + bufferBytes*uint64(i*depth+q.next%depth), uint32(len(packets) / 4), 0}}
	g.end, g.bytes = g.rest.addr+uint64(len(packets)), filled(packets)
	r.g.PokeVRAM(g.rest.addr, packets)
	r.enter(i, g, flags)
	q.next++
}

// enter writes an entry to the ring of a queue, without the doorbell.
func (r *queueRig) enter(i uint32, g given, flags uint32) {
	q := &r.q[i]
	slot := q.tail % depth
	value := uint64(i+1)<<40 | uint64(g.number)
	var e []byte
	e = binary.LittleEndian.AppendUint64(e, g.rest.addr)
	e = binary.LittleEndian.AppendUint32(e, g.rest.left)
	e = binary.LittleEndian.AppendUint32(e, flags)
	e = binary.LittleEndian.AppendUint64(e, pkt.Host|memBase+progressAt+8*uint64(i))
	e = binary.LittleEndian.AppendUint64(e, value)
	if at := slot * fwabi.QueueEntryBytes; r.inHost>>i&1 != 0 {
		copy(r.Mem[hostRings+hostRing*i+at:], e)
	} else {
		r.g.PokeVRAM(r.ringOf(i)+uint64(at), e)
	}
	q.values = append(q.values, value)
	q.given[g.number] = g
	q.tail++
	r.set(fwabi.AreaQueueTails+4*i, q.tail)
	if q.waits == 0 && !q.held {
		q.waits = r.Clocks
	}
}

// ring rings the doorbell of a queue.
func (r *queueRig) ring(i uint32) {
	require.NoError(r.t, r.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellQueue<<i))
}

// fills returns packets that fill the target of a queue. The first ones set its surface, which the later
// ones use. Each element has the number of the queue and of the entry.
func (r *queueRig) fills(i uint32, count int, height uint16) []byte {
	q := &r.q[i]
	var b []byte
	add := func(p interface{ Append([]byte) ([]byte, error) }) {
		var err error
		b, err = p.Append(b)
		require.NoError(r.t, err)
	}
	if q.unset {
		add(pkt.SetState{Surface: pkt.Dest, Base: pkt.Host | memBase + targetsAt + uint64(i)*rowBytes*rows, Pitch: rowBytes, Format: pkt.Format32, X1: rowBytes / 4, Y1: rows})
		q.unset = false
	}
	v := uint64(i)<<24 | uint64(q.next)&0xffffff
	for range count {
		add(pkt.Fill2D{W: rowBytes / 4, H: height, Value: v<<32 | v})
	}
	return b
}

// quiesce waits until all queues that may work have no entries left, and checks their heads.
func (r *queueRig) quiesce() {
	r.t.Helper()
	for n := 0; ; n++ {
		r.step(500)
		r.take()
		left := false
		for i := range r.q {
			q := &r.q[i]
			left = left || q.exists && !q.held && !q.drains && !q.failed && (q.fails || len(q.values) != 0)
		}
		if !left && r.draining == [2]bool{} && r.yielding == [2]bool{} && r.answers == r.word(fwabi.AreaAnswerTail) {
			break
		}
		require.Less(r.t, n, 20_000, "a doorbell was lost: %+v", r.q)
	}
	r.step(20_000)
	for i := range uint32(fwabi.Queues) {
		if q := &r.q[i]; q.exists && !q.failed && !q.fails {
			assert.Equal(r.t, q.tail-uint32(len(q.values)), r.word(fwabi.AreaQueueHeads+4*i), "head of queue %d", i)
		}
	}
}
