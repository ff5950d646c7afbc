package suite_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{"this GPU's", testbench.HostDrivers(), []string{"passed", "passed"}},
		{"others", foreign, []string{"skipped the driver does not claim CapsFreeThreaded", "skipped the driver does not claim CapsCommandListsBuild2"}},
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
