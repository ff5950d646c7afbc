package dxgkrnl

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

var interleavings = flag.Int("dxgkrnl.interleavings", 200, "seeds of TestNoWakeUpIsLost")

// A process is a rig with a thread, a device and a context of its own on the kernel of
// another rig.
func (r *rig) process(id uint32) *rig {
	p := *r
	p.thread, p.ctx = &ddi.Thread{Process: id, ID: 1}, umddi.CreateContext{}
	return &p
}

// open creates the device and the context of a process.
func (r *rig) open(node uint32) {
	var s ddi.Status
	r.dev, s = r.thunks.CreateDevice(r.thread)
	r.ok(s)
	r.ctx.NodeOrdinal = node
	r.ok(r.thunks.CreateContext(r.thread, r.dev, &r.ctx))
}

// work renders, locks and waits at random, and checks each byte that it reads.
func (r *rig) work(rng *rand.Rand, steps int) {
	const size = 512
	allocs := make([]ddi.KMHandle, 4)
	want := make([]byte, len(allocs))
	for i := range allocs {
		allocs[i] = r.alloc(size, local)
	}
	for range steps {
		i := rng.IntN(len(allocs))
		switch rng.IntN(5) {
		case 0, 1:
			want[i] = byte(rng.Uint32())
			r.render(fill(allocs[i], 0, size, want[i]))
		case 2:
			j := (i + 1) % len(allocs)
			r.render(copyTo(allocs[i], 0, allocs[j], 0, size))
			want[i] = want[j]
		case 3:
			require.Equal(r, repeat(want[i], size), r.read(allocs[i]))
		default:
			r.wait()
		}
	}
	for i, a := range allocs {
		require.Equal(r, repeat(want[i], size), r.read(a))
	}
	r.ok(r.thunks.DestroyDevice(r.thread, r.dev))
}

// reading, unless it is nil, reads counters of the kernel meanwhile.
var reading func(k *Kernel)

// crowd runs processes on one kernel and returns the calls of the miniport.
func crowd(t *testing.T, seed uint64, processes int) []string {
	r := newRig(t, options{nodes: 1 + int(seed%2), vram: 8 << 10, capacity: 1 + int(seed%3)})
	r.gpu.choose = func() int { return int(r.gpu.now % uint64(len(r.gpu.queues))) }
	var tasks []Task
	for i := range processes {
		p := r.process(uint32(i + 2))
		tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
			p.open(uint32(i % len(r.gpu.queues)))
			p.work(rand.New(rand.NewPCG(seed, uint64(i))), 20)
		}})
	}
	if reading != nil {
		go reading(r.kernel)
	}
	r.kernel.Run(seed, tasks)
	require.Zero(t, r.kernel.Stats().LostInterrupts, "seed %d: a time-out has found completions that no interrupt had told", seed)
	log := r.mini.log
	r.finish()
	return log
}

// One seed gives one order of all calls of the miniport, whatever the scheduler of the
// host does.
func TestRunIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	digests := map[string]bool{}
	for seed := range uint64(20) {
		var want string
		for i, procs := range []int{1, 2, 2} {
			runtime.GOMAXPROCS(procs)
			got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(crowd(t, seed, 4), "\n"))))
			if i == 0 {
				want = got
			}
			require.Equal(t, want, got, "seed %d at GOMAXPROCS %d", seed, procs)
		}
		digests[want] = true
	}
	assert.Len(t, digests, 20, "each seed gives an order of its own")
}

// Every wait of every thread ends: GPU, interrupts and threads interleave at random.
//
// docs/properties.md: F4, F10.
func TestNoWakeUpIsLost(t *testing.T) {
	for seed := range uint64(*interleavings) {
		crowd(t, 1000+seed, 3)
	}
}

