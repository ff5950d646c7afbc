package suite_test

import (
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// TestNames checks that the names of the instances differ, so that a filter can
// select one, and that a board with its own configuration runs without added
// options.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range suite.Expand("emu", 5, 0) {
		assert.False(t, seen[i.Name], i.Name)
		seen[i.Name] = true
		assert.NotEmpty(t, i.Case.Doc, i.Name)
		assert.NotEmpty(t, i.Case.Tier.Doc(), i.Name)
		assert.GreaterOrEqual(t, i.Seed, uint64(5))
	}
	assert.True(t, seen["random[vram=64KiB&nodes=1]/6"])
	for _, i := range suite.Expand("emu?nodes=1", 0, 3) {
		assert.Equal(t, "emu?nodes=1", i.Selector, i.Name)
		assert.Equal(t, strings.HasPrefix(i.Name, "texture"), i.Skip != "", i.Name)
	}
}

// TestRunFindsBadDrivers runs cases with broken miniports.
func TestRunFindsBadDrivers(t *testing.T) {
	good := testbench.HostDrivers().KernelMode
	with := func(change func(d *kmddi.DriverInitializationData)) testbench.Drivers {
		drivers := testbench.HostDrivers()
		drivers.KernelMode = func() kmddi.DriverInitializationData {
			d := good()
			change(&d)
			return d
		}
		return drivers
	}
	for _, tt := range []struct {
		name, filter string
		drivers      testbench.Drivers
		says         string
		rule         string
	}{
		{"an omitted copy", "^copy-boxes$", with(func(d *kmddi.DriverInitializationData) {
			render := d.Render
			d.Render = func(t *ddi.Thread, c kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				out, s := render(t, c, arg)
				return kmddi.RenderOut{DmaBufferUsed: 0, PatchesUsed: 0, MultipassOffset: out.MultipassOffset}, s
			}
		}), "bytes differ, the first at", "content"},
		{"a broken contract", "^clears$", with(func(d *kmddi.DriverInitializationData) {
			d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusInvalidParameter }
		}), "SubmitCommand", "submit-paging-result"},
		{"a command that the GPU does not have", "^clears$", with(func(d *kmddi.DriverInitializationData) {
			render := d.Render
			d.Render = func(t *ddi.Thread, c kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				out, s := render(t, c, arg)
				arg.DmaBuffer[0] = 0xff // no command of the GPU
				return out, s
			}
		}), "GPU fault", "gpu-fault"},
		{"a driver that is missing", "^present$", testbench.Drivers{}, "a driver is missing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := suite.Run(suite.Options{Selector: "emu", Drivers: tt.drivers, Filter: regexp.MustCompile(tt.filter), Trace: true})
			require.Len(t, res, 1)
			assert.Equal(t, suite.Failed, res[0].Outcome)
			assert.Contains(t, strings.Join(res[0].Messages, "\n"), tt.says)
			if tt.rule == "" {
				assert.Nil(t, res[0].Violation)
				return
			}
			require.NotNil(t, res[0].Violation)
			assert.Equal(t, tt.rule, res[0].Violation.Rule.Name)
		})
	}
}

// A driver that breaks a rule, panics or never returns fails its cases, each with a
// report, and no case after them.
func TestRunGoesOn(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	for rule, breaks := range map[string]func(){
		"driver-panic":   func() { panic("deliberate") },
		"goroutine-exit": runtime.Goexit,
		"call-hang":      func() { <-block },
	} {
		t.Run(rule, func(t *testing.T) {
			drivers := testbench.HostDrivers()
			var calls atomic.Int32 // an abandoned case still uses it
			entry := drivers.KernelMode
			drivers.KernelMode = func() kmddi.DriverInitializationData {
				d := entry()
				patch := d.Patch
				d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
					if calls.Add(1) == 1 {
						breaks()
					}
					return patch(t, h, arg)
				}
				return d
			}
			res := suite.Run(suite.Options{
				Selector: "emu?nodes=1", Drivers: drivers, Filter: regexp.MustCompile("^(clears|restore-flags|present)$"), Limit: time.Second,
			})
			require.Len(t, res, 3)
			assert.Equal(t, suite.Failed, res[0].Outcome)
			require.NotNil(t, res[0].Violation)
			assert.Equal(t, rule, res[0].Violation.Rule.Name)
			assert.Equal(t, "DxgkDdiPatch", res[0].Violation.Function)
			assert.Contains(t, strings.Join(res[0].Messages, "\n"), "verifier: "+rule)
			assert.Equal(t, rule != "driver-panic", res[0].Hung)
			for _, r := range res[1:] {
				assert.Equal(t, suite.Passed, r.Outcome, "%s: %v", r.Name, r.Messages)
			}
		})
	}
}

