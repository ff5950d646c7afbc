package noc_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/noc"
)

// A pending is a read as its reader and the host know it.
type pending struct {
	own, sent uint8
	offered   uint64
	began     uint64
	blocked   uint64 // clocks of the run in which a refusal could not be passed on, at the beginning
	beats     int    // that the host still sends
	due       uint64 // clock of the host's first beat
	ended     bool   // for its reader
}

// A limited is an initiator with time-out, its readers and a host that may answer
// late, partly or never.
type limited struct {
	t      *testing.T
	m      noc.Initiator
	rng    *rand.Rand
	period uint64
	clock  uint64

	offers  [3]*pending // of the readers, until they are taken
	reads   []*pending  // that the host has not answered, or the reader has not seen end
	shown   uint8       // tag of the header that was offered and not taken
	held    bool
	blocked uint64

	lost, answered, expired, failed, spared, slept int
}

// spareTags are the tags that no reader has.
var spareTags = []uint8{0x30, 0x31, 0x32, 0x33}

func (l *limited) sweep() noc.Sweep {
	return noc.Sweep{Open: l.clock%l.period < 64, At: uint8(l.clock % 64)}
}

// owing returns the read of a tag that the host has not answered.
func (l *limited) owing(tag uint8) *pending {
	for _, r := range l.reads {
		if r.sent == tag && r.beats > 0 {
			return r
		}
	}
	return nil
}

// waiting returns the read that a reader awaits under its own tag.
func (l *limited) waiting(own uint8) *pending {
	for _, r := range l.reads {
		if r.own == own && !r.ended {
			return r
		}
	}
	return nil
}

// offer makes the readers offer reads. Each of the two nodes uses 3 tags, the DMA
// engine 4.
func (l *limited) offer() (valid, tagless uint8) {
	s, busy := l.m.State(), l.m.Busy()
	for reader := range l.offers {
		own := uint8(reader)<<4 | uint8(l.rng.IntN(3+reader/2))
		if l.offers[reader] == nil && l.rng.IntN(4) == 0 && l.waiting(own) == nil {
			l.offers[reader] = &pending{own: own, offered: l.clock}
		}
		if o := l.offers[reader]; o != nil {
			valid |= 1 << reader
			if noc.Tagless(o.own, s, busy) {
				tagless |= 1 << reader
			}
		}
	}
	return valid, tagless
}

// answer returns the host's completion in this clock, and its read.
func (l *limited) answer(busy int) (port.Completion, *pending) {
	for _, i := range l.rng.Perm(len(l.reads)) {
		r := l.reads[i]
		if r.beats == 0 || r.due > l.clock || l.rng.IntN(100) >= busy {
			continue
		}
		if r.beats == 1 && l.rng.IntN(40) == 0 {
			r.due = math.MaxUint64 // some beats, and then silence
			l.lost++
			continue
		}
		r.beats--
		return port.Completion{Tag: r.sent, Status: port.CplSuccess, Last: r.beats == 0, Data: uint64(r.began)}, r
	}
	return port.Completion{}, nil
}

// taken checks a header that the port takes, or that is refused.
func (l *limited) taken(o noc.Offer, sent uint8) {
	r := l.offers[o.Source]
	l.offers[o.Source] = nil
	require.LessOrEqual(l.t, l.clock-r.offered, 8*l.period, "a read waits for a tag")
	r.began, r.blocked, r.sent = l.clock, l.blocked, sent
	if o.Refuse {
		require.NotNil(l.t, l.owing(r.own), "a read is refused though its tag is free")
		for _, tag := range spareTags {
			spare := l.owing(tag)
			require.True(l.t, spare != nil && spare.ended, "a read is refused though tag %#x is not retired", tag)
		}
		r.sent = 0xff
		l.failed++
	} else {
		require.Nil(l.t, l.owing(sent), "tag %#x is in use", sent)
		if l.held && sent != r.own || l.owing(r.own) != nil {
			require.Contains(l.t, spareTags, sent)
			l.spared++
		} else {
			require.Equal(l.t, r.own, sent)
		}
		r.beats, r.due = 1+l.rng.IntN(4), l.clock+1+l.rng.Uint64N(60)
		switch l.rng.IntN(30) {
		case 0:
			r.due = math.MaxUint64
			l.lost++
		case 1:
			r.due = l.clock + 1 + l.rng.Uint64N(6*l.period)
		}
	}
	l.reads = append(l.reads, r)
}

