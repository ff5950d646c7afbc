package dxgkrnl

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A gate admits one thread at a time to the kernel. A thread that waits inside gives
// up its place, and takes one again when it is its turn.
//
// Threads enter in the order of their arrival. During Run the order is drawn from a
// seed, and the choice is made when no thread of Run is outside: so it does not
// depend on the scheduler of the host.
type gate struct {
	mu    sync.Mutex
	free  sync.Cond           // for peek and letPeek
	busy  bool                // a thread is inside and does not wait
	peeks int                 // that wait
	kept  bool                // the thread inside lets only them in
	queue []*visitor          // in order of arrival
	order *rand.Rand          // during Run
	crew  map[*ddi.Thread]int // the threads of Run, by number from 1
	procs map[uint32]int      // the processes of RunProcesses, by number from 1
	out   int                 // of them, those that are outside
	turns int                 // given since one was given to a thread whose wait has not ended
}

// maxTurns is how many turns others get while a thread waits for the GPU. Then it gets
// one, to let time pass: others may only poll.
const maxTurns = 256

// A visitor is a thread at the gate.
type visitor struct {
	number int           // in the crew; 0: none
	ready  func() bool   // of a thread that waits inside: the wait has ended; nil: it enters
	turn   chan struct{} // gets a value when it is its turn
}

// member returns the number of the task of Run to which a thread belongs, or 0.
func (g *gate) member(t *ddi.Thread) int {
	if n := g.crew[t]; n > 0 {
		return n
	}
	return g.procs[t.Process]
}

// enter admits thread t.
func (g *gate) enter(t *ddi.Thread) {
	g.mu.Lock()
	if g.member(t) > 0 {
		g.out--
	}
	if !g.busy && !g.kept && g.out == 0 && g.peeks == 0 && len(g.queue) == 0 {
		g.busy = true
		g.mu.Unlock()
		return
	}
	g.await(t, nil)
}

// leave ends the visit of thread t.
func (g *gate) leave(t *ddi.Thread) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.member(t) > 0 {
		g.out++
	}
	g.busy = false
	g.admit()
}

// pass lets other threads in, if one can do something, and reports whether it did.
// Thread t, which is inside, comes back when ready returns true, or to let time pass.
func (g *gate) pass(t *ddi.Thread, ready func() bool) bool {
	g.mu.Lock()
	if !slices.ContainsFunc(g.queue, (*visitor).may) {
		g.letPeek()
		g.mu.Unlock()
		return false
	}
	g.busy = false
	g.await(t, ready)
	return true
}

// letPeek lets those that peek in, and keeps the turn. g.mu is held.
func (g *gate) letPeek() {
	for g.peeks > 0 {
		g.busy, g.kept = false, true
		g.free.Broadcast()
		g.free.Wait()
	}
	g.busy, g.kept = true, false
}

// yield lets other threads in, at the latest until ready returns true. If none can do
// anything, another one that waits lets time pass.
func (g *gate) yield(t *ddi.Thread, ready func() bool) {
	g.mu.Lock()
	g.busy = false
	g.await(t, ready)
}

// await waits for the turn of a thread. g.mu is held; it is not after the return.
func (g *gate) await(t *ddi.Thread, ready func() bool) {
	v := &visitor{number: g.member(t), ready: ready, turn: make(chan struct{}, 1)}
	g.queue = append(g.queue, v)
	g.admit()
	g.mu.Unlock()
	<-v.turn
}

// may reports whether a visitor has something to do.
func (v *visitor) may() bool { return v.ready == nil || v.ready() }