// While one process waits for the GPU, others create, render and lock. The GPU completes
// nothing until they have done so.
//
// docs/properties.md: S7.
func TestOthersWorkDuringAWait(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	var order []string
	p := r.process(2)
	r.kernel.Run(1, []Task{
		{r.thread, func(*ddi.Thread) {
			order = append(order, "wait")
			r.wait()
			order = append(order, "waited")
		}},
		{p.thread, func(*ddi.Thread) {
			for !slices.Contains(order, "wait") {
				p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
			}
			p.open(0)
			b := p.alloc(64, system)
			p.write(b, repeat(7, 64))
			p.render(fill(b, 0, 32, 9))
			order = append(order, "rendered")
			r.gpu.auto = true
			assert.Equal(t, append(repeat(9, 32), repeat(7, 32)...), p.read(b))
		}},
	})
	assert.Equal(t, []string{"wait", "rendered", "waited"}, order)
	r.finish()
}

// The thunks of one device do not overlap: DestroyDevice waits for the thread that
// waits in Render.
func TestThunksOfADeviceDoNotOverlap(t *testing.T) {
	r := newRig(t, options{buffers: 1, capacity: 1})
	a := r.alloc(64, local)
	other := &ddi.Thread{Process: 1, ID: 2}
	r.render(fill(a, 0, 64, 1))
	var rendered, destroyed bool
	r.kernel.Run(3, []Task{
		{r.thread, func(*ddi.Thread) {
			arg := r.record(&r.ctx, fill(a, 0, 64, 2))
			r.ok(r.thunks.Render(r.thread, r.dev, arg)) // waits for the only buffer
			rendered = true
			assert.False(t, destroyed)
		}},
		{other, func(t2 *ddi.Thread) {
			for !r.kernel.devices[1].busy {
				r.ok(r.thunks.QueryAdapterInfo(t2, make([]byte, 64)))
			}
			r.ok(r.thunks.DestroyDevice(t2, r.dev))
			assert.True(t, rendered)
			destroyed = true
		}},
	})
	r.finish()
}

// A Bugcheck unwinds every thread that waits in the kernel. Afterwards the kernel is
// empty, and the miniport is not called.
func TestBugcheckUnwindsAllThreads(t *testing.T) {
	r := newRig(t, options{capacity: 8})
	a := r.alloc(64, local)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	var order []string
	ended := make([]*Bugcheck, 2)
	p := r.process(2)
	r.kernel.Run(5, []Task{
		{r.thread, func(*ddi.Thread) {
			order = append(order, "wait")
			ended[0] = crash(func() { r.wait() })
		}},
		{p.thread, func(*ddi.Thread) {
			for len(order) == 0 {
				p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
			}
			p.open(0)
			r.mini.fail["Patch"] = ddi.StatusInvalidParameter
			b := p.alloc(64, system)
			ended[1] = crash(func() { p.submit(&p.ctx, fill(b, 0, 64, 1)) })
		}},
	})
	require.NotNil(t, ended[1])
	assert.EqualValues(t, CodeScheduler, ended[1].Code)
	assert.Same(t, ended[1], ended[0])
	r.wantCrashed(t, a)
}

// Recover waits until the threads that found the GPU stopped have left the kernel.
//
// docs/properties.md: T6.
func TestRecoverWaitsForOtherThreads(t *testing.T) {
	r := newRig(t, options{})
	a := r.alloc(64, local)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	p := r.process(2)
	var order []string
	r.kernel.Run(2, []Task{
		{r.thread, func(*ddi.Thread) {
			order = append(order, "wait")
			assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
			order = append(order, "removed")
		}},
		{p.thread, func(*ddi.Thread) {
			for len(order) == 0 {
				p.ok(p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64)))
			}
			p.open(0)
			r.kernel.stop(p.thread, reasonTimeout, &DeviceError{Kind: Timeout, Cause: ddi.StatusIOTimeout})
			require.NoError(t, r.kernel.Recover(p.thread))
			assert.Zero(t, len(r.kernel.gate.queue))
			order = append(order, "recovered")
		}},
	})
	assert.ElementsMatch(t, []string{"wait", "removed", "recovered"}, order)
	r.gpu.auto = true
	p.open(0)
	b := p.alloc(64, local)
	p.render(fill(b, 0, 64, 3))
	assert.Equal(t, repeat(3, 64), p.read(b))
	r.finish()
}

