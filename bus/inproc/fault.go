package inproc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A FaultKind is a kind of fault injected into a device.
type FaultKind uint8

// Kinds of injected faults. Fault.After counts the events in brackets.
const (
	// LostInterrupt drops writes to the message window (messages).
	LostInterrupt FaultKind = iota + 1

	// LostDoorbell drops writes to the doorbells (doorbells).
	LostDoorbell

	// DeadDoorbell makes the device die when a doorbell is rung (doorbells).
	DeadDoorbell

	// DeadRequest makes the device die when a memory request arrives (memory
	// reads and writes at the target port).
	DeadRequest

	// LostAnswer drops all completions of a read by the device (reads by the device).
	LostAnswer

	// LateAnswer delays them by LateClocks (reads by the device).
	LateAnswer

	// IgnoreWrite keeps the host's writes of registers from the device (writes of
	// one of the registers that set one of its bits).
	IgnoreWrite
)

// LateClocks is the number of clocks by which LateAnswer delays a completion.
const LateClocks = 1 << 25

// A Fault configures an injected fault. A dead device accepts everything,
// answers nothing, not even configuration requests, and sends nothing.
type Fault struct {
	Kind FaultKind

	// After is the number of events before the first affected one.
	After uint64

	// Count is the number of events affected; 0 means all. A dead device stays dead.
	Count uint64

	// Doorbells are byte offsets in BAR0.
	Doorbells []uint64

	// Registers are those of IgnoreWrite.
	Registers []Register
}

// Faulty is a port.Device that injects a fault into another. The affected
// events depend only on the order of the events.
type Faulty struct {
	dev   port.Device
	fault Fault

	events uint64
	dead   bool
	base   uint64 // base of BAR0, from the configuration writes seen
	target stream // the host's writes
	device stream // the device's writes
	bar0   bool   // the beat that is due belongs to a configuration write of BAR0

	answers answers
	writes  writes // of IgnoreWrite
}

// A stream counts the due beats of writes: of those that pass and of a dropped
// one.
type stream struct {
	pass uint8
	drop uint8
}

func (s *stream) begin(req port.Request, dropped bool) {
	if req.Kind != port.MemWrite && req.Kind != port.CfgWrite {
		return
	}
	n := port.Beats(req.Addr, req.Len)
	if dropped {
		s.drop = n
	} else {
		s.pass += n
	}
}

// NewFaulty returns dev with an injected fault.
func NewFaulty(dev port.Device, fault Fault) *Faulty {
	return &Faulty{dev: dev, fault: fault}
}

// Injected returns the number of events that the fault has affected.
func (f *Faulty) Injected() uint64 {
	n := f.events - min(f.events, f.fault.After)
	if f.fault.Count > 0 {
		n = min(n, f.fault.Count)
	}
	return n
}

// affects reports whether the fault affects the next event.
func (f *Faulty) affects() bool {
	return f.events >= f.fault.After && (f.fault.Count == 0 || f.events-f.fault.After < f.fault.Count)
}

// event counts an event and reports whether the fault affects it.
func (f *Faulty) event() bool {
	affected := f.affects()
	f.events++
	return affected
}

// Target returns the device's outputs, or those of a dead device.
func (f *Faulty) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if f.dead {
		return port.Completion{}, true, true
	}
	cpl, reqReady, dataReady = f.dev.Target()
	if f.target.drop > 0 {
		return cpl, false, true
	}
	return cpl, reqReady, dataReady
}

// Initiator returns the device's outputs without the dropped requests.
func (f *Faulty) Initiator() (req port.Request, beat port.Beat) {
	if f.dead {
		return port.Request{}, port.Beat{}
	}
	req, beat = f.dev.Initiator()
	switch {
	case f.device.drop > 0:
		return port.Request{}, port.Beat{}
	case f.message(req):
		req = port.Request{}
		if f.device.pass == 0 {
			beat = port.Beat{}
		}
	}
	return req, beat
}

// message reports whether req is a message to be dropped.
func (f *Faulty) message(req port.Request) bool {
	if f.fault.Kind != LostInterrupt || req.Kind != port.MemWrite {
		return false
	}
	if req.Addr < messageBase || req.Addr >= messageEnd {
		return false
	}
	return f.affects()
}

// Tick advances the device by one clock.
func (f *Faulty) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if f.dead {
		return
	}
	req, beat = f.filterTarget(req, beat)
	if f.dead {
		return
	}
	reqReady, dataReady = f.filterInitiator(reqReady, dataReady)
	cpl = f.answers.filter(cpl)
	f.dev.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// filterTarget returns the host's request and beat as the device sees them.
