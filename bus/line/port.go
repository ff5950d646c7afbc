package line

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// packets is a queue of copied packets that reuses their memory.
type packets struct {
	queue [][]byte
	spare [][]byte
}

func (q *packets) empty() bool { return len(q.queue) == 0 }

func (q *packets) front() []byte { return q.queue[0] }

func (q *packets) push(packet []byte) {
	var b []byte
	if n := len(q.spare); n > 0 {
		b, q.spare = q.spare[n-1][:0], q.spare[:n-1]
	}
	q.queue = append(q.queue, append(b, packet...))
}

// pop returns the oldest packet. The caller returns its memory with done.
func (q *packets) pop() []byte {
	b := q.queue[0]
	q.queue = append(q.queue[:0], q.queue[1:]...)
	return b
}

func (q *packets) done(b []byte) { q.spare = append(q.spare, b) }

func (q *packets) clear() {
	for !q.empty() {
		q.done(q.pop())
	}
}

// A port is the host's end of one session.
type port struct {
	line    *Line
	start   time.Duration
	down    error
	arrived packets
	given   []byte // returned by the last Receive
	full    int    // packets waiting when the last Send found the queue full; 0: it did not

	interrupted bool // Interrupt was called, and no Receive has returned for it
}

// fail takes the port down. The first cause stays.
func (p *port) fail(err error) {
	if p.down == nil {
		p.down = err
	}
}

func (p *port) Send(packet []byte) (err error) {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.down != nil {
		return p.down
	}
	l.do(host, func(link *datalink.Link, out *datalink.Output) { err = link.Send(packet, l.now, out) })
	if p.down != nil {
		return p.down
	}
	if errors.Is(err, datalink.ErrFull) {
		_, p.full = l.ends[host].link.InFlight()
	}
	return err
}

// maxWait is the longest Receive, so that time cannot wrap.
const maxWait = 1 << 48

func (p *port) Receive(timeout time.Duration) ([]byte, error) {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	p.release()
	deadline := l.now + min(max(timeout, 0), maxWait)
	for {
		switch {
		case !p.arrived.empty():
			p.given = p.arrived.pop()
			return p.given, nil
		case p.down != nil:
			return nil, p.down
		case p.interrupted:
			p.interrupted = false
			return nil, nil
		case p.roomAgain() || l.now >= deadline:
			return nil, nil
		}
		l.step(deadline)
	}
}

// release returns the credits of the packet that Receive returned last.
func (p *port) release() {
	given := p.given
	if given == nil {
		return
	}
	p.given = nil
	if l := p.line; p.down == nil {
		l.do(host, func(link *datalink.Link, out *datalink.Output) { link.Release(given, l.now, out) })
	}
	p.arrived.done(given)
}

// roomAgain reports, once, whether a Send that found the queue full may
// succeed.
func (p *port) roomAgain() bool {
	if _, waiting := p.line.ends[host].link.InFlight(); p.full == 0 || waiting >= p.full {
		return false
	}
	p.full = 0
	return true
}

// Flush does nothing: Send leaves nothing to be written.
func (p *port) Flush() {}

// Interrupt waits for a Receive in progress: its time is virtual.
func (p *port) Interrupt() {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.interrupted = true
}

// Ahead returns 0: the options of the root port allow for the rate of the line.
func (p *port) Ahead(int) time.Duration { return 0 }

func (p *port) MaxPacket() int {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	return p.line.ends[host].link.MaxPacket()
}

func (p *port) Now() time.Duration {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	return p.line.now - p.start
}

func (p *port) Close() error {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.port == p && p.down == nil {
		l.do(host, func(link *datalink.Link, out *datalink.Output) { link.Close(out) })
	}
	p.arrived.clear()
	p.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, bus.ErrClosed))
	return nil
}
