package dxgkrnl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A fingerprint stands for a state. The zero value is no state.
type fingerprint [16]byte

func fingerprintOf(b []byte) (f fingerprint) {
	sum := sha256.Sum256(b)
	copy(f[:], sum[:])
	return f
}

// An explorer makes the choices of a program that is run again and again.
//
// It goes through all of them: depth first, the last choice changes first. A run ends where it
// arrives at a state of an earlier run, since that run and those after it make all choices from
// there. So the program must do the same from the same state. To check that, some runs go on from
// such a state, with choices at random: each state that follows must be the one that followed before.
//
// Or it makes each run with choices at random, and compares its states with those before.
type explorer struct {
	choices, sizes []int
	states         []fingerprint // before each choice; zero: none is known
	at             int
	random         bool       // all runs choose at random
	stray          *rand.Rand // for the rest of this run, whose other choices are not made; nil: they are

	known  map[fingerprint]int         // number of choices at each state
	follow map[fingerprint]fingerprint // the next state, by state and choices
	merged int                         // arrivals at a state of an earlier run, which have ended the run
	strays int                         // those that have not
	passed int                         // states that were compared
}

// strayEvery is how many of the runs that could end lie between two that go on.
const strayEvery = 8

// Ends of a run.
var (
	errMerged = errors.New("a state of an earlier run")
	errCycle  = errors.New("the state repeats: the program need not end")
	errState  = errors.New("two different states have one fingerprint")
)

func newExplorer() *explorer {
	return &explorer{known: map[fingerprint]int{}, follow: map[fingerprint]fingerprint{}}
}

// pickAt returns the choice of this run in a state, less than n. It panics with one of the ends of a
// run.
func (e *explorer) pickAt(n int, state func() fingerprint) int {
	if e.at < len(e.choices) {
		return e.choose(n, fingerprint{})
	}
	now := state()
	e.compare(now, n)
	if slices.Contains(e.states, now) {
		panic(errCycle)
	}
	_, old := e.known[now]
	if e.stray == nil || e.random { // else not all choices are made from here
		e.known[now] = n
	}
	if old && e.stray == nil {
		if e.merged++; e.merged%strayEvery != 0 {
			panic(errMerged)
		}
		e.strays++
		e.wander(uint64(e.merged))
	}
	return e.choose(n, now)
}

// wander makes the rest of this run choose at random.
func (e *explorer) wander(seed uint64) { e.stray = rand.New(rand.NewPCG(seed, 0)) }

func (e *explorer) choose(n int, state fingerprint) int {
	if e.at == len(e.choices) {
		choice, size := 0, n
		if e.stray != nil {
			choice = min(e.stray.IntN(2*n), n-1) // more often the last one: nothing happens
			size = choice + 1
		}
		e.choices, e.sizes, e.states = append(e.choices, choice), append(e.sizes, size), append(e.states, state)
	}
	e.at++
	return e.choices[e.at-1]
}

// compare checks a state, with n choices, against what earlier runs have found.
func (e *explorer) compare(now fingerprint, n int) {
	if before, ok := e.known[now]; ok && before != n {
		panic(fmt.Errorf("%w: one has %d choices, the other one %d", errState, before, n))
	}
	from := len(e.choices) - 1
	for from >= 0 && e.states[from] == (fingerprint{}) {
		from--
	}
	if from < 0 {
		return
	}
	key := fingerprintOf(fmt.Append(e.states[from][:], e.choices[from:]))
	if next, ok := e.follow[key]; !ok {
		e.follow[key] = now
	} else if e.passed++; next != now {
		panic(fmt.Errorf("%w: other states follow on %v", errState, e.choices[from:]))
	}
}

// restart begins a run with choices at random.
func (e *explorer) restart(seed uint64) {
	e.choices, e.sizes, e.states, e.at = e.choices[:0], e.sizes[:0], e.states[:0], 0
	e.random = true
	e.wander(seed)
}

// advance goes on to the next run, and reports false after the last one.
func (e *explorer) advance() bool {
	e.stray = nil
	for i := len(e.choices) - 1; i >= 0; i-- {
		if e.choices[i]+1 < e.sizes[i] {
			e.choices[i]++
			e.choices, e.sizes, e.states, e.at = e.choices[:i+1], e.sizes[:i+1], e.states[:i+1], 0
			return true
		}
	}
	return false
}
