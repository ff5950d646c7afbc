package miniport

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Names of the settings of the driver.
const (
	// SettingQueues is 1 if the firmware executes the DMA buffers, those of each context in a
	// queue of its own. A device that cannot do that does not start.
	SettingQueues = "FirmwareQueues"

	// SettingQuantum is how many clocks the turn of a context lasts, within the limits of
	// package fwabi.
	SettingQuantum = "FirmwareQuantum"

	// SettingPreempt is 1 if each turn ends after its clocks, even if no other context waits.
	SettingPreempt = "FirmwarePreempt"

	// SettingTelemetry is how many clocks pass between two samples of what the nodes do, for
	// Observer.Samples, at least fwabi.PeriodLeast; 0: none. It needs SettingQueues.
	SettingTelemetry = "FirmwareTelemetry"
)

// defaultQuantum is 1 ms at 100 MHz.
const defaultQuantum = 100_000

// The memory of the queues: the message area, then for each queue its ring with the states from which
// its entries resume, its save area, and its progress value in its own cache line.
const (
	queueDepth    = 2 * ring.Slots // entries; the firmware may count as many late as a node has outstanding
	queueLog2     = 4
	queuesAt      = fwabi.AreaBytes
	queueRing     = queueDepth * fwabi.QueueEntryBytes
	queueBytes    = queueRing + queueDepth*fwabi.SaveBytes
	savesAt       = queuesAt + fwabi.Queues*queueBytes
	progressAt    = savesAt + fwabi.Queues*fwabi.SaveBytes
	progressBytes = 64
	queuesBytes   = (progressAt + fwabi.Queues*progressBytes + 0xfff) &^ 0xfff
)

const (
	nodeRing     = 4096 // bytes of the ring of a node, which is in VRAM
	nodeRingLog2 = 12

	messageRings = 4 // log2 of the entries of the rings of messages

	priorityContext = 1
	prioritySystem  = fwabi.QueuePriorities - 1
)

const (
	// answerPolls is how often the driver reads a register until an answer must have arrived, if the time stands still.
	answerPolls = 1 << 14

	// answerClocks is how long the firmware may take for an answer: twice as long as it waits for a node to stop.
	answerClocks = 2 * fwabi.HaltClocks

	// limitTrips is how many reads of host memory the firmware may make between two writes of KICK, and before an answer.
	// LIMIT and the limit of an answer are longer by their time. On a slow link each takes as long as a read of a register.
	limitTrips = 256

	// busyCalls is how often a request is repeated while a node is busy. A repeat begins
	// at most as long after the first BUSY as an answer may take.
	busyCalls = 64
)

// A queue is a queue of the firmware.
//
//	exists    it was created
//	node      whose work it has
//	contexts  that share it
//	tail      entries that were written; the high half of their values
//	value     the last one
type queue struct {
	exists   bool
	node     uint32
	contexts int
	tail     uint32
	value    uint64
}

// queues are the queues of the firmware, if the settings ask for them. Queue i is that of the
// work of the system on node i.
type queues struct {
	adapter *adapter
	mem     kmddi.ContiguousMemory
	quantum uint32 // as in QUEUE_CREATE
	period  uint32 // of samples, in clocks; 0: there are none
	session uint32 // of HELLO
	answer  uint32 // most clocks until an answer
	resets  uint32 // of the device; a context from before the last one has no queue
	err     error  // why messages fail
	log     programLog
	samples sync.Mutex // held while samples are taken and passed on

	mu      sync.Mutex // held by calls
	regs    barRegisters
	client  *message.Client // nil: the firmware is stopped
	calling bool            // a call uses client and regs, and takes the answers; an interrupt must not
	all     [fwabi.Queues]queue
	nodes   []work      // by node
	held    atomic.Bool // no work is given to the queues, since the firmware is being loaded
}

// errStopped is why there are no answers after the firmware was stopped.
var errStopped = errors.New("miniport: firmware stopped")

// An area is the message area as package message accesses it.
type area []byte

// ReadHost implements message.Memory.
func (m area) ReadHost(off uint32, b []byte) error { copy(b, m[off:]); return nil }

// WriteHost implements message.Memory.
func (m area) WriteHost(off uint32, b []byte) error { copy(m[off:], b); return nil }

