package hal_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/runtime/hal"
)

func TestAlloc(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name  string
		mem   uint64
		sizes []int
		align uint64
		want  []uint64 // addresses; 0: out of memory
	}{
		{"starts at 1 MiB, in pages", mib, []int{1, 4096, 4097, 1}, 0, []uint64{0x100000, 0x101000, 0x102000, 0x104000}},
		{"small alignments are a page", mib, []int{1, 1}, 16, []uint64{0x100000, 0x101000}},
		{"alignment", mib, []int{1, 1}, 0x10000, []uint64{0x100000, 0x110000}},
		{"to the last page", 8192, []int{4096, 4096, 1}, 0, []uint64{0x100000, 0x101000, 0}},
		{"more than the total", 8192, []int{8193}, 0, []uint64{0}},
		{"partial pages do not exist", 8191, []int{4097, 4096}, 0, []uint64{0, 0x100000}},
		{"nothing", mib, []int{0, -1}, 0, []uint64{0, 0}},
		{"alignment is a power of two", mib, []int{1}, 0x3000, []uint64{0}},
		{"alignment beyond memory", mib, []int{1}, 1 << 40, []uint64{0}},
		{"alignment beyond everything", mib, []int{1}, 1 << 63, []uint64{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := hal.New(tt.mem)
			for i, size := range tt.sizes {
				p, err := m.Alloc(size, tt.align)
				if tt.want[i] == 0 {
					require.ErrorIs(t, err, hal.ErrMemory)
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, tt.want[i], p.Phys)
				assert.Len(t, p.Bytes, size)
			}
		})
	}
}

// TestAllocHole allocates around the hole below 4 GiB: one block would extend a
// page into it, the other ends at its start.
func TestAllocHole(t *testing.T) {
	const gib = 1 << 30
	m := hal.New(5 * gib)
	assert.EqualValues(t, 5*gib, m.MemBytes())
	for _, want := range []uint64{gib, 2 * gib} {
		p, err := m.Alloc(hal.PageSize, gib)
		require.NoError(t, err)
		require.Equal(t, want, p.Phys)
	}
	over, err := m.Alloc(gib/2+hal.PageSize, gib)
	require.NoError(t, err)
	assert.EqualValues(t, hal.HoleEnd, over.Phys)
	below, err := m.Alloc(gib/2, gib)
	require.NoError(t, err)
	assert.EqualValues(t, hal.HoleBase, below.Phys+gib/2)
	last, err := m.Alloc(hal.PageSize, gib)
	require.NoError(t, err)
	assert.EqualValues(t, 5*gib, last.Phys)
	_, err = m.Alloc(hal.PageSize, gib)
	assert.ErrorIs(t, err, hal.ErrMemory)
}

// TestFree: gaps are filled first, with zeroes, and memory that is not
// allocated is refused.
func TestFree(t *testing.T) {
	m := hal.New(1 << 20)
	var p [3]hal.Pages
	for i := range p {
		var err error
		p[i], err = m.Alloc(2*hal.PageSize, 0)
		require.NoError(t, err)
	}
	p[1].Bytes[5] = 7
	m.Free(p[1])
	assert.Panics(t, func() { m.Free(p[1]) })
	assert.Panics(t, func() { m.Free(hal.Pages{Phys: p[0].Phys + hal.PageSize}) })
	big, err := m.Alloc(3*hal.PageSize, 0)
	require.NoError(t, err)
	assert.EqualValues(t, 7*hal.PageSize, m.InUse())
	assert.Greater(t, big.Phys, p[2].Phys)
	again, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	assert.Equal(t, p[1].Phys, again.Phys)
	assert.Zero(t, again.Bytes[5])
}

