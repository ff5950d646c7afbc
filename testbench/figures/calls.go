package figures

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// turnCalls is the number of DDI calls that are timed without interruption.
const turnCalls = 1_000_000

// A Call is the cost of a call of a user-mode driver that does nothing.
type Call struct {
	Over   float64 // nanoseconds over a direct call of the function; may be below 0 by chance
	Allocs float64 // Go heap allocations per call
}

// nothing is a function of a driver that does nothing.
func nothing(*ddi.Thread, umddi.HDevice, umddi.Topology) {}

// idleDriver opens an adapter whose devices do nothing.
func idleDriver(_ *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
	arg.Funcs.CreateDevice = func(_ *ddi.Thread, _ umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
		arg.DeviceFuncs.IaSetTopology = nothing
		return ddi.OK
	}
	return ddi.OK
}

// MeasureCall measures a call of a driver as the runtime makes it on a system without
// verifiers. It uses the fastest of the turns, which alternate with direct calls.
func MeasureCall(turns int) (c Call, err error) {
	sys, err := testbench.Open("emu", testbench.Drivers{UserMode: idleDriver, KernelMode: testbench.HostDrivers().KernelMode}, testbench.Options{NoVerify: true})
	if err != nil {
		return Call{}, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	t, device := &ddi.Thread{Process: 1, ID: 1}, umddi.HDevice{Root: new(ddi.Root)}
	var adapter umddi.AdapterFuncs
	hr := sys.UserMode()(t, &umddi.OpenAdapter{Callbacks: &umddi.AdapterCallbacks{}, Funcs: &adapter})
	table := &umddi.DeviceFuncs{}
	if !hr.Failed() {
		hr = adapter.CreateDevice(t, umddi.HAdapter{}, &umddi.CreateDevice{
			Device: device, DeviceFuncs: table, DXGIFuncs: &umddi.DXGIBaseFuncs{},
			KTCallbacks: &umddi.DeviceCallbacks{}, UMCallbacks: &umddi.CoreLayerCallbacks{}, DXGICallbacks: &umddi.DXGIBaseCallbacks{},
		})
	}
	if hr.Failed() {
		return Call{}, fmt.Errorf("figures: the driver that does nothing: %w", hr)
	}
	direct := &umddi.DeviceFuncs{IaSetTopology: nothing}
	least, leastDirect, allocs := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), uint64(math.MaxUint64)
	for range turns {
		leastDirect = min(leastDirect, callTurn(direct, t, device))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		least = min(least, callTurn(table, t, device))
		runtime.ReadMemStats(&after)
		allocs = min(allocs, after.Mallocs-before.Mallocs)
	}
	return Call{float64((least - leastDirect).Nanoseconds()) / turnCalls, float64(allocs) / turnCalls}, nil
}

// callTurn makes calls through a table and returns the time.
func callTurn(table *umddi.DeviceFuncs, t *ddi.Thread, h umddi.HDevice) time.Duration {
	start := time.Now()
	for range turnCalls {
		table.IaSetTopology(t, h, 1)
	}
	return time.Since(start)
}

// Calls measures a DDI call without verifiers.
func Calls(turns int) ([]Figure, error) {
	c, err := MeasureCall(turns)
	if err != nil {
		return nil, err
	}
	return []Figure{
		withTarget("DDI call without verifiers, over a direct call", c.Over, "ns", bound{false, 2}),
		withTarget("DDI call without verifiers, allocations", c.Allocs, "", bound{false, 0}),
	}, nil
}
