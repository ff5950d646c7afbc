package ice40hx8k

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// TestPins: a host opens the board at its pins and reads its identity, also with a clock
// that is off by 2 %.
func TestPins(t *testing.T) {
	for _, fast := range []int{0, 20_000, -20_000} {
		m, err := New(0)
		require.NoError(t, err)
		w, err := pins.New(pins.NewSerial(m, Hz, []int{Baud}, fast), pins.Options{Hz: Hz})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		p := make([]byte, 4)
		require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
		t.Logf("%x", p)
	}
}