// TestReach: the device may access entire allocated pages.
func TestReach(t *testing.T) {
	m := hal.New(1 << 20)
	a, err := m.Alloc(100, 0)
	require.NoError(t, err)
	b, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	c, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	m.Free(b)
	for _, tt := range []struct {
		name string
		addr uint64
		n    int
		ok   bool
	}{
		{"first byte", a.Phys, 1, true},
		{"rest of the page", a.Phys + 100, hal.PageSize - 100, true},
		{"one byte more", a.Phys + 100, hal.PageSize - 99, false},
		{"before", a.Phys - 1, 2, false},
		{"freed", b.Phys, 4, false},
		{"into the next page", c.Phys - 4, 8, false},
		{"next", c.Phys, hal.PageSize, true},
		{"after", c.Phys + hal.PageSize, 1, false},
		{"zero", 0, 4, false},
		{"wraps", 1<<64 - 4, 8, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := make([]byte, tt.n)
			if tt.ok {
				assert.NoError(t, m.ReadMem(tt.addr, p))
				assert.NoError(t, m.WriteMem(tt.addr, p))
				return
			}
			assert.ErrorIs(t, m.ReadMem(tt.addr, p), hal.ErrNotPinned)
			assert.ErrorIs(t, m.WriteMem(tt.addr, p), hal.ErrNotPinned)
		})
	}
}

// TestTransfer copies bytes across two adjacent blocks. A refused write writes
// nothing.
func TestTransfer(t *testing.T) {
	m := hal.New(1 << 20)
	a, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	b, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	require.NoError(t, m.WriteMem(b.Phys-2, []byte{1, 2, 3, 4}))
	assert.Equal(t, []byte{1, 2}, a.Bytes[hal.PageSize-2:])
	assert.Equal(t, []byte{3, 4}, b.Bytes[:2])
	got := make([]byte, 4)
	require.NoError(t, m.ReadMem(b.Phys-2, got))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.Error(t, m.WriteMem(b.Phys+hal.PageSize-1, []byte{9, 9}))
	assert.Zero(t, b.Bytes[hal.PageSize-1])
}

// TestAllocModel compares the allocator with a map of pages.
func TestAllocModel(t *testing.T) {
	const pages = 32
	rapid.Check(t, func(t *rapid.T) {
		m := hal.New(pages * hal.PageSize)
		var used [pages]bool
		var live []hal.Pages
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				m.Free(live[i])
				for n := range len(live[i].Bytes) / hal.PageSize {
					used[page(live[i].Phys)+n] = false
				}
				live = append(live[:i], live[i+1:]...)
				continue
			}
			n := rapid.IntRange(1, 6).Draw(t, "pages")
			step := 1 << rapid.IntRange(0, 2).Draw(t, "align")
			want := firstFit(used[:], n, step)
			p, err := m.Alloc(n*hal.PageSize, uint64(step)*hal.PageSize)
			if want < 0 {
				require.ErrorIs(t, err, hal.ErrMemory)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, page(p.Phys))
			for i := range n {
				used[want+i] = true
			}
			live = append(live, p)
		}
	})
}

func page(phys uint64) int { return int(phys-hal.MemBase) / hal.PageSize }

// firstFit returns the first multiple of step with n free pages, or -1. MemBase
// is a multiple of every alignment used.
func firstFit(used []bool, n, step int) int {
	for at := 0; at+n <= len(used); at += step {
		free := true
		for _, u := range used[at : at+n] {
			free = free && !u
		}
		if free {
			return at
		}
	}
	return -1
}

// The observer sees the writes of a device that reach memory.
func TestObserveWrites(t *testing.T) {
	m := hal.New(1 << 20)
	p, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	var seen []string
	m.ObserveWrites(func(addr uint64, b []byte) { seen = append(seen, fmt.Sprintf("%#x %v", addr-p.Phys, b)) })
	require.NoError(t, m.WriteMem(p.Phys+4, []byte{1, 2}))
	require.Error(t, m.WriteMem(p.Phys+hal.PageSize, []byte{3}))
	require.NoError(t, m.ReadMem(p.Phys, make([]byte, 8)))
	m.ObserveWrites(nil)
	require.NoError(t, m.WriteMem(p.Phys, []byte{4}))
	require.Equal(t, []string{"0x4 [1 2]"}, seen)
}

