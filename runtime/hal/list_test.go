package hal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/hal"
)

// TestAllocListModel compares AllocList, between other allocations, with a map of pages. The
// device reads at each address what the page has in Bytes.
func TestAllocListModel(t *testing.T) {
	const pages = 32
	rapid.Check(t, func(t *rapid.T) {
		m := hal.New(pages * hal.PageSize)
		var used [pages]bool
		var live []hal.Pages
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case len(live) > 0 && rapid.Bool().Draw(t, "free"):
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				m.Free(live[i])
				for _, phys := range addresses(live[i]) {
					used[page(phys)] = false
				}
				live = append(live[:i], live[i+1:]...)
			case rapid.Bool().Draw(t, "contiguous"):
				if p, err := m.Alloc(hal.PageSize*rapid.IntRange(1, 3).Draw(t, "pages"), 0); err == nil {
					take(t, &used, p)
					live = append(live, p)
				}
			default:
				n, top := rapid.IntRange(1, 6).Draw(t, "pages"), rapid.IntRange(0, pages).Draw(t, "top")
				want := highest(used[:top], n)
				p, err := m.AllocList(n*hal.PageSize-1, hal.MemBase+uint64(top)*hal.PageSize)
				if want == nil {
					require.ErrorIs(t, err, hal.ErrMemory)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want, p.List)
				require.Equal(t, want[0], p.Phys)
				take(t, &used, p)
				checkPages(t, m, p)
				live = append(live, p)
			}
			var n uint64
			for _, p := range live {
				n += uint64(len(addresses(p))) * hal.PageSize
			}
			require.Equal(t, n, m.InUse())
		}
	})
}

// addresses returns the addresses of all pages.
func addresses(p hal.Pages) []uint64 {
	if p.List != nil {
		return p.List
	}
	var list []uint64
	for at := 0; at < len(p.Bytes); at += hal.PageSize {
		list = append(list, p.Phys+uint64(at))
	}
	return list
}

// take marks the pages as used, which were free.
func take(t *rapid.T, used *[32]bool, p hal.Pages) {
	for _, phys := range addresses(p) {
		require.False(t, used[page(phys)], "page %#x has two owners", phys)
		used[page(phys)] = true
	}
}

// highest returns the addresses of the n highest free pages, from the highest on, or nil.
func highest(used []bool, n int) (list []uint64) {
	for i := len(used) - 1; i >= 0 && len(list) < n; i-- {
		if !used[i] {
			list = append(list, hal.MemBase+uint64(i)*hal.PageSize)
		}
	}
	if len(list) < n {
		return nil
	}
	return list
}

// checkPages writes each page through its address and reads it through Bytes, and the reverse.
func checkPages(t *rapid.T, m *hal.Machine, p hal.Pages) {
	for i, phys := range p.List {
		text := fmt.Appendf(nil, "page %d", i)
		require.NoError(t, m.WriteMem(phys, text))
		require.Equal(t, text, p.Bytes[i*hal.PageSize:][:len(text)])
		p.Bytes[i*hal.PageSize+9] = byte(i + 1)
		got := make([]byte, 1)
		require.NoError(t, m.ReadMem(phys+9, got))
		require.Equal(t, byte(i+1), got[0])
	}
}

// TestAllocListHole: no page is in the hole below 4 GiB, and none that is free is left out.
func TestAllocListHole(t *testing.T) {
	const gib = 1 << 30
	m := hal.New(5 * gib)
	p, err := m.AllocList(3*hal.PageSize, hal.HoleEnd+2*hal.PageSize)
	require.NoError(t, err)
	assert.Equal(t, []uint64{hal.HoleEnd + hal.PageSize, hal.HoleEnd, hal.HoleBase - hal.PageSize}, p.List)
	q, err := m.AllocList(1, 1<<63)
	require.NoError(t, err)
	assert.Equal(t, []uint64{5*gib + hal.HoleEnd - hal.HoleBase + hal.MemBase - hal.PageSize}, q.List)
	m.Free(p)
	m.Free(q)
	assert.Zero(t, m.InUse())
	_, err = m.AllocList(0, 1<<63)
	require.ErrorIs(t, err, hal.ErrMemory)
	_, err = m.AllocList(5*gib+1, 1<<63)
	require.ErrorIs(t, err, hal.ErrMemory)
}