// arrive checks what the readers get, given the completion at the port and the read
// that it belongs to.
func (l *limited) arrive(got, cpl port.Completion, from *pending) {
	mine := from != nil && !from.ended
	if mine && l.m.Awaited()>>from.sent&1 == 0 { // it has ended, and its reader is told soon
		require.GreaterOrEqual(l.t, l.clock-from.began, l.period, "tag %#x", from.sent)
		mine = false
	}
	if !mine {
		if got.Status == port.CplNone {
			return
		}
		require.Equal(l.t, port.CplUnsupported, got.Status, "a completion that no reader awaits is dropped")
		r := l.waiting(got.Tag)
		require.NotNil(l.t, r, "tag %#x", got.Tag)
		r.ended = true
		if r.sent != 0xff {
			l.expired++
			require.GreaterOrEqual(l.t, l.clock-r.began, l.period, "tag %#x", r.sent)
		}
		return
	}
	want := cpl
	want.Tag = from.own
	require.Equal(l.t, want, got)
	if cpl.Last {
		from.ended = true
		l.answered++
	}
}

// step is one clock. busy is the percentage of clocks in which the host answers.
func (l *limited) step(busy int) {
	valid, tagless := l.offer()
	s := l.m.State()
	o := noc.Decide(valid, tagless, s, true, false, l.sweep().Open)
	var own, sent uint8
	if o.Sources != 0 {
		own = l.offers[o.Source].own
		sent = noc.Sent(own, s, l.m.Busy())
		require.True(l.t, !l.held || sent == l.shown && !o.Refuse, "an offered header changed")
	} else {
		require.False(l.t, l.held, "an offered header was withdrawn")
	}
	taken := noc.Taken(o, l.rng.IntN(3) != 0)
	if taken {
		l.taken(o, sent)
	}
	cpl, from := l.answer(busy)
	if l.m.Refusal().Valid && from != nil && !from.ended || taken && o.Refuse {
		l.blocked++
	}
	l.arrive(arrival(&l.m, cpl), cpl, from)
	before := l.m
	l.m.Tick(o, sent, own, taken, false, cpl, l.sweep(), false)
	if before.Sleeps(o, false) {
		require.Equal(l.t, before, l.m, "it changed while it slept")
		l.slept++
	}
	l.held, l.shown = o.Sources != 0 && !taken, sent
	kept := l.reads[:0]
	for _, r := range l.reads {
		if r.beats > 0 || !r.ended {
			kept = append(kept, r)
		}
		if !r.ended {
			require.LessOrEqual(l.t, l.clock-r.began, 2*l.period+65*(1+l.blocked-r.blocked), "tag %#x", r.sent)
		}
	}
	l.reads = kept
	l.clock++
}

// Every read ends once: with its answer, or in time without one. Late answers are
// dropped, and a tag is not used before its answer.
func TestReadsEnd(t *testing.T) {
	var failed, slept int
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 5))
		l := &limited{t: t, m: noc.NewInitiator(2, 4, true), rng: rng, period: 128 << rng.IntN(4)}
		for range 10000 {
			l.step(30 + 60*int(seed%2))
			if l.lost > 12 && rng.IntN(300) == 0 {
				for _, r := range l.reads {
					r.due = min(r.due, l.clock+rng.Uint64N(500)) // the host answers after all
				}
				l.lost = 0
			}
		}
		t.Logf("seed %d, period %d: %d answered, %d ended without an answer, %d with a spare tag, %d failed", seed, l.period, l.answered, l.expired, l.spared, l.failed)
		assert.Positive(t, l.answered)
		assert.Positive(t, l.expired)
		assert.Positive(t, l.spared)
		slept += l.slept
		failed += l.failed
	}
	assert.Positive(t, failed, "reads without a tag")
	assert.Positive(t, slept)
}

// An initiator without time-out waits for ever.
func TestReadsWait(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	o := noc.Decide(1, 0, m.State(), true, false, false)
	m.Tick(o, 0, 0, true, false, port.Completion{}, noc.Sweep{}, false)
	for i := range 1000 {
		m.Tick(noc.Offer{}, 0, 0, false, false, port.Completion{}, noc.Sweep{At: uint8(i % 64)}, false)
		require.Equal(t, port.Completion{}, arrival(&m, port.Completion{}))
	}
	assert.Equal(t, uint64(1), m.Awaited())
}