// The observer sees the reads of a device, and not those of PeekMem.
func TestPeekMem(t *testing.T) {
	m := hal.New(1 << 20)
	p, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	copy(p.Bytes[4:], []byte{1, 2})
	var seen []string
	m.ObserveReads(func(addr uint64, b []byte) { seen = append(seen, fmt.Sprintf("%#x %v", addr-p.Phys, b)) })
	b := make([]byte, 2)
	require.NoError(t, m.PeekMem(p.Phys+4, b))
	require.Equal(t, []byte{1, 2}, b)
	require.ErrorIs(t, m.PeekMem(p.Phys+hal.PageSize, b), hal.ErrNotPinned)
	require.Empty(t, seen)
	require.NoError(t, m.ReadMem(p.Phys+4, b))
	require.Equal(t, []string{"0x4 [1 2]"}, seen)
}

// The observer of refused accesses sees those that do not reach memory, and no others.
func TestObserveRefused(t *testing.T) {
	m := hal.New(1 << 20)
	p, err := m.Alloc(hal.PageSize, 0)
	require.NoError(t, err)
	var seen []string
	m.ObserveRefused(func(addr uint64, n int, write bool) {
		seen = append(seen, fmt.Sprintf("%#x %d %t", addr-p.Phys, n, write))
	})
	require.NoError(t, m.WriteMem(p.Phys, []byte{1}))
	require.NoError(t, m.ReadMem(p.Phys, make([]byte, 4)))
	require.ErrorIs(t, m.WriteMem(p.Phys+hal.PageSize-1, []byte{1, 2}), hal.ErrNotPinned)
	require.ErrorIs(t, m.ReadMem(p.Phys+hal.PageSize, make([]byte, 8)), hal.ErrNotPinned)
	require.ErrorIs(t, m.PeekMem(p.Phys+hal.PageSize, make([]byte, 8)), hal.ErrNotPinned)
	require.Equal(t, []string{"0xfff 2 true", "0x1000 8 false"}, seen)
}

// Refuse decides about each allocation, of both kinds.
func TestRefuse(t *testing.T) {
	m := hal.New(1 << 20)
	var asked []int
	m.Refuse(func(bytes int) bool {
		asked = append(asked, bytes)
		return len(asked)%2 == 1
	})
	_, err := m.Alloc(100, 0)
	require.ErrorIs(t, err, hal.ErrMemory)
	p, err := m.Alloc(100, 0)
	require.NoError(t, err)
	_, err = m.AllocList(5000, 1<<40)
	require.ErrorIs(t, err, hal.ErrMemory)
	l, err := m.AllocList(5000, 1<<40)
	require.NoError(t, err)
	assert.Equal(t, []int{100, 100, 5000, 5000}, asked)
	assert.EqualValues(t, 3*hal.PageSize, m.InUse(), "what was refused takes nothing")
	m.Refuse(nil)
	_, err = m.Alloc(1, 0)
	require.NoError(t, err)
	m.Free(p)
	m.Free(l)
}

// AllocFrom moves later memory up, and leaves earlier memory where it is.
func TestAllocFrom(t *testing.T) {
	m := hal.New(1 << 40)
	low, err := m.Alloc(1, 0)
	require.NoError(t, err)
	m.AllocFrom(1<<39 + 1)
	high, err := m.Alloc(1, 0)
	require.NoError(t, err)
	assert.Equal(t, []uint64{hal.MemBase, 1<<39 + hal.PageSize}, []uint64{low.Phys, high.Phys})
	m.AllocFrom(1 << 41)
	_, err = m.Alloc(1, 0)
	assert.ErrorIs(t, err, hal.ErrMemory)
}
