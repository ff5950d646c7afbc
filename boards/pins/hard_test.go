package pins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

func TestHardRead(t *testing.T) {
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	w, err := New(both[1].newDevice(t, dev), Options{Clocks: 16})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	p := make([]byte, 4)
	for range 3 {
		w.Run(200_000)
		at := w.clock
		require.NoError(t, link.Read(0, bustest.RegMagic, p))
		t.Log(w.clock-at, "clocks", p)
	}
}
