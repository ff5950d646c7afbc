package lists

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// small is a short workload on one thread.
func small() Options {
	return Options{Board: "emu", Lists: 600, Ops: 1, Contexts: 1, Alive: 50}
}

// calls returns the counts by function name.
func calls(r *Report) map[string]float64 {
	m := map[string]float64{}
	for _, c := range r.Calls {
		m[c.Name] = c.PerList
	}
	return m
}

// The expected calls of a list with a recycled and with a new handle are those of
// the pseudocode of "Supporting Command Lists".
func TestCalls(t *testing.T) {
	one := []string{"pfnCommandListExecute", "pfnRecycleCreateDeferredContext"}
	recycled := []string{"pfnRecycleCommandList", "pfnRecycleCreateCommandList", "pfnRecycleDestroyCommandList"}
	created := []string{"pfnCalcPrivateCommandListSize", "pfnCreateCommandList", "pfnDestroyCommandList"}
	for _, tt := range []struct {
		name        string
		change      func(*Options)
		once, never []string
		copies      float64 // calls of ResourceCopy
	}{
		{"recycled", func(*Options) {}, append(one, recycled...), created, 1},
		{"three copies per list", func(o *Options) { o.Ops = 3 }, append(one, recycled...), created, 3},
		{"several contexts", func(o *Options) { o.Contexts = 3 }, append(one, recycled...), created, 1},
		{"created", func(o *Options) { o.NoRecycle = true }, append(one, created...), recycled, 1},
		{"emulated", func(o *Options) { o.Emulated = true }, nil, append(append(one, recycled...), created...), 1},
		{"lists not divisible by contexts", func(o *Options) { o.Lists, o.Contexts = 601, 7 }, append(one, recycled...), created, 1},
		{"no verifier", func(o *Options) { o.System.NoVerify = true }, append(one, recycled...), created, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small()
			tt.change(&o)
			r, err := Run(o)
			require.NoError(t, err)
			got := calls(r)
			for _, name := range tt.once {
				delta := 1e-9
				if name == "pfnRecycleCommandList" { // of lists released in an earlier round
					delta = float64(o.Alive*o.Contexts) / float64(o.Lists)
				}
				assert.InDelta(t, 1, got[name], delta, name)
			}
			for _, name := range tt.never {
				assert.Zero(t, got[name], name)
			}
			assert.InDelta(t, tt.copies, got["pfnResourceCopy"], 1e-9)
			assert.Equal(t, o.Lists, r.CountedOver)
			assert.Positive(t, r.ListsPerSecond)
			for _, part := range []float64{r.Parts.Record, r.Parts.Finish, r.Parts.Execute, r.Parts.Release, r.Parts.Kernel} {
				assert.Positive(t, part)
			}
			assert.Positive(t, r.Submissions)
		})
	}
}

// In the steady state a list allocates nothing, except for the slabs of up to 128
// lists.
func TestAllocations(t *testing.T) {
	o := small()
	o.Lists = 5000
	o.System = testbench.Options{NoVerify: true}
	r, err := Run(o)
	require.NoError(t, err)
	assert.Less(t, r.Allocations, 0.05)
	o.NoRecycle = true
	r, err = Run(o)
	require.NoError(t, err)
	assert.Greater(t, r.Allocations, 1.0, "at least a handle per list")
}

