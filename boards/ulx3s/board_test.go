package ulx3s

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// TestPins: a host opens the board at its pins and reads its identity, also with a clock
// that is off by 2 %. The lights show the link and the session.
func TestPins(t *testing.T) {
	for _, fast := range []int{0, 20_000, -20_000} {
		m, err := New(2, 64<<10, 0)
		require.NoError(t, err)
		assert.Zero(t, m.LEDs())
		s := pins.NewSerial(m, Hz, Baud, fast)
		w, err := pins.New(s, pins.Options{Hz: Hz, Clocks: s.ByteClocks()})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		p := make([]byte, 4)
		require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
		assert.Equal(t, uint32(idreg.MagicValue), binary.LittleEndian.Uint32(p))
		assert.Equal(t, uint8(0b0011), m.LEDs())
		m.Reset()
		assert.Zero(t, m.LEDs())
	}
}
