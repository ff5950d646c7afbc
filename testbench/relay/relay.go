// Package relay disturbs the path between a host and a board that is served over TCP,
// UDP, raw Ethernet or a pseudo-terminal. It reads what one end sends and passes it on to
// the other one: late, in single bytes, damaged, twice, in another order, from another
// address, or not at all. It also ends connections. It knows nothing of the frames.
package relay

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A Plan is what a relay does. Probabilities are per piece in each direction, 0 to 1. A
// piece is a datagram, or the bytes that one Read of a stream returns.
//
//	Loss      the piece, or a run of bytes of a stream, is lost
//	Dup       it is repeated
//	Flip      one of its bits is inverted
//	Truncate  bytes at its end are lost
//	Reorder   a datagram is held until up to 4,000 others have passed, mostly a few
//	Late      an earlier datagram, one of the last 10,000, is sent again, or earlier
//	          bytes of a stream, also those of an earlier session
//	Oldest    a late datagram is always 10,000 datagrams late
//	Spoof     a copy of a datagram, also one with a changed bit, is sent from another
//	          address before it
//	Stall     nothing passes for up to 150 ms
//	Trickle   bytes of a stream pass a few at a time, with pauses
//	Single    bytes of a stream are written one at a time
//	Cut       pieces of both directions between two cuts; 0 is never
//	Rate      bytes of a stream that pass per second in each direction; 0 is any number
//	LoseByte  one byte in each this many of a stream is lost in each direction, at the
//	          same place; 0 is none
type Plan struct {
	Seed                                            uint64
	Loss, Dup, Flip, Truncate, Reorder, Late, Spoof float64
	Stall, Trickle, Single                          float64
	Cut                                             int
	Oldest                                          bool
	Rate, LoseByte                                  int
}

// Draw returns the plan of a seed. About half of all plans have cuts; each fault is in
// about half of them too.
func Draw(seed uint64) Plan {
	rng := rand.New(rand.NewPCG(seed, 99))
	p := Plan{Seed: seed}
	for _, f := range []struct {
		p    *float64
		most float64
	}{
		{&p.Loss, 0.05}, {&p.Dup, 0.05}, {&p.Flip, 0.03}, {&p.Truncate, 0.02}, {&p.Reorder, 0.03}, {&p.Late, 0.05},
		{&p.Spoof, 0.2}, {&p.Stall, 0.001}, {&p.Trickle, 0.01}, {&p.Single, 0.2},
	} {
		if v := rng.Float64() * f.most; rng.IntN(2) == 0 {
			*f.p = v
		}
	}
	if n := 300 + rng.IntN(1500); rng.IntN(2) == 0 {
		p.Cut = n
	}
	return p
}

// Stats counts what a relay has done.
type Stats struct {
	Pieces, Lost, Repeated, Flipped, Truncated, Reordered, Spoofed uint64
	LateUp, LateDown                                               uint64 // to the host, to the board
	Stalls, Trickles, Singles                                      uint64
	Cuts                                                           [numCuts]uint64

	Longest time.Duration // that a piece was in the relay, which a busy machine makes longer
}

// Add adds the counters of another relay.
func (s *Stats) Add(t Stats) {
	for i, p := range s.all() {
		*p += *t.all()[i]
	}
	s.Longest = max(s.Longest, t.Longest)
}

// Idle returns the names of the faults that have never happened. Those of a stream
// differ from those of datagrams.
func (s *Stats) Idle(stream bool) []string {
	var names []string
	for i, p := range s.all() {
		n := [...]string{
			"pieces", "lost", "repeated", "flipped", "late to the host", "late to the board", "stalls", "silence", "silence to the host", "silence to the board",
			"truncated", "reordered", "spoofed", "trickles", "singles", "reset", "host gone", "board gone",
		}[i]
		only := i >= 10
		if *p == 0 && (!only || stream == (i >= 13)) {
			names = append(names, n)
		}
	}
	return names
}

// all returns the counters: those of all paths, of datagrams only, and of streams only.
func (s *Stats) all() []*uint64 {
	c := &s.Cuts
	return []*uint64{
		&s.Pieces, &s.Lost, &s.Repeated, &s.Flipped, &s.LateUp, &s.LateDown, &s.Stalls, &c[silence], &c[silenceUp], &c[silenceDown],
		&s.Truncated, &s.Reordered, &s.Spoofed, &s.Trickles, &s.Singles, &c[reset], &c[hostGone], &c[boardGone],
	}
}

// A cut is how a path ends. Those of datagrams are the silences, after which the path
// works again.
type cut int

const (
	silence     cut = iota // nothing passes
	silenceUp              // nothing passes to the host
	silenceDown            // nothing passes to the board
	reset                  // both connections end
	hostGone               // that to the host ends, the other one is silent
	boardGone              // that to the board ends, the other one is silent
	numCuts
)

// silent is how long a silence lasts. Both ends notice it after half a second.
const silent = 900 * time.Millisecond

// The directions.
const (
	up   = 0 // to the host
	down = 1 // to the board
)