// A call that hangs after another violation is not hidden by it.
func TestSecondHang(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	drivers := testbench.HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		d := entry()
		var cb *kmddi.DxgkrnlInterface
		start := d.StartDevice
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, got *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			cb = got
			return start(t, h, info, got)
		}
		d.Patch = func(*ddi.Thread, kmddi.HAdapter, kmddi.Patch) ddi.Status {
			var wg sync.WaitGroup
			wg.Go(func() { cb.NotifyDpc(new(ddi.Thread), cb.DeviceHandle) })
			wg.Wait()
			<-block
			return ddi.StatusSuccess
		}
		return d
	}
	res := suite.Run(suite.Options{Selector: "emu?nodes=1", Drivers: drivers, Filter: regexp.MustCompile("^clears$"), Limit: time.Second})
	require.Len(t, res, 1)
	require.NotNil(t, res[0].Violation)
	assert.Equal(t, "callback-outside", res[0].Violation.Rule.Name)
	assert.True(t, res[0].Hung)
}

// A system that does not start gives the result the rule that the driver broke, and
// not only an error.
func TestStartViolation(t *testing.T) {
	for rule, change := range map[string]func(d *kmddi.DriverInitializationData){
		"miniport-table": func(d *kmddi.DriverInitializationData) { d.Render = nil },
		"call-failed": func(d *kmddi.DriverInitializationData) {
			d.AddDevice = func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusUnsuccessful }
		},
	} {
		t.Run(rule, func(t *testing.T) {
			drivers := testbench.HostDrivers()
			entry := drivers.KernelMode
			drivers.KernelMode = func() kmddi.DriverInitializationData {
				d := entry()
				change(&d)
				return d
			}
			res := suite.Run(suite.Options{Selector: "emu", Drivers: drivers, Filter: regexp.MustCompile("^present$")})
			require.Len(t, res, 1)
			assert.Equal(t, suite.Failed, res[0].Outcome)
			require.NotNil(t, res[0].Violation)
			assert.Equal(t, rule, res[0].Violation.Rule.Name)
			require.Len(t, res[0].Messages, 1)
			assert.Contains(t, res[0].Messages[0], "verifier: "+rule)
			assert.ErrorIs(t, res[0].Err, res[0].Violation)
		})
	}
}

// TestRun runs cases of all outcomes with the drivers of this GPU.
func TestRun(t *testing.T) {
	var seen []string
	res := suite.Run(suite.Options{
		Selector: "emu?nodes=1", Drivers: testbench.HostDrivers(), Seed: 3, Runs: 1,
		Filter: regexp.MustCompile("^(restore-flags|texture-too-large|order-flush|compose)"),
		Report: func(r suite.Result) { seen = append(seen, r.Name) },
	})
	var got []string
	for _, r := range res {
		got = append(got, r.Name+" "+string(r.Outcome))
		assert.Nil(t, r.Trace)
	}
	assert.Equal(t, []string{"compose passed", "restore-flags passed", "texture-too-large skipped", "order-flush skipped"}, got)
	assert.Equal(t, []string{"compose", "restore-flags", "texture-too-large", "order-flush"}, seen)
}
