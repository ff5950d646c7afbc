package colorlighti5

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// opened returns the board, its PHY, and the link to it.
func opened(t *testing.T, f pins.EtherFaults) (*Module, *pins.Ether, *pins.Wire, *rootport.RootPort) {
	t.Helper()
	m, err := New(Address(), 0)
	require.NoError(t, err)
	e := pins.NewEther(pins.EtherClocked(m), f)
	w, err := pins.NewEtherWire(e, Address(), pins.Options{Hz: Hz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	return m, e, w, link
}

// TestPins: a host opens the board at its PHY, and uses registers and VRAM.
func TestPins(t *testing.T) {
	m, _, w, link := opened(t, pins.EtherFaults{})
	require.NoError(t, bustest.Enumerate(link))
	assert.Equal(t, uint8(1), m.LEDs())
	bustest.Exchange(t, link, 1024, 20)
	assert.Zero(t, w.Stats().Replays)
	m.Reset()
	assert.Zero(t, m.LEDs())
}

// TestFaultsAtThePins: under each fault at the PHY, what the host writes to VRAM it reads back.
func TestFaultsAtThePins(t *testing.T) {
	tooltest.Long(t)
	for name, f := range map[string]pins.EtherFaults{
		"fcs":      {FCS: 0.05, Seed: 1},
		"runt":     {Runt: 0.05, Seed: 2},
		"oversize": {Oversize: 0.05, Seed: 3},
		"carrier":  {Carrier: 0.05, Seed: 4},
		"unplug":   {Unplug: 0.05, Seed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			_, e, _, link := opened(t, f)
			require.NoError(t, bustest.Enumerate(link))
			bustest.Exchange(t, link, 1024, 100)
			assert.Greater(t, e.Faulty().All(), uint64(5))
		})
	}
}