// A Relay is one path. Its methods are safe for concurrent use.
type Relay struct {
	selector string
	dirs     [2]direction
	stop     func()
	done     chan struct{}
	wg       sync.WaitGroup

	mu     sync.Mutex
	plan   Plan
	rng    *rand.Rand
	left   int // pieces until the next cut
	quiet  [2]time.Time
	stats  Stats
	broken func(cut) // ends the connections of a stream
	repeat func()    // sends the datagrams of the hosts again
}

func newRelay(p Plan) *Relay {
	r := &Relay{plan: p, rng: rand.New(rand.NewPCG(p.Seed, 98)), left: p.Cut, done: make(chan struct{})}
	for i := range r.dirs {
		r.dirs[i].r, r.dirs[i].to, r.dirs[i].rng = r, i, rand.New(rand.NewPCG(p.Seed, uint64(i)))
	}
	return r
}

// Selector returns the selector by which a host opens the board through the relay.
func (r *Relay) Selector() string { return r.selector }

// Calm makes the relay pass everything on from now on.
func (r *Relay) Calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan, r.left = Plan{}, 0
}

// Cut begins a cut now, or after the stall or the cut in which the relay is.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.done:
		return
	default:
	}
	now := time.Now()
	if wait := max(r.quiet[up].Sub(now), r.quiet[down].Sub(now)); wait > 0 {
		time.AfterFunc(wait, r.Cut)
		return
	}
	r.begin(now)
}

// Repeat sends the last 10,000 datagrams of hosts to the board once more, in their order.
// On a stream it does nothing.
func (r *Relay) Repeat() {
	if r.repeat != nil {
		r.repeat()
	}
}

// Stats returns the counters.
func (r *Relay) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Close ends the relay and its connections.
func (r *Relay) Close() {
	close(r.done)
	r.stop()
	r.wg.Wait()
}

// enter counts a piece and begins a cut when it is due. It returns the plan, and whether
// the piece is lost in a silence.
func (r *Relay) enter(to int) (Plan, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.quiet[to]) {
		return r.plan, true
	}
	r.stats.Pieces++
	if r.left > 0 {
		if r.left--; r.left == 0 {
			r.left = r.plan.Cut
			r.begin(now)
		}
	}
	return r.plan, now.Before(r.quiet[to])
}

// begin begins a cut.
func (r *Relay) begin(now time.Time) {
	kinds := reset
	if r.broken != nil {
		kinds = numCuts
	}
	c := cut(r.rng.IntN(int(kinds)))
	r.stats.Cuts[c]++
	if c != silenceDown {
		r.quiet[up] = now.Add(silent)
	}
	if c != silenceUp {
		r.quiet[down] = now.Add(silent)
	}
	if c >= reset {
		r.quiet = [2]time.Time{}
		r.broken(c)
	}
}

func (r *Relay) count(n *uint64) {
	r.mu.Lock()
	*n++
	r.mu.Unlock()
}

// passed notes how long a piece was in the relay.
func (r *Relay) passed(begun time.Time) {
	r.mu.Lock()
	r.stats.Longest = max(r.stats.Longest, time.Since(begun))
	r.mu.Unlock()
}

// pause waits, or returns early if the relay is closed.
func (r *Relay) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.done:
	}
}

// A direction disturbs one direction. One goroutine at a time uses it.
type direction struct {
	r    *Relay
	to   int
	rng  *rand.Rand
	held []held

	free   time.Time // when the last byte at a rate has passed
	passed int       // bytes of a stream

	mu      sync.Mutex // guards the fields below
	history [][]byte   // the last pieces, oldest at next if it is full
	next    int
}

// A held datagram passes after the given number of later ones.
type held struct {
	piece []byte
	after int
}

// longest is the number of pieces that a direction remembers.
const longest = 10_000

func (d *direction) happens(p float64, count *uint64) bool {
	if p == 0 || d.rng.Float64() >= p {
		return false
	}
	d.r.count(count)
	return true
}

// remember adds a piece to the history.
func (d *direction) remember(p []byte) {
	p = append([]byte(nil), p...)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.history) < longest {
		d.history = append(d.history, p)
		return
	}
	d.history[d.next] = p
	d.next = (d.next + 1) % longest
}

// late returns an earlier piece, or nil if there is none.
func (d *direction) late(plan Plan) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.history); n == 0 || plan.Oldest && n < longest {
		return nil
	}
	count := &d.r.stats.LateUp
	if d.to == down {
		count = &d.r.stats.LateDown
	}
	if !d.happens(plan.Late, count) {
		return nil
	}
	if plan.Oldest {
		return d.history[d.next]
	}
	return d.history[d.rng.IntN(len(d.history))]
}

func (d *direction) flip(p []byte) {
	if len(p) > 0 {
		p[d.rng.IntN(len(p))] ^= 1 << d.rng.IntN(8)
	}
}

func (d *direction) stall(p Plan) {
	if d.happens(p.Stall, &d.r.stats.Stalls) {
		d.r.pause(time.Duration(d.rng.IntN(int(150 * time.Millisecond))))
	}
}

// String returns the plan as text that shows what it contains.
func (p Plan) String() string {
	type plain Plan
	return fmt.Sprintf("%+v", plain(p))
}
