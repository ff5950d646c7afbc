package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// pagesAt is where the pages of the aperture of withAperture are in host memory.
const pagesAt = 0x20000

// withAperture boots a GPU with an aperture of 32 pages, whose table is at a GPU address. Page i is
// page 5*i%32 from pagesAt.
func withAperture(t *testing.T, table uint64) *machine {
	c := small()
	c.Caps |= caps.GART | caps.ReadTimeout
	m := boot(t, c, 1)
	m.mapPages(table, 32)
	return m
}

// mapPages makes an aperture of n pages, in 32 pages of host memory.
func (m *machine) mapPages(table, n uint64) {
	for i := range n {
		m.entry(table, i, memBase+pagesAt+5*i%32*gartreg.PageBytes|gartreg.EntryValid|gartreg.EntryWritable)
	}
	m.writeReg(gartreg.Base+gartreg.TableLo, uint32(table))
	m.writeReg(gartreg.Base+gartreg.TableHi, uint32(table>>32))
	m.writeReg(gartreg.Base+gartreg.Pages, uint32(n))
	m.writeReg(gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
}

// entry writes an entry of a table.
func (m *machine) entry(table, page, e uint64) {
	p := put64(nil, e)
	if table&host != 0 {
		copy(m.mem[table&^host-memBase+8*page:], p)
		return
	}
	m.g.PokeVRAM(table+8*page, p)
}

// paged returns the bytes of host memory at an address in the aperture, up to the end of the page.
func (m *machine) paged(addr uint64) []byte {
	page := (addr - gartreg.Start) / gartreg.PageBytes
	at := pagesAt + 5*page%32*gartreg.PageBytes
	return m.mem[at+addr%gartreg.PageBytes : at+gartreg.PageBytes]
}

// A ring in the aperture cannot be read.
func TestRingInTheAperture(t *testing.T) {
	m := withAperture(t, at(0x8000))
	m.writeReg(cpreg.Base+cpreg.Ctl, 0)
	m.writeReg(cpreg.Base+cpreg.RingHi, uint32(gartreg.Start>>32))
	m.writeReg(cpreg.Base+cpreg.RingLo, 0)
	m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun)
	m.writeReg(cpreg.Base+cpreg.Wptr, 1)
	m.idle()
	assert.EqualValues(t, cpreg.CauseRing, m.node(0, cpreg.FaultInfo))
	assert.EqualValues(t, gartreg.Start>>32, m.node(0, cpreg.FaultBadH))
}

// Two nodes copy through the aperture at once, each from page to page, with the table in either
// memory.
func TestApertureOfTwoNodes(t *testing.T) {
	for _, table := range []uint64{0x1000, at(0x8000)} {
		for _, stall := range []int{0, 30} {
			m := withAperture(t, table)
			m.stall, m.shuffle, m.latency = stall, stall != 0, 40
			var want [2][]byte
			for n := range uint64(2) {
				from := gartreg.Start + n*16*gartreg.PageBytes
				for i := range uint64(3) {
					want[n] = append(want[n], m.paged(from+i*gartreg.PageBytes)...)
				}
				m.submit(int(n), pkt.Copy{Src: from + 5, Dst: from + 8*gartreg.PageBytes + 9, Bytes: 2 * gartreg.PageBytes}, fence(int(n), 7))
			}
			m.run(50_000, func() bool { return m.fence(0) == 7 && m.fence(1) == 7 })
			for n := range uint64(2) {
				var got []byte
				for i := range uint64(3) {
					got = append(got, m.paged(gartreg.Start+(n*16+8+i)*gartreg.PageBytes)...)
				}
				require.Equal(t, want[n][5:][:2*gartreg.PageBytes], got[9:][:2*gartreg.PageBytes], "node %d, table %#x", n, table)
			}
			require.Zero(t, m.readReg(gartreg.Base+gartreg.Fault))
		}
	}
}