// admit gives the turn to one of the visitors that have something to do. If there are
// only threads whose wait has not ended, and after maxTurns, one of them lets time pass.
// g.mu is held.
func (g *gate) admit() {
	if !g.busy && g.peeks > 0 {
		g.free.Broadcast()
		return
	}
	if g.busy || g.kept || g.out > 0 || len(g.queue) == 0 {
		return
	}
	var able, waiting []*visitor
	for _, v := range g.queue {
		if v.may() {
			able = append(able, v)
		} else {
			waiting = append(waiting, v)
		}
	}
	if g.turns++; len(able) == 0 || len(waiting) > 0 && g.turns > maxTurns {
		able, g.turns = waiting, 0
	}
	v := able[0]
	if g.order != nil {
		slices.SortStableFunc(able, func(a, b *visitor) int { return a.number - b.number })
		v = able[g.order.IntN(len(able))]
	}
	g.queue = slices.DeleteFunc(g.queue, func(o *visitor) bool { return o == v })
	g.busy = true
	v.turn <- struct{}{}
}

// peek runs fn while no thread is inside. fn must not block.
func (g *gate) peek(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peeks++
	for g.busy {
		g.free.Wait()
	}
	g.peeks--
	fn()
	if g.kept {
		g.free.Broadcast()
		return
	}
	g.admit()
}

// A Task is a thread of Run.
type Task struct {
	Thread *ddi.Thread
	Run    func(t *ddi.Thread)
}

// Run runs tasks at once, each on a goroutine of its own, and returns when all have
// ended. One task runs at a time, from one thunk or wait to the next. The seed gives
// the order, so one seed always gives the same run. A task must not wait for another
// one outside of the kernel. A task that panics ends; Run panics with the first such
// value, by the order of tasks, when all tasks have ended. Calls of Run must not
// overlap, and each task needs a thread of its own: otherwise Run panics.
func (k *Kernel) Run(seed uint64, tasks []Task) {
	crew := make(map[*ddi.Thread]int, len(tasks))
	for i, task := range tasks {
		crew[task.Thread] = i + 1
	}
	if len(crew) < len(tasks) {
		panic("dxgkrnl: Run: two tasks have one thread")
	}
	k.run(seed, crew, nil, tasks)
}

// A Process is a task of RunProcesses: all threads of a process, also those made during the
// run. One of them runs at a time.
type Process struct {
	ID  uint32
	Run func()
}

// RunProcesses is Run for processes. It panics if two have one ID.
func (k *Kernel) RunProcesses(seed uint64, processes []Process) {
	procs, tasks := make(map[uint32]int, len(processes)), make([]Task, len(processes))
	for i, p := range processes {
		procs[p.ID] = i + 1
		tasks[i] = Task{&ddi.Thread{Process: p.ID}, func(*ddi.Thread) { p.Run() }}
	}
	if len(procs) < len(processes) {
		panic("dxgkrnl: RunProcesses: two processes have one ID")
	}
	k.run(seed, nil, procs, tasks)
}

// run runs tasks, of which crew or procs has the numbers.
func (k *Kernel) run(seed uint64, crew map[*ddi.Thread]int, procs map[uint32]int, tasks []Task) {
	g := &k.gate
	g.mu.Lock()
	g.order, g.crew, g.procs, g.out = rand.New(rand.NewPCG(seed, 0)), crew, procs, len(tasks)
	g.mu.Unlock()
	panics := make([]any, len(tasks))
	var all sync.WaitGroup
	for i, task := range tasks {
		all.Go(func() {
			defer func() {
				panics[i] = recover()
				g.end(task.Thread)
			}()
			g.enter(task.Thread)
			g.leave(task.Thread)
			task.Run(task.Thread)
		})
	}
	all.Wait()
	g.mu.Lock()
	g.order, g.crew, g.procs = nil, nil, nil
	g.mu.Unlock()
	for _, v := range panics {
		if v != nil {
			panic(v)
		}
	}
}

// runs reports whether Run runs.
func (g *gate) runs() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.order != nil
}

// end removes the task of a thread, which is outside.
func (g *gate) end(t *ddi.Thread) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.crew, t)
	delete(g.procs, t.Process)
	g.out--
	g.admit()
}
