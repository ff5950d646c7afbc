package lists

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A KernelClock wraps the kernel callbacks of a user-mode driver and measures the
// time and the allocations of submissions. It belongs to the thread of the
// immediate context. The zero value works.
type KernelClock struct {
	time        time.Duration
	calls       int
	allocations uint64 // objects of the Go heap
}

// allocations returns the number of objects allocated on the Go heap so far.
func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Time returns the wall-clock time of the submissions.
func (k *KernelClock) Time() time.Duration { return k.time }

// Wrap returns a driver entry that behaves as open and measures its submissions.
func (k *KernelClock) Wrap(open umddi.OpenAdapterFunc) umddi.OpenAdapterFunc {
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		if hr.Failed() || arg.Funcs.CreateDevice == nil {
			return hr
		}
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, a umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			inner, outer := *arg, arg.KTCallbacks
			table := *outer
			table.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, r *umddi.Render) ddi.HRESULT {
				start, before := time.Now(), allocations()
				hr := outer.RenderCb(t, h, r)
				k.allocations += allocations() - before
				k.time += time.Since(start)
				k.calls++
				return hr
			}
			inner.KTCallbacks = &table
			return create(t, a, &inner)
		}
		return hr
	}
}

// withCaps returns a driver entry that behaves as open and reports the threading
// capabilities that change returns.
func withCaps(open umddi.OpenAdapterFunc, change func(caps uint32) uint32) umddi.OpenAdapterFunc {
	return func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		if hr.Failed() || arg.Funcs.GetCaps == nil {
			return hr
		}
		ask := arg.Funcs.GetCaps
		arg.Funcs.GetCaps = func(t *ddi.Thread, h umddi.HAdapter, typ umddi.CapsType) (uint32, ddi.HRESULT) {
			caps, hr := ask(t, h, typ)
			if typ == umddi.CapsThreading && !hr.Failed() {
				caps = change(caps)
			}
			return caps, hr
		}
		return hr
	}
}

// A counter is a Hook that counts the calls and callbacks of the user-mode
// interface while it is enabled.
type counter struct {
	mu    sync.Mutex
	on    bool
	calls map[string]int
}

func (c *counter) Enter(_ *ddi.Thread, f *verifier.Func, _ ...any) {
	if !strings.HasPrefix(f.Name, "pfn") { // the kernel-mode interface
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.on {
		c.calls[f.Name]++
	}
}

func (c *counter) Leave(*ddi.Thread, *verifier.Func, ...any) {}

// enable starts or stops the counter.
func (c *counter) enable(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = on
}

// perList returns the counts of a run divided by n, its number of lists.
func (c *counter) perList(n int) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Call
	for name, calls := range c.calls {
		all = append(all, Call{name, float64(calls) / float64(n)})
	}
	slices.SortFunc(all, func(a, b Call) int { return strings.Compare(a.Name, b.Name) })
	return all
}
