package ulx3s

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/boards/pins/pinstest"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// config returns the configuration default with nodes and bytes of VRAM.
func config(nodes int, vram uint64) gpu.Config {
	c := gpu.Default()
	c.Nodes, c.VRAMBytes = nodes, vram
	return c
}

// A host opens the board at its pins and reads its identity, also with a clock that is off
// by 2 %, and with or without a change of the rate. The lights show the link and the session.
func TestPins(t *testing.T) {
	tooltest.Long(t)
	for _, c := range []struct {
		rates []int
		fast  int
	}{
		{[]int{115_200}, 0}, {[]int{115_200, 3_000_000}, 0}, {[]int{115_200, 3_000_000}, 20_000},
		{[]int{115_200, 3_000_000}, -20_000}, {[]int{115_200, 460_800}, 0},
	} {
		m, err := New(config(2, 64<<10), 0)
		require.NoError(t, err)
		assert.Zero(t, m.LEDs())
		s := pins.NewSerial(m, Hz, c.rates, c.fast)
		w, err := pins.New(s, pins.Options{Hz: Hz})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		p := make([]byte, 4)
		require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
		assert.Equal(t, uint32(idreg.MagicValue), binary.LittleEndian.Uint32(p))
		assert.Equal(t, uint8(0b0011), m.LEDs())
		most := c.rates[len(c.rates)-1]
		assert.InEpsilon(t, 10*Hz/most, s.ByteClocks(), 0.04, "%d bit/s", most)
		m.Reset()
		assert.Zero(t, m.LEDs())
	}
}

// Bulk transfers between the host and VRAM get at least 83 % of the line as payload, at the highest rate.
func TestShare(t *testing.T) {
	tooltest.Long(t)
	m, err := New(config(2, 64<<10), 0)
	require.NoError(t, err)
	pinstest.VRAMShare(t, pins.NewSerial(m, Hz, []int{115_200, 3_000_000}, 0), Hz, 3_000_000, 48<<10, 0.83)
}

// A board that is reset during a session is found again by the next Dial, at the first rate.
func TestResetOfRate(t *testing.T) {
	m, err := New(config(1, 64<<10), 0)
	require.NoError(t, err)
	s := pins.NewSerial(m, Hz, []int{115_200, 1_000_000}, 0)
	w, err := pins.New(s, pins.Options{Hz: Hz})
	require.NoError(t, err)
	for range 2 {
		_, err = w.Dial()
		require.NoError(t, err)
		assert.Equal(t, uint64(250), s.ByteClocks())
		m.Reset()
	}
}
