package dxgkrnl

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var explored = flag.Int("dxgkrnl.explored", 1500, "most runs of TestExplore; 0: all")

// An explorer goes through all choices of a program that is run again and again: depth first,
// the last choice changes first.
type explorer struct {
	choices, sizes []int
	at             int
}

// pick returns the choice of this run, less than n.
func (e *explorer) pick(n int) int {
	if e.at == len(e.choices) {
		e.choices, e.sizes = append(e.choices, 0), append(e.sizes, n)
	}
	e.at++
	return e.choices[e.at-1]
}

// next goes on to the next run, and reports false after the last one.
func (e *explorer) next() bool {
	for i := len(e.choices) - 1; i >= 0; i-- {
		if e.choices[i]+1 < e.sizes[i] {
			e.choices[i]++
			e.choices, e.sizes, e.at = e.choices[:i+1], e.sizes[:i+1], 0
			return true
		}
	}
	return false
}

// A scene is a run: two devices with three submissions to two nodes, on a GPU that does what
// an explorer chooses.
//
//	faults   that it may still have
//	silent   completions that may still have their interrupt later
//	owed     nodes whose interrupt comes later
//	passed   TdrDelays without any event
type scene struct {
	*queues
	e       *explorer
	faults  int
	silent  int
	owed    []int
	passed  int
	faulted bool
}

// act chooses what happens while all threads wait: a node completes its oldest work, with its
// interrupt or before it, or faults; it answers a preemption, before its work or inside it; an
// interrupt arrives; or nothing but time passes.
func (s *scene) act() bool {
	var all []func()
	for node := range s.gpu.queues {
		busy := len(s.gpu.queues[node]) > 0
		if busy {
			all = append(all, func() { s.gpu.complete(node) })
		}
		if busy && s.silent > 0 {
			all = append(all, func() {
				s.silent--
				s.gpu.execute(node)
				s.owed = append(s.owed, node)
			})
		}
		if busy && s.faults > 0 {
			all = append(all, func() {
				s.faults--
				s.faulted = true
				le.PutUint32(s.gpu.bar0[regFault:], uint32(node+1))
				s.gpu.interrupt(node)
			})
		}
		if s.mini.stopping[node] != 0 {
			all = append(all, func() { s.gpu.stop(node, 0) }, func() { s.gpu.stop(node, 1) })
		}
		if slices.Contains(s.owed, node) {
			all = append(all, func() {
				s.owed = slices.DeleteFunc(s.owed, func(n int) bool { return n == node })
				s.gpu.interrupt(node)
			})
		}
	}
	if s.stopped() {
		all = nil // a node that has faulted does nothing
	}
	if i := s.e.pick(len(all) + 1); i < len(all) {
		all[i]()
		return true
	}
	s.passed++
	return false
}

// stopped reports whether a node has stopped on a fault.
func (s *scene) stopped() bool { return le.Uint32(s.gpu.bar0[regFault:]) != 0 }

// meet lets work complete in the middle of what the kernel does to reset a node.
func (s *scene) meet(name string) {
	switch name {
	case "QueryEngineStatus", "CollectDbgInfo", "QueryDependentEngineGroup", "ResetEngine", "Preempt":
		for node := range s.gpu.queues {
			if len(s.gpu.queues[node]) > 0 && !s.stopped() && s.e.pick(2) == 1 {
				s.gpu.complete(node)
			}
		}
	}
}

// explore does one run and checks it.
func explore(t *testing.T, e *explorer) {
	s := &scene{queues: newQueues(t, 2, options{nodes: 2, preempts: true, resets: true, quantum: 1 << 40}), e: e, faults: 1, silent: 1}
	s.mini.patched = nil
	s.kernel.caps.HwQueuePacketCap, s.gpu.capacity = 2, 2
	s.priority(1, 1)
	s.mini.preempt = func(int) {}
	a, b := s.devices[0], s.devices[1]
	second := b.context(1)
	result := b.alloc(64, system)
	var watched ends
	watched.watch(s.kernel)
	s.gpu.acts, s.mini.every = s.act, s.meet
	a.submit(s.contexts[0], halves(s.targets[0], 3)...)
	b.submit(s.contexts[1], halves(s.targets[1], 5)...)
	b.submit(second, copyTo(result, 0, s.targets[1], 0, 64))
	for _, p := range s.devices {
		p.thunks.WaitForIdle(p.thread, p.dev)
	}
	s.gpu.acts, s.mini.every, s.mini.preempt, s.gpu.auto = nil, nil, nil, true
	stopped := s.kernel.Err() != nil
	for serial, n := range watched.submitted {
		require.Equal(t, 1, n, "submission %d", serial)
		require.True(t, stopped || len(watched.ended[serial]) == 1, "submission %d ended %v", serial, watched.ended[serial])
	}
	for i, p := range s.devices {
		switch lost := s.kernel.Lost(p.dev); {
		case lost != nil:
			require.True(t, s.faulted || s.passed > 0, "device %d is lost, but nothing failed: %v", i, lost)
		case i == 0:
			require.Equal(t, repeat(3, 64), p.read(s.targets[0]))
		default:
			require.Equal(t, repeat(5, 64), p.read(result))
		}
	}
	next := s.process(9)
	next.open(0)
	next.works(t)
	require.NoError(t, s.gpu.err)
	require.Empty(t, s.mini.irql)
}

// Every interleaving of completion, interrupt, preemption, fault and time-out for three
// submissions on two nodes: each submission ends once, only what failed is lost, all else has
// its result, and a new device works. It does not separate a DPC from its interrupt.
func TestExplore(t *testing.T) {
	e, runs, longest := &explorer{}, 0, 0
	defer func() {
		if p := recover(); p != nil || t.Failed() {
			t.Logf("choices %v", e.choices)
			if p != nil {
				panic(fmt.Sprint(p))
			}
		}
	}()
	for more := true; more && (*explored == 0 || runs < *explored); more = e.next() {
		explore(t, e)
		runs++
		longest = max(longest, len(e.choices))
	}
	t.Logf("%d runs, at most %d choices", runs, longest)
}
