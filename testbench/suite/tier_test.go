package suite_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/miniport"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/umd"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// The drivers of others need not make the choices of this GPU's, unless asked to.
func TestTiers(t *testing.T) {
	tiers := func(o suite.Options) (all []suite.Tier) {
		o.Selector = "emu"
		for _, i := range o.Instances() {
			if !slices.Contains(all, i.Case.Tier) {
				all = append(all, i.Case.Tier)
			}
		}
		return all
	}
	assert.ElementsMatch(t, suite.Tiers(), tiers(suite.Options{}))
	assert.ElementsMatch(t, []suite.Tier{suite.DDI, suite.API, suite.Caps}, tiers(suite.Options{Foreign: true}))
	assert.Equal(t, []suite.Tier{suite.Own}, tiers(suite.Options{Foreign: true, Tiers: []suite.Tier{suite.Own}}))
	_, err := suite.ParseTiers([]string{"api", "vendor"})
	require.ErrorIs(t, err, suite.ErrTier)
	assert.ErrorContains(t, err, `"vendor", want one of ddi, api, caps, own`)
}

// A case about a capability names the one that is not claimed.
func TestUnclaimedCapabilities(t *testing.T) {
	foreign := testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: miniport.DriverEntry}
	for _, tt := range []struct {
		name    string
		drivers testbench.Drivers
		want    []string // messages of the caps cases
	}{
		{"this GPU's", testbench.HostDrivers(), slices.Repeat([]string{"passed"}, 8)},
		{"others", foreign, []string{"skipped the driver does not claim CapsFreeThreaded", "skipped the driver does not claim CapsCommandListsBuild2",
			"passed", "passed", "passed", "passed", "passed", "passed"}},
	} {
		var got []string
		for _, r := range suite.Run(suite.Options{Selector: "emu", Drivers: tt.drivers, Tiers: []suite.Tier{suite.Caps}}) {
			text := string(r.Outcome)
			for _, m := range r.Messages {
				text += " " + m
			}
			got = append(got, text)
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

// A capability that is claimed and does not work fails its case.
func TestFalseClaims(t *testing.T) {
	capable := func(edit func(c *kmddi.DriverCaps)) testbench.Drivers {
		drivers := testbench.HostDrivers()
		entry := drivers.KernelMode
		drivers.KernelMode = func() kmddi.DriverInitializationData {
			d := entry()
			query := d.QueryAdapterInfo
			d.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
				out, s := query(t, h, arg)
				if arg.Type == kmddi.InfoDriverCaps {
					edit(&out.DriverCaps)
				}
				return out, s
			}
			return d
		}
		return drivers
	}
	renders := testbench.HostDrivers()
	open := renders.UserMode
	renders.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			arg.DeviceFuncs.CheckMultisampleQualityLevels = func(*ddi.Thread, umddi.HDevice, dxgi.Format, uint32) uint32 { return 0 }
			return hr
		}
		return hr
	}
	for _, tt := range []struct {
		name    string
		drivers testbench.Drivers
		says    string
	}{
		{"claimed-address", capable(func(c *kmddi.DriverCaps) { c.HighestAcceptableAddress = 1<<63 - 1 }), "timed out"},
		{"claimed-formats", renders, "a render target of 1 sample in R8G8B8A8_UNORM has a quality level"},
		{"claimed-nodes[nodes=1]", capable(func(c *kmddi.DriverCaps) { c.NumberOfNodes, c.MultiEngineAware = 2, true }),
			"NumberOfNodes is 2: D3DKMTCreateContext on node 1"},
		{"claimed-queue", capable(func(c *kmddi.DriverCaps) { c.HwQueuePacketCap = 16 }), "resets of a node that hung with at most 16 submissions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := suite.Run(suite.Options{
				Selector: "emu", Drivers: tt.drivers, Filter: regexp.MustCompile("^" + regexp.QuoteMeta(tt.name) + "$"),
			})
			require.Len(t, res, 1)
			assert.Equal(t, suite.Failed, res[0].Outcome)
			assert.Contains(t, strings.Join(res[0].Messages, "\n"), tt.says)
		})
	}
}