// Threads that are not of Run may be in the kernel at once, too.
func TestThreadsWithoutRun(t *testing.T) {
	r := newRig(t, options{vram: 8 << 10})
	var all sync.WaitGroup
	for i := range 4 {
		p := r.process(uint32(i + 2))
		all.Go(func() {
			p.open(0)
			p.work(rand.New(rand.NewPCG(7, uint64(i))), 30)
		})
	}
	for range 100 {
		r.kernel.Stats()
		require.NoError(t, r.kernel.Err())
	}
	all.Wait()
	r.finish()
}

// Run ends when a task panics, and panics with its value.
func TestRunPassesPanicsOn(t *testing.T) {
	r := newRig(t, options{})
	p := r.process(2)
	done := false
	assert.PanicsWithValue(t, "broken", func() {
		r.kernel.Run(1, []Task{
			{r.thread, func(*ddi.Thread) { panic("broken") }},
			{p.thread, func(*ddi.Thread) {
				p.open(0)
				done = true
			}},
		})
	})
	assert.True(t, done)
	r.finish()
}

// Two tasks need two threads.
func TestRunRefusesOneThreadTwice(t *testing.T) {
	r := newRig(t, options{})
	task := Task{r.thread, func(*ddi.Thread) {}}
	assert.Panics(t, func() { r.kernel.Run(1, []Task{task, task}) })
	r.kernel.Run(1, []Task{task})
	r.finish()
}

// Threads that a process makes during RunProcesses belong to its task. One seed gives one order.
func TestRunProcesses(t *testing.T) {
	order := func(seed uint64) (all []uint32) {
		r := newRig(t, options{})
		var processes []Process
		for i := range uint32(3) {
			processes = append(processes, Process{i + 2, func() {
				for range 3 {
					p := r.process(i + 2) // a new thread
					p.open(0)
					all = append(all, i)
					p.work(rand.New(rand.NewPCG(seed, uint64(i))), 3)
				}
			}})
		}
		r.kernel.RunProcesses(seed, processes)
		assert.Panics(t, func() { r.kernel.RunProcesses(1, []Process{processes[0], processes[0]}) })
		r.finish()
		return all
	}
	seen := map[string]bool{}
	for seed := range uint64(8) {
		want := order(seed)
		require.Len(t, want, 9)
		require.Equal(t, want, order(seed), "seed %d", seed)
		seen[fmt.Sprint(want)] = true
	}
	assert.Greater(t, len(seen), 4)
}

// Several threads may recover at once: one does it, and the others find the adapter well.
//
// docs/properties.md: T8.
func TestSeveralRecover(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, options{})
		a := r.alloc(64, local)
		r.gpu.auto = false
		r.render(fill(a, 0, 64, 1))
		tasks := []Task{{r.thread, func(*ddi.Thread) {
			assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
		}}}
		for i := range uint32(3) {
			p := r.process(i + 2)
			tasks = append(tasks, Task{p.thread, func(*ddi.Thread) {
				for r.kernel.err == nil && r.kernel.resets == 0 {
					p.thunks.QueryAdapterInfo(p.thread, make([]byte, 64))
					r.gpu.now += r.kernel.tdrTicks
				}
				assert.NoError(t, r.kernel.Recover(p.thread))
			}})
		}
		r.kernel.Run(seed, tasks)
		assert.EqualValues(t, 1, r.kernel.Stats().Recoveries, "seed %d", seed)
	}
}

// Counters that are read at any time do not change the order of Run.
func TestStatsDoNotChangeTheOrder(t *testing.T) {
	want := crowd(t, 3, 4)
	done := make(chan struct{})
	reading = func(k *Kernel) {
		for {
			select {
			case <-done:
				return
			default:
				k.Stats()
			}
		}
	}
	defer func() { reading = nil }()
	defer close(done)
	assert.Equal(t, want, crowd(t, 3, 4))
}
