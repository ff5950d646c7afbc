package rootport

import (
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A request of the host, by its tag.
type request struct {
	state    requestState
	kind     tlp.Kind
	addr     uint64
	size     int // bytes asked for
	left     int // bytes to come
	lower    uint8
	dst      []byte // for them; nil if nobody wants them
	deadline time.Duration
}

type requestState uint8

const (
	tagFree requestState = iota
	tagWaits
	tagLost // given up: what comes for it is dropped
)

// requests are those of the host that are not answered.
type requests struct {
	tags    []request
	next    uint8   // tag of the next one, if it is free
	waiting []uint8 // tags that wait, oldest first
	failure failure // of the call
}

// A failure is why a call fails: the first thing that went wrong, the lowest
// address if that was one kind.
type failure struct {
	kind error
	addr uint64
	size int
	why  string
}

func (q *requests) init(opt Options) {
	q.tags = make([]request, 1<<opt.TagBits)
	q.waiting = make([]uint8, 0, len(q.tags))
}

// reset begins a session. Tags go on from where they were, so that one of the
// session before is not the first to be used again.
func (q *requests) reset() {
	clear(q.tags)
	q.waiting = q.waiting[:0]
}

// take returns a tag that is free.
func (q *requests) take() (tag uint8, ok bool) {
	for range q.tags {
		tag = q.next
		q.next = uint8((int(tag) + 1) % len(q.tags))
		if q.tags[tag].state == tagFree {
			return tag, true
		}
	}
	return 0, false
}

// leave takes a tag from those that wait, for another state.
func (q *requests) leave(tag uint8, state requestState) {
	if i := slices.Index(q.waiting, tag); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.tags[tag].state, q.tags[tag].dst = state, nil
}

func (q *requests) fail(kind error, addr uint64, size int, why string) {
	f := &q.failure
	if f.kind == nil || f.kind == kind && addr < f.addr {
		*f = failure{kind, addr, size, why}
	}
}

// expire gives up what was not answered in time.
func (r *RootPort) expire() {
	q := &r.requests
	for now := r.now(); len(q.waiting) > 0; {
		tag := q.waiting[0]
		req := &q.tags[tag]
		if now < req.deadline {
			return
		}
		r.stats.Timeouts++
		q.fail(bus.ErrTimeout, req.addr, req.size, "")
		q.leave(tag, tagLost)
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
