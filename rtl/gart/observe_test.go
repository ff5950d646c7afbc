package gart_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/gart"
)

// An aperture tells its table only while it is enabled, and at most the pages that it has.
func TestTable(t *testing.T) {
	r := enabled(t, 1)
	table := func() []uint64 {
		addr, pages := r.m.Table()
		return []uint64{addr, uint64(pages)}
	}
	assert.Equal(t, []uint64{vramTable, tableSize}, table())
	r.set(gartreg.Pages, gartreg.PagesCount)
	assert.Equal(t, []uint64{vramTable, 524288}, table())
	r.set(gartreg.Ctl, 0)
	assert.Zero(t, table()[1])
}

// The entries that an access has read are kept, 8 at a time, as they were, until a flush.
func TestKept(t *testing.T) {
	r := enabled(t, 1)
	_, ok := r.m.Kept(9)
	require.False(t, ok, "before an access")
	require.Equal(t, gart.ResultDone, r.send(copyOf(start+9*page, 0x50, 9))[0].result)
	r.entry(vramTable, 9, 0)
	for n := range uint32(tableSize) {
		got, ok := r.m.Kept(n)
		require.Equal(t, n/8 == 1, ok, "page %d", n)
		if ok {
			require.Equal(t, valid(uint64(3*n+1)), got, "page %d", n)
		}
	}
	r.set(gartreg.Flush, gartreg.FlushBusy)
	_, ok = r.m.Kept(9)
	assert.False(t, ok, "after a flush")
}
