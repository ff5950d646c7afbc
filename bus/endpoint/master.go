package endpoint

import (
	"math"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// reserve is the largest number of packets of one write: bytes may be disabled
// at the ends of its first and of its last beat.
const reserve = 3

// master turns requests of the initiator port into packets, and completions of
// the host into completions of the port.
type master struct {
	req      port.Request // the write whose beats are due
	owed     int          // beats still due
	got      int
	data     [beatBytes * maxBeats]byte
	enable   [beatBytes * maxBeats]bool
	reqSince uint64 // clock in which the waiting request appeared, + 1
	cplSince uint64 // clock in which the target port's completion appeared, + 1

	tags     [256]outstanding // by tag of the packet
	used     int              // tags that are not free
	waiting  int              // reads without a completion
	deadline uint64           // no read times out before this clock
	down     ring[arriving]
}

// An outstanding is a read of the device in flight.
type outstanding struct {
	state state
	req   port.Request
	id    tlp.ID // of the requester
	got   int    // bytes received
	until uint64
}

type state uint8

const (
	tagFree  state = iota
	tagWaits       // waits for the host
	tagLost        // timed out; late completions are dropped
)

// An arriving beat of a completion is due after the given number of posted
// writes of the host.
type arriving struct {
	posted uint64
	cpl    port.Completion
}

func newMaster() master {
	return master{deadline: math.MaxUint64, down: newRing[arriving](256 * maxBeats)}
}

// reset ends the reads in flight and frees all tags of the old session.
func (m *master) reset(s *Stats) {
	for i := range m.tags {
		if m.tags[i].state == tagWaits {
			m.fail(&m.tags[i], port.CplAbort)
			s.Aborted++
		}
		m.tags[i] = outstanding{}
	}
	m.used, m.waiting, m.deadline = 0, 0, math.MaxUint64
}

// fail ends a read at the device. It does not wait for writes.
func (m *master) fail(o *outstanding, status port.Status) {
	m.push(0, port.Completion{Tag: o.req.Tag, Status: status, Last: true})
	m.waiting--
}

func (m *master) push(posted uint64, cpl port.Completion) {
	*m.down.push() = arriving{posted, cpl}
}

// room reports whether there is room for the completion of one more read.
func (m *master) room() bool { return m.down.n+maxBeats*(m.waiting+1) <= len(m.down.buf) }

// deliverable reports whether the oldest beat for the device is due after done
// writes.
func (m *master) deliverable(done uint64) bool {
	return !m.down.empty() && m.down.front().posted <= done
}

func (m *master) deliver(done uint64) (cpl port.Completion) {
	if m.deliverable(done) {
		cpl = m.down.front().cpl
		m.down.pop()
	}
	return cpl
}

// left returns the clocks until a read may time out, or math.MaxUint64 if none
// is waiting.
func (m *master) left(now uint64) uint64 {
	if m.waiting == 0 {
		return math.MaxUint64
	}
	return m.deadline - min(now, m.deadline)
}

// expire ends reads that have timed out. Their tags stay reserved until the
// completion has arrived or the session has ended.
func (m *master) expire(now uint64, s *Stats) {
	if m.waiting == 0 || now < m.deadline {
		return
	}
	m.deadline = math.MaxUint64
	for i := range m.tags {
		o := &m.tags[i]
		if o.state != tagWaits {
			continue
		}
		if now < o.until {
			m.deadline = min(m.deadline, o.until)
			continue
		}
		m.fail(o, port.CplAbort)
		o.state = tagLost
		s.Timeouts++
	}
}
