package lists

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
)

// bufferBytes is the size of the copied buffers, in bytes.
const bufferBytes = 64

// A recorder is a deferred context, its lists, and the two buffers of its copies.
type recorder struct {
	ctx      *d3d11.Context
	dst, src *d3d11.Buffer
	lists    []*d3d11.CommandList

	n                       int           // lists of the next call of make
	making                  time.Duration // time of recording and finishing lists
	split                   bool          // read the clock between record and finish
	record, finish, release time.Duration
	err                     error
	panicked                any // panic of a broken contract, which Run's caller gets
}

// A run is the workload in progress on one system.
type run struct {
	o         Options
	sys       *testbench.System
	dev       *d3d11.Device
	ctx       *d3d11.Context
	kernel    KernelClock
	native    bool // the lists are the driver's
	recorders []*recorder

	wall    time.Duration // wall-clock time of recording and releasing
	execute time.Duration // time of execution, without the kernel
}

// with opens a system, creates the objects of the run, calls f and closes the run.
// A call of a driver that does not return is the error.
func (o Options) with(f func(r *run) error) error {
	r := &run{o: o}
	var err error
	if r.sys, err = testbench.Open(o.Board, o.drivers(&r.kernel, &r.native), o.System); err != nil {
		return err
	}
	return r.sys.Watched(func() error {
		if err := r.create(); err != nil {
			if r.dev != nil {
				r.dev.Close()
			}
			return errors.Join(r.stopped(err), r.sys.Close())
		}
		return r.close(f(r))
	})
}

// stopped returns the reason why the GPU stopped if it has, and err otherwise.
func (r *run) stopped(err error) error {
	if cause := r.sys.Err(); cause != nil {
		return cause
	}
	return err
}

func (r *run) create() error {
	var err error
	if r.dev, r.ctx, err = r.sys.CreateDevice(); err != nil {
		return err
	}
	for i := range r.o.Contexts {
		w := &recorder{lists: make([]*d3d11.CommandList, 0, r.o.Alive)}
		if w.src, err = r.buffer(contents(i)); err != nil {
			return err
		}
		if w.dst, err = r.buffer(make([]byte, bufferBytes)); err != nil {
			return err
		}
		if w.ctx, err = r.dev.CreateDeferredContext(0); err != nil {
			return err
		}
		r.recorders = append(r.recorders, w)
	}
	return nil
}

// contents returns the data that the lists of a context copy.
func contents(context int) []byte {
	p := make([]byte, bufferBytes)
	for i := range p {
		p[i] = byte(7*context + i + 1)
	}
	return p
}

func (r *run) buffer(data []byte) (*d3d11.Buffer, error) {
	desc := d3d11.BufferDesc{ByteWidth: bufferBytes, BindFlags: d3d11.BindVertexBuffer}
	return r.dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: data})
}

// close ends the run and returns err, or else the error of closing.
func (r *run) close(err error) error {
	r.dev.Close()
	err = r.stopped(err)
	if cerr := r.sys.Close(); err == nil {
		err = cerr
	}
	for _, v := range r.sys.Violations() {
		if !errors.Is(err, v) { // collected
			err = errors.Join(err, v)
		}
	}
	return err
}

// cycle makes the contexts record n lists in total, executes these and releases
// them.
func (r *run) cycle(n int) error {
	for i, w := range r.recorders {
		w.n = (n + len(r.recorders) - 1 - i) / len(r.recorders)
	}
	start := time.Now()
	r.parallel(func(w *recorder) { w.err = w.make(r.o.Ops) })
	r.wall += time.Since(start)
	for _, w := range r.recorders {
		if w.err != nil {
			return w.err
		}
	}
	kernel, start := r.kernel.time, time.Now()
	for _, w := range r.recorders {
		for _, l := range w.lists {
			r.ctx.ExecuteCommandList(l, false)
		}
	}
	r.execute += time.Since(start) - (r.kernel.time - kernel)
	if err := r.replaceContexts(); err != nil {
		return err
	}
	start = time.Now()
	r.parallel((*recorder).releaseAll)
	r.wall += time.Since(start)
	return errors.Join(r.sys.Err(), r.dev.GetDeviceRemovedReason())
}

