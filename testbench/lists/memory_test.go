package lists

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
)

// bytesOfList returns the mean memory of a live list with one update of 4 bytes.
func bytesOfList(t *testing.T, emulated bool) uint64 {
	t.Helper()
	drivers := testbench.HostDrivers()
	drivers.UserMode = umd.New(umd.Options{EmulatedLists: emulated})
	sys, err := testbench.Open("emu", drivers, testbench.Options{NoVerify: true})
	require.NoError(t, err)
	defer sys.Close()
	dev, _, err := sys.CreateDevice()
	require.NoError(t, err)
	defer dev.Close()
	buf, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, nil)
	require.NoError(t, err)
	c, err := dev.CreateDeferredContext(0)
	require.NoError(t, err)
	const n = 2000
	live := make([]*d3d11.CommandList, 0, n)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range n {
		c.UpdateSubresource(buf, 0, &d3d11.Box{Right: 4, Bottom: 1, Back: 1}, []byte{1, 2, 3, 4}, 0, 0)
		l, err := c.FinishCommandList(false)
		require.NoError(t, err)
		live = append(live, l)
	}
	used := heap() - before
	for _, l := range live {
		l.Release()
	}
	return used / n
}

// TestBytesOfAList: a live list of the runtime takes at most twice the memory of
// one of the driver.
func TestBytesOfAList(t *testing.T) {
	native, emulated := bytesOfList(t, false), bytesOfList(t, true)
	t.Logf("%d bytes natively, %d emulated", native, emulated)
	require.LessOrEqual(t, emulated, 2*native)
}
