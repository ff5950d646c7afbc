package suite_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/miniport"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/umd"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// small returns the drivers of a new module, with a change of the user-mode driver.
func small(change func(f *umddi.DeviceFuncs)) testbench.Drivers {
	return testbench.Drivers{KernelMode: miniport.DriverEntry, UserMode: func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := umd.OpenAdapter(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			change(arg.DeviceFuncs)
			return hr
		}
		return hr
	}}
}

// A user-mode driver that keeps objects of the kernel, or that maps memory anywhere,
// fails a case, with a verifier and without.
func TestRunFindsBadUserModeDrivers(t *testing.T) {
	misaligned := func(f *umddi.DeviceFuncs) {
		right := f.StagingResourceMap
		f.StagingResourceMap = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
			m := right(t, h, res, sub, typ, flags)
			if sub > 0 {
				m.Data = append(make([]byte, 4), m.Data...)[4:]
			}
			return m
		}
	}
	for _, tt := range []struct {
		name, filter string
		change       func(f *umddi.DeviceFuncs)
		noVerify     bool
		says         string
	}{
		{"correct", "^(map-alignment|objects-left)$", func(*umddi.DeviceFuncs) {}, false, ""},
		{"frees no context", "^objects-left$", func(f *umddi.DeviceFuncs) {
			f.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {}
		}, false, "verifier: kernel-leak (driver): pfnDestroyDevice"},
		{"frees no context, without a verifier", "^objects-left$", func(f *umddi.DeviceFuncs) {
			f.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {}
		}, true, "the driver has freed each allocation of pfnAllocateCb and each context of pfnCreateContextCb"},
		{"frees nothing", "^objects-left$", func(f *umddi.DeviceFuncs) {
			f.DestroyDevice = func(*ddi.Thread, umddi.HDevice) {}
			f.DestroyResource = func(*ddi.Thread, umddi.HDevice, umddi.HResource) {}
			f.DestroyQuery = func(*ddi.Thread, umddi.HDevice, umddi.HQuery) {}
		}, true, `(string) (len=11) "allocations": (int) 7`},
		{"maps memory that is not aligned", "^map-alignment$", misaligned, true, "the last hexadecimal digit of the address of subresource 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range suite.Run(suite.Options{Selector: "emu?nodes=1", Drivers: small(tt.change), Filter: regexp.MustCompile(tt.filter), NoVerify: tt.noVerify}) {
				if tt.says == "" {
					assert.Equal(t, suite.Passed, r.Outcome, "%v", r.Messages)
					continue
				}
				assert.Equal(t, suite.Failed, r.Outcome)
				assert.Contains(t, strings.Join(r.Messages, "\n"), tt.says)
			}
		})
	}
}

// A case that a driver or a board does not get has a reason that names who decides:
// the miniport, whatever the board has, or the faults of the board.
func TestReasonsOfSkippedCases(t *testing.T) {
	for selector, want := range map[string]map[string]string{
		"emu": {"order-flush": "the miniport reports NumberOfNodes 1; this case needs a second node, for paging (PagingNode)"},
		"emu?fault=lost-interrupt": {
			"order-flush":    "the board injects faults, fault=lost-interrupt, and this case counts each step",
			"order-one-node": "the board injects faults, fault=lost-interrupt, and this case counts each step",
		},
	} {
		for name, reason := range want {
			res := suite.Run(suite.Options{Selector: selector, Drivers: small(func(*umddi.DeviceFuncs) {}), Filter: regexp.MustCompile("^" + name + "$")})
			require.Len(t, res, 1, name)
			assert.Equal(t, suite.Skipped, res[0].Outcome, "%s on %s", name, selector)
			assert.Equal(t, []string{reason}, res[0].Messages, "%s on %s", name, selector)
		}
	}
}
