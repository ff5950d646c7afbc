package umd

import (
	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// An allocation is memory allocated by the kernel. While its object is in use,
// the last two fields must be accessed only on the immediate context's thread.
type allocation struct {
	handle ddi.KMHandle
	bytes  uint64
	batch  uint64 // the last batch with it in the allocation list; 0 if none
	index  uint32 // index in that allocation list
}

// An allocator creates allocations of one kind.
type allocator struct {
	rt      umddi.HRTResource
	desc    privdata.Allocation
	primary bool

	priority uint32 // of eviction; 0: the kernel's
}

// system is an allocator for n bytes of host memory for the driver itself.
func system(n uint64) allocator {
	return allocator{desc: privdata.Allocation{Place: privdata.System, Bytes: n}}
}

// allocate creates an allocation. It may be called on any thread.
func (d *device) allocate(t *ddi.Thread, k *allocator) (*allocation, ddi.HRESULT) {
	arg := &umddi.Allocate{Resource: k.rt, AllocationInfo: []umddi.AllocationInfo{{
		PrivateDriverData: k.desc.Append(make([]byte, 0, privdata.AllocationBytes)),
		Primary:           k.primary,
	}}}
	if hr := d.kt.AllocateCb(t, d.rt, arg); hr.Failed() {
		return nil, hr
	}
	a := &allocation{handle: arg.AllocationInfo[0].Allocation, bytes: k.desc.Bytes}
	if k.priority == 0 {
		return a, ddi.OK
	}
	if hr := d.setPriority(t, k.priority, a); hr.Failed() {
		return nil, first(hr, d.free(t, a))
	}
	return a, ddi.OK
}

// free frees allocations: those used by the current batch after it is
// submitted, the others at once. It may be called on any thread. If a batch is
// being submitted meanwhile, its allocations are freed at the next submission.
func (d *device) free(t *ddi.Thread, as ...*allocation) ddi.HRESULT {
	var idle, used []ddi.KMHandle
	for _, a := range as {
		if a.batch == d.batch.id.Load() {
			used = append(used, a.handle)
		} else {
			idle = append(idle, a.handle)
		}
	}
	if len(used) > 0 {
		d.mu.Lock()
		d.retired = append(d.retired, used...)
		d.mu.Unlock()
	}
	return d.deallocate(t, idle)
}

// freeRetired frees allocations that were destroyed while the previous batch
// used them.
func (d *device) freeRetired(t *ddi.Thread) ddi.HRESULT {
	d.mu.Lock()
	hs := d.retired
	d.retired = nil
	d.mu.Unlock()
	return d.deallocate(t, hs)
}

func (d *device) deallocate(t *ddi.Thread, hs []ddi.KMHandle) ddi.HRESULT {
	if len(hs) == 0 {
		return ddi.OK
	}
	return d.kt.DeallocateCb(t, d.rt, &umddi.Deallocate{Allocations: hs})
}

// A locker holds the arguments of LockCb and UnlockCb, so that a thread with a
// locker can map memory without a Go allocation.
type locker struct {
	lock   umddi.Lock
	unlock umddi.Unlock
	handle [1]ddi.KMHandle
}

// lock maps a until unlock. mode has the flags of the lock. Unless IgnoreSync
// is set, recorded work that uses a must have been submitted. lock returns
// EFail if the kernel maps less than the entire allocation.
func (d *device) lock(t *ddi.Thread, l *locker, a *allocation, mode umddi.Lock) ([]byte, ddi.HRESULT) {
	l.lock = mode
	l.lock.Allocation = a.handle
	if hr := d.kt.LockCb(t, d.rt, &l.lock); hr.Failed() {
		return nil, hr
	}
	data := l.lock.Data
	l.lock.Data = nil
	if uint64(len(data)) < a.bytes {
		return nil, first(d.unlock(t, l, a), ddi.EFail)
	}
	return data, ddi.OK
}

// unlock ends lock.
func (d *device) unlock(t *ddi.Thread, l *locker, a *allocation) ddi.HRESULT {
	l.handle[0] = a.handle
	l.unlock.Allocations = l.handle[:]
	return d.kt.UnlockCb(t, d.rt, &l.unlock)
}

// maxInstances is the maximum number of allocations in a pool.
const maxInstances = 4

// A pool is a set of allocations of one kind, one of which is current. The GPU
// may still read the others. After its object is created, a pool must be used
// only on the immediate context's thread.
type pool struct {
	allocator
	limit int

	instances []*allocation
	current   int
}

// alloc returns the current allocation.
func (p *pool) alloc() *allocation { return p.instances[p.current] }

// grow adds an instance without making it current.
func (d *device) grow(t *ddi.Thread, p *pool) ddi.HRESULT {
	a, hr := d.allocate(t, &p.allocator)
	if !hr.Failed() {
		p.instances = append(p.instances, a)
	}
	return hr
}

// acquire makes an instance current that neither the GPU nor the batch uses,
// and locks it. If there is none, it adds one. At the limit it waits for the
// least recently used one and submits the batch if the batch uses that.
//
//	Returns DDIStillDrawing instead of waiting if doNotWait is set;
//	        EOutOfMemory if there is neither an instance nor memory for one;
//	        errors of the callbacks. On failure the current one is unchanged
func (d *device) acquire(t *ddi.Thread, p *pool, doNotWait bool) ([]byte, ddi.HRESULT) {
	n := len(p.instances)
	for i := range n {
		k := (p.current + i) % n
		if d.batch.uses(p.instances[k]) {
			continue
		}
		if data, hr := d.lockInstance(t, p, k, true); hr != ddi.DDIStillDrawing {
			return data, hr
		}
	}
	if n < p.limit {
		hr := d.grow(t, p)
		if !hr.Failed() {
			return d.lockInstance(t, p, n, doNotWait)
		}
		if n == 0 || hr != ddi.EOutOfMemory {
			return nil, hr
		}
	}
	k := (p.current + 1) % n
	if d.batch.uses(p.instances[k]) {
		if hr := d.submit(t); hr.Failed() {
			return nil, hr
		}
	}
	return d.lockInstance(t, p, k, doNotWait)
}

// lockInstance locks instance k and makes it current.
func (d *device) lockInstance(t *ddi.Thread, p *pool, k int, doNotWait bool) ([]byte, ddi.HRESULT) {
	data, hr := d.lock(t, &d.locker, p.instances[k], umddi.Lock{DoNotWait: doNotWait})
	if !hr.Failed() {
		p.current = k
	}
	return data, hr
}
