package inproc

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// beatBytes is the bandwidth that a beat takes.
const beatBytes = 8

// maxAnswers is room for the completions of 256 reads of the largest length, so
// that every tag of the device can be in flight.
const maxAnswers = 256 * port.MaxLen / 2

type upKind uint8

const (
	upHeader upKind = iota
	upBeat
	upCompletion
)

// An upItem is an item on its way to the host; at is the clock of its arrival.
type upItem struct {
	at   uint64
	kind upKind
	req  port.Request
	beat port.Beat
	cpl  port.Completion
}

type downRequest struct {
	at  uint64
	req port.Request
}

type downBeat struct {
	at   uint64
	beat port.Beat
}

// A downCompletion arrives no earlier than the given number of host writes.
type downCompletion struct {
	at     uint64
	writes uint64
	cpl    port.Completion
}

// wire is the connection between the ports and the host.
type wire struct {
	latency uint64
	rate    int // bytes per clock
	burst   int // largest saved bandwidth of a direction

	up       ring[upItem]
	upCredit int // bytes
	upOwed   uint8
	reqSince uint64 // clock in which the waiting request appeared, + 1
	cplSince uint64 // clock in which the waiting completion appeared, + 1

	answers      ring[port.Completion] // of device reads, not yet on the wire
	reserved     int                   // beats in answers, or still to be added
	downCredit   int
	beatsTurn    bool // a completion was sent last
	requests     ring[downRequest]
	beats        ring[downBeat]
	completions  ring[downCompletion]
	tx           transmit
	writesSent   uint64 // host memory writes
	writesDone   uint64 // host memory writes completely taken by the device
	downOwed     uint8
	downIsMemory bool
}

// transmit is a host write with beats still to be sent.
type transmit struct {
	addr uint64 // of the next byte
	data []byte
}

func newWire(opt Options) wire {
	inFlight := opt.Latency + 2*port.MaxLen
	return wire{
		latency:     uint64(opt.Latency),
		rate:        opt.BytesPerClock,
		burst:       opt.BytesPerClock + beatBytes - 1,
		up:          newRing[upItem](3 * (opt.Latency + 1)),
		answers:     newRing[port.Completion](maxAnswers),
		requests:    newRing[downRequest](inFlight),
		beats:       newRing[downBeat](inFlight),
		completions: newRing[downCompletion](inFlight),
	}
}

// clock runs one clock of the host, the wire and the device.
func (l *Link) clock() {
	w := &l.wire
	for !w.up.empty() && w.up.front().at <= l.now && l.down == nil {
		it := w.up.front()
		l.receive(it)
		w.up.pop()
	}
	w.addCredit(1)
	w.send(l.now)
	cpl, reqReady, dataReady := l.dev.Target()
	req, beat := l.dev.Initiator()
	inReq, inBeat, inCpl := w.deliver(l.now, reqReady, dataReady)
	upReq, upBeat, upCpl := w.accept(l.now, req, beat, cpl)
	l.dev.Tick(inReq, inBeat, upCpl, inCpl, upReq, upBeat)
	l.now++
}

// advance runs one clock, or skips clocks without activity up to limit.
func (l *Link) advance(limit uint64) {
	if next := l.wire.quiet(l.now, limit); next > l.now {
		if n := l.idle(next - l.now); n > 0 {
			l.wire.addCredit(n)
			l.now += n
			return
		}
	}
	l.clock()
}

// idle lets the device run up to n clocks without input, n at least 1, in which
// it sends nothing, and returns their number.
func (l *Link) idle(n uint64) uint64 {
	if sleep := min(l.dev.IdleFor(), n); sleep > 0 {
		l.dev.Skip(sleep)
		return sleep
	}
	if l.runner == nil {
		return 0
	}
	if n = l.runner.Run(n); n > 0 {
		l.wire.reqSince, l.wire.cplSince = 0, 0
	}
	return n
}

// quiet returns the clock, at most limit, before which nothing moves on the
// wire unless the device sends something.
func (w *wire) quiet(now, limit uint64) uint64 {
	if !w.answers.empty() || len(w.tx.data) > 0 {
		return now
	}
	if !w.up.empty() {
		limit = min(limit, w.up.front().at)
	}
	if !w.requests.empty() {
		limit = min(limit, w.requests.front().at)
	}
	if !w.beats.empty() {
		limit = min(limit, w.beats.front().at)
	}
	if !w.completions.empty() {
		limit = min(limit, w.completions.front().at)
	}
	return limit
}

// addCredit adds the bandwidth of n clocks to both directions.
func (w *wire) addCredit(n uint64) {
	c := w.burst
	if n < uint64(w.burst) {
		c = int(n) * w.rate
	}
	w.upCredit = min(w.burst, w.upCredit+c)
	w.downCredit = min(w.burst, w.downCredit+c)
}

// send sends as much to the device as the bandwidth allows, alternating
// completions and the host's write.
func (w *wire) send(now uint64) {
	for w.downCredit >= beatBytes {
		answer := !w.answers.empty() && !w.completions.full()
		beat := len(w.tx.data) > 0 && !w.beats.full()
		switch {
		case answer && (!beat || !w.beatsTurn):
			w.sendAnswer(now)
			w.beatsTurn = true
		case beat:
			w.sendBeat(now)
			w.beatsTurn = false
		default:
			return
		}
		w.downCredit -= beatBytes
	}
}

