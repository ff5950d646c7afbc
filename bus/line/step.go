package line

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// clocksAt returns the number of device clocks at time t.
func (l *Line) clocksAt(t time.Duration) uint64 {
	hi, lo := bits.Mul64(uint64(t), l.opt.Hz)
	q, _ := bits.Div64(hi, lo, uint64(time.Second))
	return q
}

// timeOf returns the earliest time at which n clocks have passed.
func (l *Line) timeOf(n uint64) time.Duration {
	hi, lo := bits.Mul64(n, uint64(time.Second))
	lo, carry := bits.Add64(lo, l.opt.Hz-1, 0)
	q, _ := bits.Div64(hi+carry, lo, l.opt.Hz)
	return time.Duration(q)
}

// step advances to the next event, or to limit if there is none before it.
func (l *Line) step(limit time.Duration) {
	at, what := limit, -1
	for i := range l.ends {
		if due, ok := l.ends[i].next(); ok && due < at {
			at, what = due, i
		}
	}
	for i := range l.ends {
		if due, ok := l.ends[i].link.Next(); ok && max(due, l.now) < at {
			at, what = max(due, l.now), 2+i
		}
	}
	if l.runDevice(at) {
		l.event(what)
	}
	l.settle()
}

// event handles a due event: 0 and 1 are arrivals from an end, 2 and 3 timers.
func (l *Line) event(what int) {
	switch what {
	case host, board:
		e := &l.ends[what]
		b := e.take()
		l.feed(1-what, b)
		e.done(b)
	case 2 + host, 2 + board:
		l.do(what-2, func(link *datalink.Link, out *datalink.Output) { link.Tick(l.now, out) })
	}
}

// runDevice runs the device until a time and reports whether it got there. If
// the device has something to send earlier, runDevice sends that and stops.
func (l *Line) runDevice(at time.Duration) bool {
	target := l.clocksAt(at)
	for l.clocks < target {
		ran := l.dev.Run(target - l.clocks)
		l.clocks += ran
		if l.clocks == target {
			break
		}
		l.now = max(l.now, l.timeOf(l.clocks))
		if l.sendDevice() {
			return false
		}
		if ran == 0 && l.dev.Idle() == math.MaxUint64 {
			l.clocks = target // the device has stopped for good
		}
	}
	l.now = at
	return !l.sendDevice()
}

// sendDevice passes packets of the device to the link and reports whether there
// were any. If there is no room for reads, other packets pass them.
func (l *Line) sendDevice() (any bool) {
	if l.ends[board].link.State() != datalink.Up {
		return false
	}
	if l.hold {
		l.hold = false
		l.dev.HoldReads(false)
	}
	for {
		if l.held == nil {
			packet, ok := l.dev.Next()
			if !ok {
				return any
			}
			l.held = packet
		}
		err := l.sendBoard(l.held)
		switch {
		case err == nil:
			l.held, any = nil, true
		case !errors.Is(err, datalink.ErrFull):
			l.held = nil // too long for the session, or no session
		case tlp.KindOf(l.held[0]).Class() == tlp.NonPosted && !l.hold:
			l.held, l.hold = nil, true
			l.dev.HoldReads(true)
		default:
			return any
		}
	}
}

func (l *Line) sendBoard(packet []byte) (err error) {
	l.do(board, func(link *datalink.Link, out *datalink.Output) { err = link.Send(packet, l.now, out) })
	return err
}

// A sink passes the frames that arrive at an end to its link.
type sink struct {
	l   *Line
	end int
}

func (s sink) Frame(f []byte) {
	s.l.do(s.end, func(link *datalink.Link, out *datalink.Output) { link.Receive(f, s.l.now, out) })
}

func (sink) Text([]byte) {}
func (sink) Damaged(int) {}

// feed decodes bytes that arrive at an end.
func (l *Line) feed(end int, b []byte) { l.ends[end].dec.Feed(b, sink{l, end}) }

// do calls f for the link of an end and handles its output.
func (l *Line) do(end int, f func(link *datalink.Link, out *datalink.Output)) {
	e := &l.ends[end]
	out := &e.out
	out.Reset()
	f(e.link, out)
	if end == host {
		l.hostActed(out)
	} else {
		l.boardActed(out)
	}
	for i := range out.Frames.Len() {
		if e.send(out.Frames.At(i), l.now, &l.opt) {
			l.unplug()
			return
		}
	}
}

// hostActed handles the output of the host's link.
func (l *Line) hostActed(out *datalink.Output) {
	p := l.port
	if p == nil {
		return
	}
	for i := range out.Packets.Len() {
		p.arrived.push(out.Packets.At(i))
	}
	if err := l.ends[host].link.Err(); err != nil {
		p.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, err))
	}
}

// boardActed handles the output of the board's link. It first drops packets of
// an earlier session.
func (l *Line) boardActed(out *datalink.Output) {
	if n := l.ends[board].link.Stats().Sessions; n != l.sessions {
		l.sessions = n
		l.resets++
		l.arrived.clear()
		l.held, l.hold = nil, false
		l.dev.Reset()
		l.dev.SetMaxPacket(l.ends[board].link.MaxPacket())
	}
	for i := range out.Packets.Len() {
		l.arrived.push(out.Packets.At(i))
	}
}

// settle handles work of the board that takes no time: it opens the next
// session when one has ended, and passes packets to the device while it has
// room. The credits of a packet are returned when the device takes it.
func (l *Line) settle() {
	if l.ends[board].link.State() == datalink.Down {
		l.do(board, func(link *datalink.Link, out *datalink.Output) { link.Open(l.rng.Uint32(), l.now, out) })
	}
	for !l.arrived.empty() {
		if errors.Is(l.dev.Receive(l.arrived.front()), endpoint.ErrFull) {
			return
		}
		packet := l.arrived.pop()
		l.do(board, func(link *datalink.Link, out *datalink.Output) { link.Release(packet, l.now, out) })
		l.arrived.done(packet)
	}
}
