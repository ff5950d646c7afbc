//go:build bitstream

package gateware

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	boardFlag     = flag.String("gateware.board", "ice40-hx8k", "board of TestAnswer")
	bitstreamFlag = flag.String("gateware.bitstream", "", "bitstream of TestAnswer")
)

// TestAnswer unpacks a bitstream and simulates what is in it in Icarus, at the levels of
// the UART. A host begins a session, and reads the identity that the gateware has in Go.
func TestAnswer(t *testing.T) {
	tooltest.Need(t, append(synth.UnpackTools(), sim.Icarus.Tools()...)...)
	b, err := Find(*boardFlag)
	require.NoError(t, err)
	bits, err := os.ReadFile(*bitstreamFlag)
	require.NoError(t, err)
	d, err := synth.Unpack(bits, b.Constraints(), b.Pins[0].Port)
	require.NoError(t, err)
	answers(t, b, d, sim.BuildOptions{Sim: sim.Icarus, Cache: t.TempDir()})
}