func TestInput(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"no lists", func(o *Options) { o.Lists = 0 }, "0 lists, want 1 to 1000000000"},
		{"too many lists", func(o *Options) { o.Lists = MaxLists + 1 }, "1000000001 lists"},
		{"no copies", func(o *Options) { o.Ops = 0 }, "0 ops, want 1 to 10000"},
		{"negative contexts", func(o *Options) { o.Contexts = -1 }, "-1 contexts, want 1 to 1000"},
		{"none alive", func(o *Options) { o.Alive = 0 }, "0 alive"},
		{"fewer lists than contexts", func(o *Options) { o.Lists, o.Contexts = 3, 4 }, "3 lists for 4 contexts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small()
			tt.change(&o)
			_, err := Run(o)
			require.ErrorIs(t, err, ErrInput)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// A driver whose lists do nothing fails the run.
func TestListsThatDoNothing(t *testing.T) {
	require.NoError(t, small().with(func(r *run) error {
		_, err := r.cycles(10)
		require.NoError(t, err)
		require.NoError(t, r.verify())
		other, err := r.buffer(make([]byte, bufferBytes))
		require.NoError(t, err)
		r.recorders[0].dst = other
		require.ErrorIs(t, r.verify(), ErrContents)
		return nil
	}))
}

// A call of a driver that does not return ends the run with its violation.
func TestHang(t *testing.T) {
	o := small()
	o.System.CallLimit = 200 * time.Millisecond
	o.Drivers = testbench.HostDrivers()
	open := o.Drivers.UserMode
	o.Drivers.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		arg.Funcs.CreateDevice = func(*ddi.Thread, umddi.HAdapter, *umddi.CreateDevice) ddi.HRESULT { select {} }
		return hr
	}
	_, err := Run(o)
	var broken *verifier.Violation
	require.ErrorAs(t, err, &broken)
	assert.Equal(t, "call-hang", broken.Rule.Name)
}

// The kernel clock passes all calls on and counts them.
func TestKernelClock(t *testing.T) {
	var k KernelClock
	failing := k.Wrap(func(*ddi.Thread, *umddi.OpenAdapter) ddi.HRESULT { return ddi.EFail })
	assert.Equal(t, ddi.EFail, failing(nil, nil))
	var got *umddi.DeviceCallbacks
	open := k.Wrap(func(_ *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		arg.Funcs.CreateDevice = func(_ *ddi.Thread, _ umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			got = arg.KTCallbacks
			return ddi.OK
		}
		return ddi.OK
	})
	arg := &umddi.OpenAdapter{Funcs: new(umddi.AdapterFuncs)}
	require.Equal(t, ddi.OK, open(nil, arg))
	outer := &umddi.DeviceCallbacks{RenderCb: func(_ *ddi.Thread, _ umddi.HRTDevice, r *umddi.Render) ddi.HRESULT {
		return ddi.EInvalidArg
	}}
	require.Equal(t, ddi.OK, arg.Funcs.CreateDevice(nil, umddi.HAdapter{}, &umddi.CreateDevice{KTCallbacks: outer}))
	assert.Equal(t, ddi.EInvalidArg, got.RenderCb(nil, umddi.HRTDevice{}, nil))
	assert.Equal(t, 1, k.calls)
	assert.Positive(t, k.time)
}

func TestText(t *testing.T) {
	r := &Report{
		Lists: 1000, Ops: 2, Contexts: 3, Recycle: true, Native: true, ListsPerSecond: 1.5e6,
		Parts: Parts{Record: 10, Finish: 20, Execute: 30, Release: 40, Kernel: 50}, Submissions: 6,
		Calls: []Call{{"pfnResourceCopy", 2}}, CountedOver: 600,
	}
	assert.Equal(t, `lists    1000 of 2 copies, 3 contexts, the driver's lists, handles recycled, verifier off
speed    1500000 lists/s recorded, executed and released, without the kernel
ns/list  record 10, finish 20, release 40, execute 30
kernel   50 ns/list, with the GPU it waits for, in 6 submissions
heap     0.0000 allocations/list
calls    per list, counted in a separate run of 600 lists
  pfnResourceCopy                    2.0000
`, r.Text())
	b, err := json.Marshal(r)
	require.NoError(t, err)
	for _, key := range []string{"lists_per_second", "ns_per_list", "record", "finish", "execute", "release", "kernel", "allocations_per_list", "calls"} {
		assert.Contains(t, string(b), `"`+key+`":`)
	}
}