// configure reads the settings. StatusNotSupported means that the device cannot do what they
// ask for.
func (a *adapter) configure(t *ddi.Thread) ddi.Status {
	set := map[string]uint32{SettingQuantum: defaultQuantum}
	for _, s := range a.info.Settings {
		set[s.Name] = s.Value
	}
	if set[SettingQueues] == 0 {
		return ddi.StatusSuccess
	}
	quantum := set[SettingQuantum]
	if quantum < fwabi.QuantumLeast || quantum > fwabi.QuantumMost {
		a.logQueues(t, fmt.Sprintf("quantum of %d clocks, want %d to %d", quantum, fwabi.QuantumLeast, fwabi.QuantumMost))
		return ddi.StatusInvalidParameter
	}
	period := set[SettingTelemetry]
	if period != 0 && period < fwabi.PeriodLeast {
		a.logQueues(t, fmt.Sprintf("samples each %d clocks, want at least %d", period, fwabi.PeriodLeast))
		return ddi.StatusInvalidParameter
	}
	if lacks := a.queuesLack(period); lacks != "" {
		a.logQueues(t, lacks)
		return ddi.StatusNotSupported
	}
	if set[SettingPreempt] != 0 {
		quantum |= fwabi.QuantumForced
	}
	a.queues = &queues{adapter: a, quantum: quantum, period: period, resets: 1, nodes: make([]work, a.caps.nodes)}
	return ddi.StatusSuccess
}

// queuesLack returns what the GPU lacks for queues, and for samples if the period is not 0; "": nothing.
// The firmware switches with SAVE_STATE, RESTORE_STATE and PREEMPT, and writes progress with SIGNAL.
func (a *adapter) queuesLack(period uint32) string {
	needs := caps.MCU | caps.Contexts | caps.Preemption | caps.Signal
	if period != 0 {
		needs |= caps.Counters
	}
	if missing := needs &^ a.caps.have; missing != 0 {
		return "the GPU lacks " + missing.String()
	}
	if a.caps.vramBytes < testVRAM {
		return fmt.Sprintf("%d bytes of VRAM, want at least %d", a.caps.vramBytes, testVRAM)
	}
	return ""
}

// logQueues logs why there are no queues.
func (a *adapter) logQueues(t *ddi.Thread, why string) {
	a.cb.LogEtwEvent(t, a.cb.DeviceHandle, "miniport: no firmware queues: "+why)
}

// allocateQueues allocates the memory of the queues.
func (a *adapter) allocateQueues(t *ddi.Thread) ddi.Status {
	if a.queues == nil {
		return ddi.StatusSuccess
	}
	var s ddi.Status
	a.queues.mem, s = a.allocateContiguous(t, queuesBytes)
	return s
}

// reserved returns the bytes at the end of VRAM that are the firmware's: the rings of the nodes
// if there are queues, and then what the self-test overwrites.
func (a *adapter) reserved() uint64 {
	switch {
	case !a.caps.have.Has(caps.MCU) || a.caps.vramBytes < testVRAM:
		return 0
	case a.queues == nil:
		return testBytes
	}
	return testBytes + uint64(a.caps.nodes)*nodeRing
}

// prepareQueues clears the memory of the queues, and adds what they need to the options of the
// firmware. It is called before the firmware starts. trip is that of a register read, in clocks.
func (a *adapter) prepareQueues(o *firmware.Options, trip uint32) {
	q := a.queues
	if q == nil {
		return
	}
	clear(q.mem.Bytes)
	q.err = message.Init(area(q.mem.Bytes), messageRings)
	o.Limit = uint32(min(uint64(o.Limit)+limitTrips*uint64(trip), math.MaxUint32))
	q.answer = uint32(min(answerClocks+limitTrips*uint64(trip), message.ClocksMost))
	o.Blocks |= 1 << (arbreg.Base / mcureg.BlockBytes)
	if q.period != 0 {
		o.Blocks |= 1 << (perfreg.Base / mcureg.BlockBytes)
	}
	o.Windows[fwabi.WindowNodes] = firmware.Window{Base: a.caps.vramBytes - a.reserved(), Bytes: uint32(a.caps.nodes) * nodeRing, Write: true}
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: pkt.Host | q.mem.PhysicalAddress, Bytes: fwabi.AreaBytes, Write: true}
}

// dropQueues drops all work and the queues of the contexts, after a reset of the device.
func (a *adapter) dropQueues(*ddi.Thread) ddi.Status {
	if q := a.queues; q != nil {
		q.resets++
		q.all = [fwabi.Queues]queue{}
		clear(q.nodes)
	}
	return ddi.StatusSuccess
}

// startQueues begins a session with the firmware, gives it the nodes, and creates the queues of
// the system and those that the contexts have. StatusDeviceNotReady means that the firmware does
// not run, does not answer or refuses.
func (a *adapter) startQueues(t *ddi.Thread) ddi.Status {
	q := a.queues
	if q == nil {
		return ddi.StatusSuccess
	}
	if !a.program.runs {
		return ddi.StatusDeviceNotReady
	}
	q.log.begin(a.program.boot.Build)
	if q.err == nil {
		q.err = q.open(t)
	}
	if q.err == nil && q.period != 0 {
		q.err = q.call(t, fwabi.OpTelemetry, q.period)
	}
	for node := uint32(0); q.err == nil && node < uint32(a.caps.nodes); node++ {
		q.err = q.call(t, fwabi.OpNodeTake, node, node*nodeRing, nodeRingLog2)
	}
	for i := uint32(0); q.err == nil && i < fwabi.Queues; i++ {
		switch {
		case i < uint32(a.caps.nodes):
			q.err = q.create(t, i, i, prioritySystem)
		case q.all[i].exists:
			q.err = q.create(t, i, q.all[i].node, priorityContext)
		}
	}
	if q.err == nil {
		return ddi.StatusSuccess
	}
	a.logQueues(t, q.err.Error())
	var lost statusError
	if errors.As(q.err, &lost) {
		return ddi.Status(lost)
	}
	return ddi.StatusDeviceNotReady
}

