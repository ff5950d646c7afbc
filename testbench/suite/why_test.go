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

// A failure tells the requirement in words, statuses by name, and the source.
func TestFailuresTellWhy(t *testing.T) {
	drivers := testbench.HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		d := entry()
		render := d.Render
		d.Render = func(t *ddi.Thread, c kmddi.HContext, arg kmddi.Render) (kmddi.RenderOut, ddi.Status) {
			out, s := render(t, c, arg)
			if s == ddi.StatusIllegalInstruction {
				s = ddi.StatusInvalidParameter
			}
			return out, s
		}
		return d
	}
	res := suite.Run(suite.Options{Selector: "emu", Drivers: drivers, Filter: regexp.MustCompile("^malformed-buffers$")})
	require.Len(t, res, 1)
	text := res[0].Text("emu")
	for _, says := range []string{
		`expected: "STATUS_ILLEGAL_INSTRUCTION"`, `actual  : "STATUS_INVALID_PARAMETER"`,
		"D3DKMTRender of a command buffer with a mistake, unknown opcode, is refused with this status",
		"required: bad command buffers are refused, and the next good one works\n", "source: DXGKDDI_RENDER",
	} {
		assert.Contains(t, text, says)
	}
	assert.Equal(t, 1, strings.Count(text, "required: "))
}