// parallel calls f for each recorder, each in its own goroutine if there are
// several.
func (r *run) parallel(f func(*recorder)) {
	if len(r.recorders) == 1 {
		f(r.recorders[0])
		return
	}
	var wg sync.WaitGroup
	for _, w := range r.recorders {
		wg.Go(func() {
			defer func() { w.panicked = recover() }()
			f(w)
		})
	}
	wg.Wait()
	for _, w := range r.recorders {
		if w.panicked != nil {
			panic(w.panicked)
		}
	}
}

// replaceContexts replaces the contexts if NoRecycle is set, so that lists cannot
// reuse earlier memory.
func (r *run) replaceContexts() error {
	if !r.o.NoRecycle {
		return nil
	}
	var err error
	for _, w := range r.recorders {
		w.ctx.Release()
		if w.ctx, err = r.dev.CreateDeferredContext(0); err != nil {
			return err
		}
	}
	return nil
}

// make records and finishes lists of ops copies.
func (w *recorder) make(ops int) error {
	start := time.Now()
	for range w.n {
		l, err := w.makeOne(ops)
		if err != nil {
			return err
		}
		w.lists = append(w.lists, l)
	}
	w.making += time.Since(start)
	return nil
}

// makeOne records and finishes one list.
func (w *recorder) makeOne(ops int) (*d3d11.CommandList, error) {
	if w.split {
		return w.makeOneTimed(ops)
	}
	for range ops {
		w.ctx.CopyResource(w.dst, w.src)
	}
	return w.ctx.FinishCommandList(false)
}

// makeOneTimed is makeOne with the time split into recording and finishing.
func (w *recorder) makeOneTimed(ops int) (*d3d11.CommandList, error) {
	start := time.Now()
	for range ops {
		w.ctx.CopyResource(w.dst, w.src)
	}
	middle := time.Now()
	l, err := w.ctx.FinishCommandList(false)
	w.finish += time.Since(middle)
	w.record += middle.Sub(start)
	return l, err
}

// releaseAll releases the lists.
func (w *recorder) releaseAll() {
	start := time.Now()
	for i, l := range w.lists {
		l.Release()
		w.lists[i] = nil
	}
	w.lists = w.lists[:0]
	w.release += time.Since(start)
}

// cycles runs n lists in total, and returns the number of heap objects that were
// allocated outside the kernel.
func (r *run) cycles(n int) (allocated uint64, err error) {
	kernel, before, others := r.kernel.allocations, allocations(), uint64(0)
	for done := 0; done < n && err == nil; {
		some := min(n-done, r.o.Alive*len(r.recorders))
		err = r.cycle(some)
		done += some
		others += r.progress(done, n)
	}
	return allocations() - before - (r.kernel.allocations - kernel) - others, err
}

// progress reports the number of lists done, and returns the number of objects that
// the report allocated.
func (r *run) progress(done, total int) uint64 {
	if r.o.Progress == nil {
		return 0
	}
	before := allocations()
	r.o.Progress(done, total)
	return allocations() - before
}

// verify checks the data that the lists copied.
func (r *run) verify() error {
	for i, w := range r.recorders {
		to, err := r.dev.CreateBuffer(d3d11.BufferDesc{
			ByteWidth: bufferBytes, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead,
		}, nil)
		if err != nil {
			return err
		}
		r.ctx.CopyResource(to, w.dst)
		var m d3d11.MappedSubresource
		if err := r.ctx.Map(to, 0, d3d11.MapRead, 0, &m); err != nil {
			return err
		}
		if want := contents(i); !bytes.Equal(m.Data, want) {
			return fmt.Errorf("%w: context %d has copied % x, want % x", ErrContents, i, m.Data, want)
		}
		r.ctx.Unmap(to, 0)
		to.Release()
	}
	return nil
}