func (f *Faulty) filterTarget(req port.Request, beat port.Beat) (port.Request, port.Beat) {
	_, reqTaken, beatTaken := f.Target()
	reqTaken = reqTaken && req.Kind != port.None
	beatTaken = beatTaken && beat.Valid
	earlier := f.target.pass > 0 || f.target.drop > 0
	if f.target.drop > 0 {
		req = port.Request{} // Target reported that no header is taken
	}
	if earlier {
		beat = f.targetBeat(beat, beatTaken)
	}
	if reqTaken {
		drop := f.targetRequest(req)
		f.target.begin(req, drop)
		if drop {
			req = port.Request{}
		}
	}
	if !earlier && (f.target.pass > 0 || f.target.drop > 0) {
		beat = f.targetBeat(beat, beatTaken)
	}
	return req, beat
}

// targetRequest counts a request that is taken and reports whether it is
// dropped.
func (f *Faulty) targetRequest(req port.Request) bool {
	f.bar0 = req.Kind == port.CfgWrite && req.Addr == pcicfg.BAR0
	memory := req.Kind == port.MemRead || req.Kind == port.MemWrite
	switch f.fault.Kind {
	case LostDoorbell:
		return f.doorbell(req) && f.event()
	case DeadDoorbell:
		f.dead = f.doorbell(req) && f.event()
	case DeadRequest:
		f.dead = memory && f.event()
	case IgnoreWrite:
		f.writes.begin(req)
	}
	return false
}

// targetBeat counts one beat and returns it as the device sees it.
func (f *Faulty) targetBeat(beat port.Beat, taken bool) port.Beat {
	if f.target.drop > 0 {
		if taken {
			f.target.drop--
		}
		return port.Beat{}
	}
	if taken {
		f.target.pass--
		if f.bar0 {
			f.base = beat.Data & 0xffffffff &^ pcicfg.BARFlags
		}
	}
	if f.fault.Kind == IgnoreWrite && beat.Valid {
		beat = f.ignore(beat, taken)
	}
	return beat
}

func (f *Faulty) doorbell(req port.Request) bool {
	if req.Kind != port.MemWrite {
		return false
	}
	for _, off := range f.fault.Doorbells {
		if at := f.base + off; at >= req.Addr && at < req.Addr+4*uint64(req.Len) {
			return true
		}
	}
	return false
}

// filterInitiator returns the host's readiness as the device sees it.
func (f *Faulty) filterInitiator(reqReady, dataReady bool) (bool, bool) {
	req, beat := f.dev.Initiator()
	if f.device.drop > 0 {
		if beat.Valid {
			f.device.drop--
		}
		return false, true
	}
	if f.message(req) {
		if f.device.pass > 0 {
			if beat.Valid && dataReady {
				f.device.pass--
			}
			return false, dataReady
		}
		f.event()
		f.device.begin(req, true)
		return true, false
	}
	if req.Kind == port.MemRead && reqReady {
		f.read(req)
	}
	if req.Kind == port.MemWrite && reqReady {
		f.passMessage(req)
		f.device.begin(req, false)
	}
	if beat.Valid && dataReady {
		f.device.pass--
	}
	return reqReady, dataReady
}

// passMessage counts a message that passes.
func (f *Faulty) passMessage(req port.Request) {
	if f.fault.Kind == LostInterrupt && req.Addr >= messageBase && req.Addr < messageEnd {
		f.events++
	}
}

// IdleFor returns the device's value; a dead device is always idle.
func (f *Faulty) IdleFor() uint64 {
	switch {
	case f.dead:
		return math.MaxUint64
	case f.target.drop > 0 || f.device.drop > 0:
		return 0
	}
	return min(f.dev.IdleFor(), f.answers.idleFor())
}

// Skip advances the device by n clocks without input.
func (f *Faulty) Skip(n uint64) {
	if !f.dead {
		f.answers.clock += n
		f.dev.Skip(n)
	}
}

// Run runs the device if it is a Runner; otherwise it runs no clock.
func (f *Faulty) Run(n uint64) uint64 {
	n = min(n, f.answers.idleFor())
	r, ok := f.dev.(Runner)
	if !ok || n == 0 || f.dead || f.target.drop > 0 || f.device.drop > 0 {
		return 0
	}
	n = r.Run(n)
	f.answers.clock += n
	return n
}
