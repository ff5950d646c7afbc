package rootport

import (
	"fmt"
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A request is a request of the host, by its tag.
type request struct {
	state    requestState
	kind     tlp.Kind
	addr     uint64
	size     int // bytes requested
	left     int // bytes remaining
	lower    uint8
	dst      []byte // destination; nil if the data is not wanted
	deadline time.Duration
	sent     time.Duration
	lost     time.Duration // when it was lost
}

type requestState uint8

const (
	tagFree requestState = iota
	tagWaits
	tagLost // timed out; a late completion is dropped
)

// requests are the host's requests in flight.
type requests struct {
	tags    []request
	rest    time.Duration // before a lost tag is used again; 0: not in this session
	next    uint8         // next tag to use, if it is free
	waiting []uint8       // tags in flight, oldest first
	failure failure       // of the current call
}

// A failure is why a call fails: the first error, or of equal errors the one
// with the lowest address.
type failure struct {
	kind error
	addr uint64
	size int
	why  string
}

func (q *requests) init(opt Options) {
	q.tags, q.rest = make([]request, 1<<opt.TagBits), opt.Quarantine
	q.waiting = make([]uint8, 0, len(q.tags))
}

// reset begins a session. Tags continue where they were, so that a tag of the
// last session is not reused first.
func (q *requests) reset() {
	clear(q.tags)
	q.waiting = q.waiting[:0]
}

// take returns a tag that is free, or was lost long enough ago.
func (q *requests) take(now time.Duration) (tag uint8, ok bool) {
	for range q.tags {
		tag = q.next
		q.next = uint8((int(tag) + 1) % len(q.tags))
		t := &q.tags[tag]
		if t.state == tagFree || t.state == tagLost && q.rest != 0 && now >= t.lost+q.rest {
			return tag, true
		}
	}
	return 0, false
}

// leave moves a tag in flight to another state.
func (q *requests) leave(tag uint8, state requestState, now time.Duration) {
	if i := slices.Index(q.waiting, tag); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.tags[tag].state, q.tags[tag].dst, q.tags[tag].lost = state, nil, now
}

func (q *requests) fail(kind error, addr uint64, size int, why string) {
	f := &q.failure
	if f.kind == nil || f.kind == kind && addr < f.addr {
		*f = failure{kind, addr, size, why}
	}
}

// expire times out overdue requests.
func (r *RootPort) expire() {
	q := &r.requests
	now := r.now()
	for i := 0; i < len(q.waiting); {
		tag := q.waiting[i]
		req := &q.tags[tag]
		if now < req.deadline {
			i++
			continue
		}
		r.stats.Timeouts++
		q.fail(bus.ErrTimeout, req.addr, req.size, fmt.Sprintf("no completion for %v", (req.deadline-req.sent).Round(time.Millisecond)))
		q.leave(tag, tagLost, now)
	}
}

// await serves the device until at most n requests wait.
func (r *RootPort) await(n int) {
	q := &r.requests
	for {
		r.expire()
		if len(q.waiting) <= n || r.down != nil {
			return
		}
		r.pump(q.tags[q.waiting[0]].deadline)
	}
}
