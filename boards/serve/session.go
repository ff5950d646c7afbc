package serve

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus/endpoint"
)

// begin begins a session of the endpoint after the link's.
func (b *Board) begin(ch line) {
	n, _, cause := ch.Session()
	b.finish(cause)
	b.seen = n
	b.up = true
	b.inSession.Store(true)
	b.n++
	b.forget()
	b.report(Session{N: b.n, Up: true})
}

// watch ends the session if the link's has ended.
func (b *Board) watch(ch line) {
	if n, up, cause := ch.Session(); b.up && n == b.seen && !up {
		b.finish(cause)
	}
}

// finish ends the session, if there is one.
func (b *Board) finish(cause error) {
	if !b.up {
		return
	}
	b.up, b.over = false, true
	b.inSession.Store(false)
	b.forget()
	b.report(Session{N: b.n, Cause: cause})
}

// forget drops everything in flight.
func (b *Board) forget() {
	b.end.Reset()
	if b.up {
		b.end.SetMaxPacket((*b.ch.Load()).MaxPacket())
	}
	b.held, b.unsent = nil, nil
}

// ends reports whether the only session is over. If so, the channel of a
// pseudo-terminal sends nothing more. A host that the channel has just answered still
// gets its session.
func (b *Board) ends(ch line) bool {
	if !b.single || !b.over || b.up {
		return false
	}
	b.discard(true)
	offering := ch.Offering() // before Session, because an offer becomes a session
	n, _, _ := ch.Session()
	over := n == b.seen && !offering
	b.discard(over)
	return over
}

// discard makes a pseudo-terminal drop what is written to it, or not.
func (b *Board) discard(on bool) {
	if b.turn != nil {
		b.turn.discard.Store(on)
	}
}

func (b *Board) report(s Session) {
	if b.opt.OnSession != nil {
		b.opt.OnSession(s)
	}
	if b.opt.Log == nil {
		return
	}
	name := "board"
	if b.opt.Name != "" {
		name += " " + b.opt.Name
	}
	if s.Up {
		fmt.Fprintf(b.opt.Log, "%s: session %d begins\n", name, s.N)
		return
	}
	fmt.Fprintf(b.opt.Log, "%s: session %d ends: %v; %s\n", name, s.N, s.Cause, traffic(b.end.Stats()))
}

// traffic returns the board's traffic so far, in one line.
func traffic(s endpoint.Stats) string {
	refused := s.Malformed + s.Unsupported + s.Poisoned + s.Unexpected
	return fmt.Sprintf("so far %d reads and %d writes of the host, %d and %d of the device, %d packets refused",
		s.HostReads, s.HostWrites, s.DeviceReads, s.DeviceWrites, refused)
}