// A page that cannot be accessed stops its node, and the other one goes on. The node continues after
// a repair of the table, a flush and a clear of the fault.
func TestPageFault(t *testing.T) {
	m := withAperture(t, at(0x8000))
	m.entry(at(0x8000), 3, 0)
	bad := uint64(gartreg.Start + 3*gartreg.PageBytes)
	m.submit(1, pkt.Copy{Src: bad - 8, Dst: 0x40, Bytes: 16}, fence(1, 7))
	m.submit(0, pkt.Copy{Src: gartreg.Start, Dst: 0x80, Bytes: 64}, fence(0, 9))
	m.run(50_000, func() bool { return m.fence(0) == 9 })
	m.idle()
	assert.EqualValues(t, cpreg.CausePage, m.node(1, cpreg.FaultInfo))
	assert.Equal(t, [2]uint32{uint32(bad - 8), uint32(gartreg.Start >> 32)}, [2]uint32{m.node(1, cpreg.FaultBad), m.node(1, cpreg.FaultBadH)})
	info := uint32(gartreg.FaultValid | gartreg.FaultNode | gartreg.KindInvalid<<4)
	assert.Equal(t, []uint32{info, uint32(bad), uint32(gartreg.Start >> 32)}, []uint32{
		m.readReg(gartreg.Base + gartreg.Fault), m.readReg(gartreg.Base + gartreg.FaultLo), m.readReg(gartreg.Base + gartreg.FaultHi),
	})
	got := make([]byte, 16)
	m.g.PeekVRAM(0x40, got)
	assert.Equal(t, m.paged(bad-8), got[:8], "the part before the page")
	m.entry(at(0x8000), 3, memBase+pagesAt|gartreg.EntryValid)
	m.writeReg(gartreg.Base+gartreg.Flush, gartreg.FlushBusy)
	m.run(1000, func() bool { return m.readReg(gartreg.Base+gartreg.Flush) == 0 })
	m.writeReg(cpreg.Base+cpreg.Stride+cpreg.FaultInfo, 0)
	m.writeReg(cpreg.Base+cpreg.Stride+cpreg.Ctl, cpreg.CtlRun)
	m.run(50_000, func() bool { return m.fence(1) == 7 })
	m.g.PeekVRAM(0x40, got)
	assert.Equal(t, m.mem[pagesAt:][:8], got[8:])
}

// A short copy reads what the packet before it has written, whichever addresses both have: two pages
// of the aperture, or one of them and its memory.
func TestApertureAliases(t *testing.T) {
	const first, second = gartreg.Start + gartreg.PageBytes, gartreg.Start + 9*gartreg.PageBytes
	memory := at(pagesAt + 5*gartreg.PageBytes)
	for name, tt := range map[string]struct{ written, read uint64 }{
		"two pages": {first, second}, "a page, then its memory": {first, memory}, "memory, then a page of it": {memory, second},
	} {
		for _, from := range []uint64{0x100, 0x100 + 1000, 0xf0} {
			m := withAperture(t, 0x1000)
			m.latency = 60
			m.entry(0x1000, 9, memory&^host|gartreg.EntryValid|gartreg.EntryWritable)
			m.submit(0, pkt.Copy{Src: first, Dst: 0x8000, Bytes: 8}, pkt.Copy{Src: second, Dst: 0x8000, Bytes: 8}, // entries are kept
				pkt.Fill{Dst: tt.written + 0x100, Bytes: 1024, Value: 0x5555555555555555},
				pkt.Copy{Src: tt.read + from, Dst: 0x4000, Bytes: 64}, fence(0, 5))
			m.run(50_000, func() bool { return m.fence(0) == 5 })
			got := make([]byte, 64)
			m.g.PeekVRAM(0x4000, got)
			require.Equal(t, m.mem[memory&^host-memBase+from:][:64], got, "%s, from %#x", name, from)
			require.Contains(t, got, byte(0x55))
		}
	}
}

