package suite_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// A miniport without DxgkDdiRenderKm does not get the case of it. One that draws something else fails it.
//
// docs/properties.md: S11.
func TestKernelDrawsFindsMistakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(d *kmddi.DriverInitializationData)
		outcome suite.Outcome
		says    string
	}{
		{"none", func(*kmddi.DriverInitializationData) {}, suite.Passed, ""},
		{"no function", func(d *kmddi.DriverInitializationData) { d.RenderKm = nil }, suite.Skipped, "the miniport has no DxgkDdiRenderKm; this case needs it"},
		{"an empty buffer", func(d *kmddi.DriverInitializationData) {
			d.RenderKm = func(*ddi.Thread, kmddi.HContext, kmddi.Render) (kmddi.RenderOut, ddi.Status) {
				return kmddi.RenderOut{}, ddi.StatusSuccess
			}
		}, suite.Failed, "has what kernel and application have drawn, in the order of the calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drivers := testbench.HostDrivers()
			entry := drivers.KernelMode
			drivers.KernelMode = func() kmddi.DriverInitializationData {
				d := entry()
				tt.change(&d)
				return d
			}
			res := suite.Run(suite.Options{Selector: "emu?vram=64KiB", Drivers: drivers, Filter: regexp.MustCompile("^kernel-draws$")})
			require.Len(t, res, 1)
			assert.Equal(t, tt.outcome, res[0].Outcome, "%v", res[0].Messages)
			assert.Contains(t, strings.Join(res[0].Messages, "\n"), tt.says)
		})
	}
}