// open begins a session, and gives the nodes to the second master.
func (q *queues) open(t *ddi.Thread) error {
	q.session++
	err := q.exclusive(t, func() (err error) {
		q.regs = barRegisters{t, q.adapter.regs}
		if q.client, err = message.Open(&q.regs, area(q.mem.Bytes), message.Options{Polls: answerPolls, Clocks: q.answer}); err == nil {
			_, err = q.client.Hello(q.session)
		}
		return err
	})
	if err != nil {
		return err
	}
	return barRegisters{t, q.adapter.regs}.Write(arbreg.Base+arbreg.Owner, 1<<q.adapter.caps.nodes-1)
}

// exclusive runs fn, which uses the client. While it runs, no interrupt routine takes notices.
func (q *queues) exclusive(t *ddi.Thread, fn func() error) error {
	if err := q.setCalling(t, true); err != nil {
		return err
	}
	return errors.Join(fn(), q.setCalling(t, false))
}

// setCalling begins or ends the use of the client by a call. No interrupt routine is inside Notices then.
func (q *queues) setCalling(t *ddi.Thread, calling bool) error {
	return q.atDIRQL(t, func(*ddi.Thread) { q.calling, q.regs.t = calling, t })
}

// atDIRQL runs fn while no interrupt routine runs.
func (q *queues) atDIRQL(t *ddi.Thread, fn func(*ddi.Thread)) error {
	_, s := q.adapter.cb.SynchronizeExecution(t, q.adapter.cb.DeviceHandle, intcreg.VectorDone, func(t *ddi.Thread) bool {
		fn(t)
		return true
	})
	if s != ddi.StatusSuccess {
		return statusError(s)
	}
	return nil
}

// close forgets the client of a firmware that is stopped.
func (q *queues) close(t *ddi.Thread) ddi.Status {
	_, s := q.adapter.cb.SynchronizeExecution(t, q.adapter.cb.DeviceHandle, intcreg.VectorDone, func(*ddi.Thread) bool {
		q.client = nil
		return true
	})
	return s
}

// call sends a request, and repeats it while the firmware is busy. It takes the notices that
// arrive meanwhile, which an interrupt leaves to it. Without a firmware it fails.
func (q *queues) call(t *ddi.Thread, op uint32, payload ...uint32) error {
	var b []byte
	for _, v := range payload {
		b = le.AppendUint32(b, v)
	}
	if q.client == nil {
		return errStopped
	}
	err := q.exclusive(t, func() error { return q.repeat(op, b) })
	q.takeLog(t)
	return err
}

// repeat sends a request, and repeats it while the firmware is busy. A node that does not stop makes each answer late.
// The time is read after BUSY only, since each read is a round trip.
func (q *queues) repeat(op uint32, payload []byte) error {
	status, _, err := q.client.Call(op, payload)
	begin := uint32(0)
	for n := 0; status == fwabi.StatusBusy && n < busyCalls; n++ {
		now, failed := q.regs.Read(idreg.Base + idreg.TimeLo)
		if n == 0 {
			begin = now
		}
		if failed != nil || now-begin >= q.answer {
			return errors.Join(failed, err)
		}
		status, _, err = q.client.Call(op, payload)
	}
	return err
}

// create creates a queue. Contexts that have it keep it.
func (q *queues) create(t *ddi.Thread, i, node, priority uint32) error {
	le.PutUint32(q.mem.Bytes[fwabi.AreaQueueTails+4*i:], 0)
	clear(q.mem.Bytes[savesAt+fwabi.SaveBytes*i : savesAt+fwabi.SaveBytes*(i+1)])
	clear(q.mem.Bytes[progressAt+progressBytes*i : progressAt+progressBytes*(i+1)])
	ring, save := q.address(queuesAt+queueBytes*i), q.address(savesAt+fwabi.SaveBytes*i)
	err := q.call(t, fwabi.OpQueueCreate, i, node, priority, q.quantum, uint32(ring), uint32(ring>>32), queueLog2, uint32(save), uint32(save>>32))
	if err == nil {
		q.all[i] = queue{exists: true, node: node, contexts: q.all[i].contexts}
	}
	return err
}

// address returns the GPU address of an offset in the memory of the queues.
func (q *queues) address(off uint32) uint64 { return pkt.Host | q.mem.PhysicalAddress + uint64(off) }