// mapAgain enables the aperture after a reset, with its table in VRAM.
func (m *machine) mapAgain() {
	m.entry(0x1000, 0, memBase+pagesAt|gartreg.EntryValid|gartreg.EntryWritable)
	m.writeReg(gartreg.Base+gartreg.TableLo, 0x1000)
	m.writeReg(gartreg.Base+gartreg.Pages, 1)
	m.writeReg(gartreg.Base+gartreg.Ctl, gartreg.CtlEnable)
}

// A read of the table that the host never answers ends after the time-out, as a fault. Without a
// time-out a node reset waits for it, and a reset of the device ends both.
func TestTableIsNeverAnswered(t *testing.T) {
	for _, timeout := range []uint32{1, 0} {
		m := withAperture(t, at(0x8000))
		m.writeReg(idreg.ReadTimeout, timeout)
		lost := false
		m.bus.Took = func(r port.Request) {
			m.header(r)
			if r.Addr == memBase+0x8000 {
				m.bus.Latency, lost = never/2, true
			}
		}
		m.submit(0, pkt.Fill{Dst: gartreg.Start, Bytes: 8, Value: 1})
		m.run(1000, func() bool { return lost })
		if timeout != 0 {
			m.run(50_000, func() bool { return m.node(0, cpreg.FaultInfo) != 0 })
			assert.EqualValues(t, cpreg.CausePage, m.node(0, cpreg.FaultInfo))
			assert.EqualValues(t, gartreg.FaultValid|gartreg.FaultWrite|gartreg.KindTable<<4, m.readReg(gartreg.Base+gartreg.Fault))
			continue
		}
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
		m.ticks(20_000)
		require.EqualValues(t, cpreg.CtlReset, m.node(0, cpreg.Ctl))
		m.wholeReset()
		m.configure()
		m.mapAgain()
		m.submit(0, pkt.Fill{Dst: gartreg.Start, Bytes: 8, Value: 0x1122}, fence(0, 5))
		m.run(50_000, func() bool { return m.fence(0) == 5 })
		assert.EqualValues(t, 0x1122, le.Uint64(m.mem[pagesAt:]))
	}
}

// With a host that answers after 64 clocks, a copy through the aperture moves at least 7 bytes a
// clock from doorbell to fence if the table is in VRAM, and 6 if it is in host memory. Pages that
// follow each other in the aperture do not in host memory.
func TestThroughputOfTheAperture(t *testing.T) {
	const n = 1 << 20
	const pages = 2 * n / gartreg.PageBytes
	const first, second = gartreg.Start, gartreg.Start + n
	c := gpu.Default()
	c.Caps |= caps.GART | caps.ReadTimeout
	for _, table := range []struct {
		name string
		at   uint64
		want float64 // bytes a clock
	}{{"VRAM", 0x7f0000, 7}, {"host memory", at(0x8000), 6}} {
		for _, tt := range []struct {
			name     string
			src, dst uint64
		}{
			{"from the aperture", first, 0x200000},
			{"from the aperture, unaligned", first + 5, 0x200003},
			{"into the aperture", 0, first},
			{"into the aperture, unaligned", 3, first + 5},
			{"in the aperture", first, second},
		} {
			m := boot(t, c, 1)
			m.latency = 64
			m.mapPages(table.at, pages)
			const bytes = n - 16
			m.submit(0, pkt.Copy{Src: tt.src, Dst: tt.dst, Bytes: bytes}, pkt.Fence{Addr: 0x600000, ID: 1})
			start, p := m.clock, make([]byte, 1)
			m.run(n, func() bool { m.g.PeekVRAM(0x600000, p); return p[0] == 1 })
			rate := float64(bytes) / float64(m.clock-start)
			t.Logf("table in %-11s  %-29s %.2f bytes a clock", table.name, tt.name, rate)
			assert.GreaterOrEqual(t, rate, table.want, "%s, table in %s", tt.name, table.name)
		}
	}
}
