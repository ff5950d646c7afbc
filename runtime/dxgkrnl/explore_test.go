package dxgkrnl

import (
	"flag"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

var explored = flag.Int("dxgkrnl.explored", 1500, "runs of TestExplore, and of TestExplorePaging up to 150, with choices at random; 0: all choices")

// A scene is a run: two devices with a few submissions, on a GPU that does what an explorer
// chooses.
//
//	results  what allocations have at the end
//	faults   that it may still have
//	owed     nodes with an event whose interrupt has not arrived
//	guilty   devices whose work faulted, or was executed when its node was reset
//	queued   the DPC is queued
//	first    the first node that may do something before that DPC
//	places   where the functions are that run, the innermost last
//	asked    node of the last function that asks about one
//	call     number of the thunk that the application has called last
type scene struct {
	*queues
	t       *testing.T
	e       *explorer
	second  *umddi.CreateContext
	results []result
	ready   func()          // checks that no node is free while work for it is ready; nil: nothing does
	open    map[uint64]bool // submissions in the hardware, by serial
	faults  int
	owed    [2]bool
	guilty  map[*device]bool
	queued  bool
	first   int
	places  []*place
	asked   uint32
	noted   bool
	pasts   [2]past
	call    int
}

// A result is the content of an allocation of a device that is not lost.
type result struct {
	device int
	of     ddi.KMHandle
	want   []byte
}

// An event is something that the GPU does.
type event struct {
	node   int
	silent bool // the host does not notice it before an interrupt
	do     func()
}

// silent returns what a node may do: it executes its oldest work, or faults in it; it answers a
// preemption, before its work or inside it. A node that has faulted does nothing. The interrupt
// follows later.
func (s *scene) silent(node int) (all []event) {
	add := func(do func()) {
		all = append(all, event{node, true, func() {
			s.gpu.lostIRQ = true
			do()
			s.gpu.lostIRQ, s.owed[node] = false, true
		}})
	}
	if le.Uint32(s.gpu.bar0[regFault:]) == uint32(node+1) {
		return nil
	}
	busy := len(s.gpu.queues[node]) > 0
	if busy {
		add(func() { s.gpu.execute(node) })
	}
	if busy && s.faults > 0 {
		add(func() {
			s.faults--
			s.blame(node)
			le.PutUint32(s.gpu.bar0[regFault:], uint32(node+1))
		})
	}
	if s.mini.stopping[node] != 0 && le.Uint32(s.gpu.bar0[regStopped:])&(1<<node) == 0 {
		add(func() { s.gpu.stop(node, 0) })
		if busy {
			add(func() { s.gpu.stop(node, 1) })
		}
	}
	return all
}

// blame notes the device whose work a node executes.
func (s *scene) blame(node int) {
	if len(s.gpu.queues[node]) == 0 {
		return
	}
	for _, w := range s.kernel.nodes[node].hardware {
		if c := w.line.context; c != nil && w.arg.SubmissionFenceID == s.gpu.queues[node][0].fence {
			s.guilty[c.device] = true
		}
	}
}

// busy checks that no node is free while work for it is ready. Work of the first two contexts is always
// ready. Work of the third one is ready when the second one is idle.
func (s *scene) busy() {
	free := func(node int) bool { n := &s.kernel.nodes[node]; return len(n.hardware) == 0 && s.kernel.room(n) }
	of := func(c *umddi.CreateContext) *context { return s.kernel.handles.get(c.Context).(*context) }
	for _, c := range s.contexts {
		s.require(!free(0) || !of(c).runs(), "node 0 is free, but work for it waits")
	}
	s.require(!free(1) || !of(s.second).runs() || !of(s.contexts[1]).idle(), "node 1 is free, but work for it waits")
}

// events returns what may happen now, from node first on: what the nodes may do, and interrupts
// of earlier events.
func (s *scene) events(first int) (all []event) {
	for node := first; node < len(s.gpu.queues); node++ {
		all = append(all, s.silent(node)...)
		if s.owed[node] {
			all = append(all, event{node, false, func() {
				s.owed[node] = false
				s.gpu.interrupt(node)
			}})
		}
	}
	return all
}

// act chooses what happens while all threads wait: an event, which takes no time, or time passes up
// to the next deadline of the kernel.
func (s *scene) act() bool {
	s.require(s.kernel.working(), "the application waits, but no node has work")
	if s.ready != nil {
		s.ready()
	}
	all := s.events(0)
	if i := s.outside(len(all) + 1); i < len(all) {
		all[i].do()
		return true
	}
	return false
}

// outside makes a choice where no function of the miniport runs.
func (s *scene) outside(n int) int {
	s.noted, s.asked = false, 0
	return s.e.pickAt(n, s.waiting)
}

// meet lets interrupts arrive in the middle of a function of the miniport, after events of the GPU.
// They are delivered at once, and their DPC when the level of the thread allows it. These choices
// are left out, since they lead to states that others lead to:
//
//   - An event without an interrupt, unless the function reads the fence: it may as well happen where
//     the next interrupt arrives, or while all threads wait.
//   - Events of a node after those of a later one, since nothing connects nodes before the DPC.
//   - A second interrupt before the DPC begins: it may as well arrive then. A second DPC, too: the
//     first one finds all that it would.
//   - A second interrupt of a node in a DPC: one reports all that two would, unless the kernel notes
//     the interrupts of the node.
//   - An interrupt in CollectDbgInfo and QueryDependentEngineGroup, after which QueryCurrentFence
//     follows at once.
func (s *scene) meet(name string) {
	p := place{}
	switch name {
	case "InterruptRoutine":
		s.queued = s.queued || le.Uint32(s.gpu.bar0[regStatus:]) != 0
		return
	case "DpcRoutine":
		s.queued, p.dpc = false, true
		p.first, s.first = s.first, 0
	case "Submit", "Preempt":
		if s.queued { // its DPC follows
			return
		}
	case "QueryCurrentFence":
		for node := range s.kernel.nodes {
			n := &s.kernel.nodes[node]
			s.pasts[node] = past{n.completed, n.preemption != 0}
		}
		s.noted, p.reads = true, true
	case "ResetEngine":
		s.mustFail(&s.kernel.nodes[s.asked])
		p.reads = true
		defer s.blame(int(s.asked))
	case "QueryEngineStatus":
	default:
		return
	}
	s.places = append(s.places, &p)
	defer func() { s.places = s.places[:len(s.places)-1] }()
	for s.happens(&p) {
	}
}

// mustFail checks that a node may be reset: it has faulted, or the kernel has neither learned of
// progress since the decision nor of an answer to its preemption.
func (s *scene) mustFail(n *node) {
	if n.faulted != nil {
		return
	}
	s.require(n.completed == s.pasts[n.ordinal].completed, "node %d is reset, but has made progress", n.ordinal)
	s.require(n.preemption == 0 || s.mini.stopping[n.ordinal] != 0, "node %d is reset, but has answered", n.ordinal)
}

// happens chooses an event at a place, and reports whether there may be another one.
func (s *scene) happens(p *place) bool {
	all, ends := s.events(p.first), 1
	if p.done {
		all = slices.DeleteFunc(all, func(e event) bool { return !e.silent })
	}
	if p.silent && !p.reads {
		ends = 0
	}
	if len(all) == 0 {
		return false
	}
	i := s.e.pickAt(len(all)+ends, s.inside)
	if i == len(all) {
		return false
	}
	all[i].do()
	p.silent, p.first = all[i].silent, all[i].node
	if p.silent {
		return true
	}
	if !s.kernel.nodes[p.first].masked {
		p.first++
	}
	if p.dpc {
		s.mini.read(s.kernel.thread, regStatus)
		return true
	}
	s.first, p.first, p.done = p.first, 0, true
	s.mini.read(s.kernel.thread, regStatus)
	return p.reads
}

// A place is where events happen in a function of the miniport.
//
//	dpc     the function is DpcRoutine
//	reads   it reads the fence
//	silent  an event has happened, and its interrupt follows here
//	done    its interrupt has arrived
//	first   the first node that may do something
type place struct {
	dpc, reads, silent, done bool
	first                    int
}

// A past is what a node was when QueryCurrentFence was called. Before that, expire and resetNode keep
// it to compare.
type past struct {
	completed uint64
	asked     bool
}

// watch checks that each submission ends once: it completes, is preempted, or is aborted.
func (s *scene) watch() {
	s.open = map[uint64]bool{}
	s.kernel.observer = func(_ *ddi.Thread, e Event) {
		switch e.Kind {
		case EventSubmit:
			require.False(s.t, s.open[e.Submission], "submission %d is submitted again", e.Submission)
			s.open[e.Submission] = true
		case EventRetire, EventPreempted, EventReset:
			if e.Submission != 0 {
				require.True(s.t, s.open[e.Submission], "submission %d ends, but is not in the hardware", e.Submission)
				delete(s.open, e.Submission)
			}
		}
	}
}

// thunk is a call of the application. What it does next depends on the state after it alone.
func (s *scene) thunk(fn func()) {
	s.call++
	fn()
	s.outside(1)
}

// noting returns a function of the miniport that notes about which node it is.
func noting[A, R any](s *scene, f func(*ddi.Thread, kmddi.HAdapter, A) (R, ddi.Status), node func(A) uint32) func(*ddi.Thread, kmddi.HAdapter, A) (R, ddi.Status) {
	return func(t *ddi.Thread, h kmddi.HAdapter, a A) (R, ddi.Status) {
		s.asked = node(a)
		return f(t, h, a)
	}
}

func newScene(t *testing.T, e *explorer, nodes int) *scene {
	s := &scene{queues: newQueues(t, 2, options{nodes: nodes, preempts: true, resets: true, quantum: 1 << 40}), t: t, e: e, faults: 1, guilty: map[*device]bool{}}
	s.mini.patched = nil
	s.kernel.caps.HwQueuePacketCap, s.gpu.capacity = 2, 2
	s.priority(1, 1)
	s.mini.preempt = func(int) {}
	d := &s.kernel.driver
	d.QueryCurrentFence = noting(s, d.QueryCurrentFence, func(a kmddi.QueryCurrentFence) uint32 { return a.NodeOrdinal })
	d.QueryEngineStatus = noting(s, d.QueryEngineStatus, func(a kmddi.QueryEngineStatus) uint32 { return a.NodeOrdinal })
	d.ResetEngine = noting(s, d.ResetEngine, func(a kmddi.ResetEngine) uint32 { return a.NodeOrdinal })
	s.second = s.devices[1].context(uint32(nodes - 1))
	s.watch()
	return s
}

// twoNodes is three submissions to two nodes, without paging buffers.
func twoNodes(t *testing.T, e *explorer) (*scene, []func()) {
	s := newScene(t, e, 2)
	a, b := s.devices[0], s.devices[1]
	copied := b.alloc(64, system)
	s.results = []result{{0, s.targets[0], repeat(3, 64)}, {1, copied, repeat(5, 64)}}
	s.ready = s.busy
	return s, []func(){
		func() { a.submit(s.contexts[0], halves(s.targets[0], 3)...) },
		func() { b.submit(s.contexts[1], halves(s.targets[1], 5)...) },
		func() { b.submit(s.second, copyTo(copied, 0, s.targets[1], 0, 64)) },
	}
}

// explore does one run and checks it, unless it ends at a state of an earlier one. begin returns
// the scene and the submissions.
func explore(t *testing.T, e *explorer, begin func(t *testing.T, e *explorer) (*scene, []func())) {
	defer func() {
		if p := recover(); p != nil && p != errMerged {
			panic(p)
		}
	}()
	s, submissions := begin(t, e)
	s.gpu.acts, s.mini.every, s.gpu.timeless = s.act, s.meet, true
	for _, submit := range submissions {
		s.thunk(submit)
	}
	for _, p := range s.devices {
		s.thunk(func() { p.thunks.WaitForIdle(p.thread, p.dev) })
	}
	s.gpu.acts, s.mini.every, s.mini.preempt, s.gpu.auto, s.gpu.timeless = nil, nil, nil, true, false
	s.check()
}

// check checks the end of a run: only what failed is lost, all else has its result, and a new
// device works.
func (s *scene) check() {
	t := s.t
	stopped := s.kernel.Err() != nil // which loses all devices
	if !stopped {
		require.Empty(t, s.open, "submissions that do not end")
	}
	for i, p := range s.devices {
		lost := s.kernel.Lost(p.dev)
		require.True(t, lost == nil || stopped || s.guilty[s.kernel.handles.get(p.dev).(*device)], "device %d is lost, but none of its work failed: %v", i, lost)
		for _, r := range s.results {
			if r.device == i && lost == nil {
				require.Equal(t, r.want, p.read(r.of), "of device %d", i)
			}
		}
	}
	next := s.process(9)
	next.open(0)
	next.works(t)
	require.NoError(t, s.gpu.err)
	require.Empty(t, s.mini.irql)
}

// Every interleaving of completion, interrupt, DPC, preemption, fault and time-out for three
// submissions on two nodes, or some at random: no ready work waits beside a free node, each
// submission ends once, only what failed is lost, all else has its result, and a new device works.
func TestExplore(t *testing.T) { exploreAll(t, *explored, twoNodes) }

// exploreAll does runs with choices at random, or with all choices if runs is 0. It prints how
// many states there are.
func exploreAll(t *testing.T, limit int, begin func(t *testing.T, e *explorer) (*scene, []func())) {
	e, runs, longest := newExplorer(), 0, 0
	defer func() {
		if p := recover(); p != nil || t.Failed() {
			t.Logf("choices %v", e.choices)
			if p != nil {
				panic(p)
			}
		}
	}()
	for more := true; more; {
		if limit > 0 {
			e.restart(uint64(runs))
		}
		explore(t, e, begin)
		runs++
		longest = max(longest, len(e.choices))
		more = limit > runs || limit == 0 && e.advance()
	}
	t.Logf("%d runs, %d states, at most %d choices; %d runs ended at a state of an earlier one, %d went on there; %d states compared",
		runs, len(e.known), longest, e.merged-e.strays, e.strays, e.passed)
}

// indexOf returns the index of a DMA buffer in its context.
func indexOf(d *dmaBuffer) int { return slices.Index(d.context.dma, d) }
