package miniport_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// CollectDbgInfo lists the packets of the trace until the first empty entry, on a device
// that has one.
func TestCollectDbgInfoTrace(t *testing.T) {
	const caps2, trace0 = 0x48, 0x1200
	text := func(has uint32) string {
		k := newKernel(2)
		k.gpu.regs[caps2] = has
		require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
		_, s := k.start()
		require.Equal(t, ddi.StatusSuccess, s)
		for i, v := range []uint32{0x10000004, 900, 0x20015, 0x80000000, 0x04000005, 850, 0x401, 0} {
			k.gpu.regs[trace0+4*uint32(i)] = v
		}
		return k.debug(t)
	}
	got := text(4)
	assert.Contains(t, got, "CP0: the last packets, the newest first: address, header, low half of the time\n"+
		"   0x8000000000020014 FENCE 0x10000004 at 900\n"+
		"   0x0000000000000400 COPY 0x04000005 at 850\n")
	assert.NotContains(t, got, "CP1: the last packets")
	assert.Equal(t, 1, strings.Count(got, " at 850\n"))
	assert.NotContains(t, text(0), "the last packets")
}