func (w *wire) sendAnswer(now uint64) {
	w.completions.push(downCompletion{now + w.latency, w.writesSent, *w.answers.front()})
	w.answers.pop()
	w.reserved--
}

func (w *wire) sendBeat(now uint64) {
	var b port.Beat
	lane := int(w.tx.addr & 7)
	n := min(beatBytes-lane, len(w.tx.data))
	for i, v := range w.tx.data[:n] {
		b.Data |= uint64(v) << (8 * (lane + i))
		b.Enable |= 1 << (lane + i)
	}
	w.tx.addr, w.tx.data = w.tx.addr+uint64(n), w.tx.data[n:]
	b.Valid, b.Last = true, len(w.tx.data) == 0
	w.beats.push(downBeat{now + w.latency, b})
}

// deliver returns the device's inputs. A header is shown no earlier than the
// last beat of the write before it is taken, and a beat no earlier than its
// header is taken.
func (w *wire) deliver(now uint64, reqReady, dataReady bool) (req port.Request, beat port.Beat, cpl port.Completion) {
	if !w.completions.empty() {
		if c := w.completions.front(); c.at <= now && c.writes <= w.writesDone {
			cpl = c.cpl
			w.completions.pop()
		}
	}
	arrived := !w.beats.empty() && w.beats.front().at <= now
	if w.downOwed > 0 && arrived {
		beat = w.takeBeat(dataReady)
	}
	if w.downOwed > 0 || w.requests.empty() || w.requests.front().at > now {
		return req, beat, cpl
	}
	req = w.requests.front().req
	if !reqReady {
		return req, beat, cpl
	}
	w.requests.pop()
	if req.Kind != port.MemWrite && req.Kind != port.CfgWrite {
		return req, beat, cpl
	}
	w.downOwed, w.downIsMemory = port.Beats(req.Addr, req.Len), req.Kind == port.MemWrite
	if !beat.Valid && !w.beats.empty() && w.beats.front().at <= now {
		beat = w.takeBeat(dataReady)
	}
	return req, beat, cpl
}

// takeBeat returns the oldest beat, which leaves the wire if the device is
// ready.
func (w *wire) takeBeat(ready bool) port.Beat {
	b := w.beats.front().beat
	if !ready {
		return b
	}
	w.beats.pop()
	w.downOwed--
	if w.downOwed == 0 && w.downIsMemory {
		w.writesDone++
	}
	return b
}

// accept returns which of the device's outputs go onto the wire. A header or a
// completion waits for the beats of the write before it. A write and a
// completion go in the order in which they appeared; in the same clock the
// write is first.
func (w *wire) accept(now uint64, req port.Request, beat port.Beat, cpl port.Completion) (upReq, upBeat, upCpl bool) {
	w.reqSince = port.Since(w.reqSince, now, req.Kind != port.None)
	w.cplSince = port.Since(w.cplSince, now, cpl.Status != port.CplNone)
	older := w.cplSince != 0 && (req.Kind != port.MemWrite || w.cplSince < w.reqSince)
	if older && w.upOwed == 0 {
		upCpl = w.acceptCompletion(now, cpl)
	}
	if w.upOwed > 0 && beat.Valid {
		upBeat = w.acceptBeat(now, beat)
	}
	if w.upOwed == 0 && (!older || upCpl || req.Kind != port.MemWrite) {
		upReq = w.acceptRequest(now, req)
	}
	if !upBeat && w.upOwed > 0 && beat.Valid {
		upBeat = w.acceptBeat(now, beat)
	}
	if !upCpl && w.upOwed == 0 && w.cplSince != 0 {
		upCpl = w.acceptCompletion(now, cpl)
	}
	if upReq {
		w.reqSince = 0
	}
	if upCpl {
		w.cplSince = 0
	}
	return upReq, upBeat, upCpl
}

func (w *wire) acceptRequest(now uint64, req port.Request) bool {
	beats := port.Beats(req.Addr, req.Len)
	switch req.Kind {
	case port.None:
		return false
	case port.MemRead:
		if w.reserved+int(beats) > maxAnswers {
			return false
		}
		w.reserved += int(beats)
	case port.MemWrite:
		w.upOwed = beats
	}
	w.up.push(upItem{at: now + w.latency, kind: upHeader, req: req})
	return true
}

func (w *wire) acceptBeat(now uint64, beat port.Beat) bool {
	if w.upCredit < beatBytes {
		return false
	}
	w.upCredit -= beatBytes
	w.upOwed--
	w.up.push(upItem{at: now + w.latency, kind: upBeat, beat: beat})
	return true
}

func (w *wire) acceptCompletion(now uint64, cpl port.Completion) bool {
	if w.upCredit < beatBytes {
		return false
	}
	w.upCredit -= beatBytes
	w.up.push(upItem{at: now + w.latency, kind: upCompletion, cpl: cpl})
	return true
}
