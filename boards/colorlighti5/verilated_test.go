package colorlighti5

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// TestVerilated: the Verilog of the board takes the same clocks as the Go for the same work.
func TestVerilated(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, sim.Verilator.Tools()...)
	clocks := func(top pins.EtherBatch) uint64 {
		e := pins.NewEther(top, pins.EtherFaults{FCS: 0.02, Runt: 0.02, Oversize: 0.02, Carrier: 0.02, Seed: 7})
		w, err := pins.NewEtherWire(e, Address(), pins.Options{Hz: Hz})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		bustest.Exchange(t, link, 1024, 20)
		assert.Positive(t, e.Faulty().All())
		return w.Clocks()
	}
	m, err := New(Address(), 0)
	require.NoError(t, err)
	v, err := pins.NewEtherVerilated("../..", m, sim.BuildOptions{Cache: t.TempDir(), Unoptimized: true}, Outputs()...)
	require.NoError(t, err)
	want := clocks(pins.EtherClocked(m))
	assert.Equal(t, want, clocks(v))
	require.NoError(t, v.Close())
}
