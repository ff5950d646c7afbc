package storm

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// A node may read the whole ring that it has, and no more, and only while it changes its ring also the one before. The
// rings of the nodes are apart.
func TestAllowedRings(t *testing.T) {
	reads := func(a *allowed, addr uint64, n int) bool {
		a.check(addr, n, false)
		ok := a.bad == nil
		a.bad = nil
		return ok
	}
	ring := func(at, n uint64) refmodel.Range { return span(pkt.Host|at, n) }
	no := func() error { return nil }
	var a allowed
	assert.NoError(t, a.start(0, ring(0x1000, 256), no))
	assert.NoError(t, a.start(1, ring(0x5000, 512), no))
	a.begin()
	assert.True(t, reads(&a, 0x1000, 256))
	assert.False(t, reads(&a, 0x10fc, 8), "beyond the end")
	assert.False(t, reads(&a, 0x1100, 4), "after the end")
	assert.False(t, reads(&a, 0xffc, 4), "before it")
	a.check(0x1000, 4, true)
	assert.Error(t, a.bad, "a write")
	a.bad = nil

	failed := errors.New("failed")
	assert.Equal(t, failed, a.start(0, ring(0x2000, 256), func() error {
		assert.True(t, reads(&a, 0x1000, 4))
		assert.True(t, reads(&a, 0x2000, 4))
		return failed
	}))
	assert.False(t, reads(&a, 0x1000, 4))
	assert.True(t, reads(&a, 0x2000, 4))
	assert.NoError(t, a.start(0, refmodel.Range{}, no))
	assert.False(t, reads(&a, 0x2000, 4), "no ring")
	assert.NoError(t, a.start(0, span(0x2000, 256), no))
	assert.False(t, reads(&a, 0x2000, 4), "a ring in VRAM")
	assert.True(t, reads(&a, 0x51fc, 4), "the other node")
}
