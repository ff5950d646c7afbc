package ice40hx8k

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/boards/pins/pinstest"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestPins: a host opens the board at its pins and reads its identity, also with a clock
// that is off by 2 %, and at each rate. After a session the board is at the first rate.
func TestPins(t *testing.T) {
	tooltest.Long(t)
	for _, baud := range Rates() {
		clocks := []int{0}
		if baud == 2_000_000 {
			clocks = []int{0, 20_000, -20_000}
		}
		for _, fast := range clocks {
			m, err := New(0)
			require.NoError(t, err)
			s := pins.NewSerial(m, Hz, slices.Compact([]int{115_200, baud}), fast)
			w, err := pins.New(s, pins.Options{Hz: Hz})
			require.NoError(t, err)
			link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
			require.NoError(t, err)
			require.NoError(t, bustest.Enumerate(link))
			p := make([]byte, 4)
			require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
			require.Equal(t, uint32(idreg.MagicValue), binary.LittleEndian.Uint32(p))
			require.Equal(t, baud, s.Baud())
			require.InEpsilon(t, 16*Hz/float64(baud), periodOf(m.link.Rate()), 0.005)
			require.NoError(t, link.Reopen())
			require.Equal(t, baud, s.Baud())
			require.NoError(t, link.Close())
			w.Run(Hz / 1000 * 26)
			require.Zero(t, m.link.Rate())
		}
	}
}

// TestShare: bulk transfers between the host and VRAM get at least 70 % of the line as payload.
func TestShare(t *testing.T) {
	m, err := New(0)
	require.NoError(t, err)
	pinstest.VRAMShare(t, pins.NewSerial(m, Hz, Rates(), 0), Hz, 2_000_000, VRAMBytes, 0.7)
}
