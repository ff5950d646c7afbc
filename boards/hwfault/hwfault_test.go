package hwfault_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

const vramBytes = 8 << 10

// open connects a host to a GPU with the named faults.
func open(t require.TestingT, texts ...string) (*gpu.GPU, *hwfault.Device, bus.Link) {
	c := gpu.Default()
	c.VRAMBytes = vramBytes
	g, err := gpu.New(c)
	require.NoError(t, err)
	var faults []hwfault.Fault
	for _, text := range texts {
		f, err := hwfault.Parse(text, vramBytes, 0)
		require.NoError(t, err)
		faults = append(faults, f)
	}
	d := hwfault.New(g, vramBytes, faults)
	link, err := inproc.New(d, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	return g, d, link
}

// A memory is the reference model of broken memory, built from the definition
// of the faults: the lines act on each access.
type memory struct {
	cells  map[uint64]uint32 // by dword
	stuck  map[int]bool      // address lines and their level
	short  [2]int            // address lines, or 0
	or     bool              // level of shorted lines that are driven apart
	data   map[int]bool      // data lines of the word and their levels
	broken string            // dead lanes, which read as 0xff
}

func (m *memory) cell(addr uint64) uint64 {
	bit := func(n int) bool { return addr>>n&1 != 0 }
	set := func(n int, v bool) {
		addr &^= 1 << n
		if v {
			addr |= 1 << n
		}
	}
	for n, v := range m.stuck {
		set(n, v)
	}
	if m.short[0] != 0 {
		both := bit(m.short[0]) && bit(m.short[1]) || m.or && (bit(m.short[0]) || bit(m.short[1]))
		set(m.short[0], both)
		set(m.short[1], both)
	}
	return addr
}

func (m *memory) read(addr uint64) uint32 {
	v := m.cells[m.cell(addr)]
	half := int(addr & 4 * 8)
	for n, level := range m.data {
		if n >= half && n < half+32 {
			v &^= 1 << (n - half)
			if level {
				v |= 1 << (n - half)
			}
		}
	}
	for _, lane := range m.broken {
		if at := int(lane-'0') - half/8; at >= 0 && at < 4 {
			v |= 0xff << (8 * at)
		}
	}
	return v
}

// TestMemory compares a host's reads of a broken VRAM with the reference model,
// for random faults and accesses.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memory{cells: map[uint64]uint32{}, stuck: map[int]bool{}, data: map[int]bool{}}
		var texts []string
		level := func(v bool) int { return map[bool]int{true: 1}[v] }
		lines := rapid.Permutation([]int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "lines")
		for i := range rapid.IntRange(0, 3).Draw(t, "stuck lines") {
			v := rapid.Bool().Draw(t, "level")
			m.stuck[lines[i]] = v
			texts = append(texts, fmt.Sprintf("stuck-address:A%d=%d", lines[i], level(v)))
		}
		if rapid.Bool().Draw(t, "short") {
			m.short = [2]int{lines[8], lines[9]}
			m.or = rapid.Bool().Draw(t, "or")
			texts = append(texts, fmt.Sprintf("short-address:A%d-A%d=%d", lines[8], lines[9], level(m.or)))
		}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 63), 0, 3, rapid.ID[int]).Draw(t, "data lines") {
			v := rapid.Bool().Draw(t, "level")
			if lane := rapid.Bool().Draw(t, "lane"); lane {
				m.broken += fmt.Sprint(n / 8)
				texts = append(texts, fmt.Sprintf("dead-lane:%d", n/8))
				continue
			}
			m.data[n] = v
			texts = append(texts, fmt.Sprintf("stuck-data:D%d=%d", n, level(v)))
		}
		for _, lane := range m.broken {
			for n := range m.data {
				if n/8 == int(lane-'0') {
					t.Skip("a dead lane cannot also have a stuck line")
				}
			}
		}
		g, _, link := open(t, texts...)
		defer link.Close()
		offs := rapid.OneOf(rapid.Uint64Range(0, vramBytes-64), rapid.SampledFrom([]uint64{0, 8, 1 << 7, 1 << 12, vramBytes - 64}))
		for range 30 {
			off, n := offs.Draw(t, "offset")&^3, rapid.IntRange(1, 16).Draw(t, "dwords")
			p := make([]byte, 4*n)
			if rapid.Bool().Draw(t, "write") {
				for i := range n {
					v := rapid.Uint32().Draw(t, "value")
					binary.LittleEndian.PutUint32(p[4*i:], v)
				}
				require.NoError(t, link.Write(2, off, p))
				for i := range n {
					m.cells[m.cell(off+4*uint64(i))] = binary.LittleEndian.Uint32(p[4*i:])
				}
			}
			require.NoError(t, link.Read(2, off, p))
			peek := make([]byte, len(p))
			g.PeekVRAM(off, peek)
			require.Equal(t, p, peek, "the GPU and the host see the same memory")
			for i := range n {
				at := off + 4*uint64(i)
				require.Equal(t, m.read(at), binary.LittleEndian.Uint32(p[4*i:]), "%v at %#x", texts, at)
			}
		}
	})
}

// Faults also apply to the previous contents of the memory.
func TestMemoryHeld(t *testing.T) {
	c := gpu.Default()
	c.VRAMBytes = vramBytes
	g, err := gpu.New(c)
	require.NoError(t, err)
	m := &memory{cells: map[uint64]uint32{}, stuck: map[int]bool{5: true}, short: [2]int{9, 7}, data: map[int]bool{3: false, 40: true}, broken: "7"}
	rng := rand.New(rand.NewPCG(8, 0))
	var faults []hwfault.Fault
	for _, text := range []string{"stuck-address:A5=1", "short-address:A9-A7", "stuck-data:D3=0", "stuck-data:D40=1", "dead-lane:7"} {
		f, err := hwfault.Parse(text, vramBytes, 0)
		require.NoError(t, err)
		faults = append(faults, f)
	}
	for off := uint64(0); off < vramBytes; off += 4 {
		v := rng.Uint32()
		g.PokeVRAM(off, binary.LittleEndian.AppendUint32(nil, v))
		if m.cell(off) == off {
			m.cells[off] = v
		}
	}
	link, err := inproc.New(hwfault.New(g, vramBytes, faults), bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	all := make([]byte, vramBytes)
	require.NoError(t, link.Read(2, 0, all))
	for off := uint64(0); off < vramBytes; off += 4 {
		require.Equal(t, m.read(off), binary.LittleEndian.Uint32(all[off:]), "at %#x", off)
	}
}

// A host that finds BAR0 already placed by an earlier host sees a stuck line
// too.
func TestStuckRegisterFound(t *testing.T) {
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	before, err := inproc.New(g, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(before))
	after, err := inproc.New(hwfault.New(g, vramBytes, []hwfault.Fault{{Kind: hwfault.StuckRegister, Line: 3, High: true}}), bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	p := make([]byte, 4)
	require.NoError(t, after.Read(0, idreg.Scratch0, p))
	assert.Equal(t, []byte{8, 0, 0, 0}, p)
}

// A lane whose enable is stuck on is written by every write of its word; the
// other lanes are not.
func TestStuckEnable(t *testing.T) {
	for lane := range 8 {
		g, d, link := open(t, fmt.Sprintf("stuck-enable:%d", lane))
		for half := range uint64(2) {
			require.NoError(t, link.Write(2, 64, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
			require.NoError(t, link.Write(2, 64+4*half, []byte{0x91, 0x92, 0x93, 0x94}))
			require.NoError(t, link.Read(2, 64, make([]byte, 4)))
			got := make([]byte, 8)
			g.PeekVRAM(64, got)
			for i := range 8 {
				inside := uint64(i)/4 == half
				switch {
				case inside:
					assert.Equal(t, byte(0x91+i%4), got[i], "lane %d of %d", i, lane)
				case i == lane:
					assert.NotEqual(t, byte(1+i), got[i], "lane %d of %d", i, lane)
				default:
					assert.Equal(t, byte(1+i), got[i], "lane %d of %d", i, lane)
				}
			}
		}
		assert.EqualValues(t, 1, d.Injected(), "the fault affects only the half without the lane")
		require.NoError(t, link.Close())
	}
}

// Two shorted data lines are 1 only if both are written as 1, or if at least
// one is.
func TestShortData(t *testing.T) {
	_, _, link := open(t, "short-data:D2-D5")
	defer link.Close()
	p := make([]byte, 4)
	for _, tt := range [][2]byte{{0x24, 0x24}, {0x04, 0}, {0x20, 0}, {0xfb, 0xdb}, {0xdf, 0xdb}, {0xff, 0xff}} {
		require.NoError(t, link.Write(2, 0, []byte{tt[0], 0, 0, 0}))
		require.NoError(t, link.Read(2, 0, p))
		assert.Equal(t, tt[1], p[0], "%#02x was written", tt[0])
	}
	_, _, or := open(t, "short-data:D2-D5=1")
	defer or.Close()
	for _, tt := range [][2]byte{{0x24, 0x24}, {0x04, 0x24}, {0x20, 0x24}, {0xdb, 0xdb}, {0xdf, 0xff}, {0, 0}} {
		require.NoError(t, or.Write(2, 0, []byte{tt[0], 0, 0, 0}))
		require.NoError(t, or.Read(2, 0, p))
		assert.Equal(t, tt[1], p[0], "%#02x was written", tt[0])
	}
}

// A fraction of the words given by the rate loses one bit, and the same words
// for the same seed.
func TestBitFlip(t *testing.T) {
	flips := func(text string) (words int, image string) {
		g, d, link := open(t, text)
		defer link.Close()
		require.NoError(t, link.Write(2, 0, make([]byte, vramBytes)))
		require.NoError(t, link.Read(2, 0, make([]byte, 4)))
		got := make([]byte, vramBytes)
		g.PeekVRAM(0, got)
		for i := 0; i < vramBytes; i += 8 {
			v := binary.LittleEndian.Uint64(got[i:])
			if v != 0 {
				words++
				assert.Zero(t, v&(v-1), "one bit")
			}
		}
		assert.EqualValues(t, words, d.Injected())
		return words, string(got)
	}
	n, one := flips("bit-flip:0.1@5")
	assert.InDelta(t, 102.4, n, 5*9.6, "1024 words, five standard deviations")
	_, two := flips("bit-flip:0.1@5")
	assert.Equal(t, one, two)
	_, other := flips("bit-flip:0.1@6")
	assert.NotEqual(t, one, other)
	none, _ := flips("bit-flip:0")
	assert.Zero(t, none)
	all, _ := flips("bit-flip:1")
	assert.Equal(t, 1024, all)
}

// A stuck line of the register path affects all registers and no other reads.
func TestStuckRegister(t *testing.T) {
	for line := range 32 {
		for level := range uint32(2) {
			_, d, link := open(t, fmt.Sprintf("stuck-register:D%d=%d", line, level))
			p := make([]byte, 8)
			for _, v := range []uint32{0, 0xffffffff, 0x12345678} {
				require.NoError(t, link.Write(0, idreg.Scratch0, binary.LittleEndian.AppendUint32(nil, v)))
				require.NoError(t, link.Write(0, idreg.Scratch1, binary.LittleEndian.AppendUint32(nil, v)))
				require.NoError(t, link.Read(0, idreg.Scratch0, p))
				want := v&^(1<<line) | level<<line
				assert.Equal(t, want, binary.LittleEndian.Uint32(p), "D%d=%d", line, level)
				assert.Equal(t, want, binary.LittleEndian.Uint32(p[4:]), "D%d=%d", line, level)

				require.NoError(t, link.Write(2, 0, binary.LittleEndian.AppendUint32(nil, v)))
				require.NoError(t, link.Read(2, 0, p[:4]))
				assert.Equal(t, v, binary.LittleEndian.Uint32(p), "VRAM")
			}
			id, err := link.ReadConfig(0)
			require.NoError(t, err)
			assert.EqualValues(t, 0x48471234, id, "configuration space")
			require.NoError(t, link.WriteConfig(pcicfg.BAR0, 0))
			id, err = link.ReadConfig(0)
			require.NoError(t, err)
			assert.EqualValues(t, 0x48471234, id, "configuration space, registers at 0")
			assert.Positive(t, d.Injected())
			require.NoError(t, link.Close())
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want hwfault.Fault
	}{
		{"stuck-address:A3=0", hwfault.Fault{Kind: hwfault.StuckAddress, Line: 3}},
		{"stuck-address:A12=1", hwfault.Fault{Kind: hwfault.StuckAddress, Line: 12, High: true}},
		{"short-address:A12-A4", hwfault.Fault{Kind: hwfault.ShortAddress, Line: 12, Other: 4}},
		{"short-address:A12-A4=1", hwfault.Fault{Kind: hwfault.ShortAddress, Line: 12, Other: 4, High: true}},
		{"dead-lane:7", hwfault.Fault{Kind: hwfault.DeadLane, Line: 7}},
		{"stuck-enable:0", hwfault.Fault{Kind: hwfault.StuckEnable}},
		{"stuck-data:D63=1", hwfault.Fault{Kind: hwfault.StuckData, Line: 63, High: true}},
		{"stuck-register:D31=0", hwfault.Fault{Kind: hwfault.StuckRegister, Line: 31}},
		{"short-data:D63-D0", hwfault.Fault{Kind: hwfault.ShortData, Line: 63}},
		{"stuck-mcu:W2047.D31=1", hwfault.Fault{Kind: hwfault.StuckMCU, Word: 2047, Line: 31, High: true}},
		{"bit-flip:0.5", hwfault.Fault{Kind: hwfault.BitFlip, Rate: 0.5}},
		{"bit-flip:1e-3@18446744073709551615", hwfault.Fault{Kind: hwfault.BitFlip, Rate: 0.001, Seed: 1<<64 - 1}},
	} {
		got, err := hwfault.Parse(tt.text, vramBytes, 8<<10)
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
}

// A bit of the memory of the microcontroller keeps its level, whatever the host loads.
func TestStuckMCU(t *testing.T) {
	c := gpu.Full()
	c.VRAMBytes = vramBytes
	g, err := gpu.New(c)
	require.NoError(t, err)
	_, err = hwfault.Parse("stuck-mcu:W0.D0=1", vramBytes, 0)
	assert.ErrorContains(t, err, "and a microcontroller")
	d := hwfault.New(g, vramBytes, []hwfault.Fault{{Kind: hwfault.StuckMCU, Word: 1, Line: 4, High: true}, {Kind: hwfault.StuckMCU, Word: 2, Line: 0}})
	link, err := inproc.New(d, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	assert.EqualValues(t, 0x10, g.MCUWord(1), "from the begin on")
	for _, v := range []uint32{0, 0, 0xffffffff, 0xffffffff} {
		require.NoError(t, link.Write(0, mcureg.Base+mcureg.LoadData, binary.LittleEndian.AppendUint32(nil, v)))
	}
	var p [4]byte
	require.NoError(t, link.Read(0, mcureg.Base+mcureg.CRC, p[:]))
	assert.Equal(t, []uint32{0, 0x10, 0xfffffffe, 0xffffffff}, []uint32{g.MCUWord(0), g.MCUWord(1), g.MCUWord(2), g.MCUWord(3)})
	assert.EqualValues(t, 3, d.Injected())
	require.NoError(t, link.Close())
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"", "want one of stuck-address:A<n>=<0|1>, short-address"},
		{"fire", "want one of stuck-address"},
		{"stuck-address", "want stuck-address:A<n>=<0|1>, n from 3 to 12"},
		{"stuck-address:A2=1", "n from 3 to 12"},
		{"stuck-address:A13=1", "n from 3 to 12"},
		{"stuck-address:A5", "n from 3 to 12"},
		{"stuck-address:A5=2", "n from 3 to 12"},
		{"stuck-address:5=1", "n from 3 to 12"},
		{"stuck-address:A-5=1", "n from 3 to 12"},
		{"short-address:A5-A5", "not the same"},
		{"short-address:A5", "n and m from 3 to 12"},
		{"dead-lane:8", "n from 0 to 7"},
		{"dead-lane:D1", "n from 0 to 7"},
		{"stuck-enable:", "n from 0 to 7"},
		{"stuck-data:D64=0", "n from 0 to 63"},
		{"short-data:D3-D64", "n and m from 0 to 63"},
		{"short-data:D3-D3", "not the same"},
		{"short-data:D3-D4=2", "[=<0|1>]"},
		{"stuck-register:D32=0", "n from 0 to 31"},
		{"stuck-mcu:W2048.D0=1", "n from 0 to 2047, m from 0 to 31"},
		{"stuck-mcu:W0.D32=1", "n from 0 to 2047, m from 0 to 31"},
		{"stuck-mcu:W0=1", "stuck-mcu:W<n>.D<m>=<0|1>"},
		{"bit-flip:1.5", "the rate from 0 to 1"},
		{"bit-flip:NaN", "the rate from 0 to 1"},
		{"bit-flip:0.5@x", "the rate from 0 to 1"},
		{"bit-flip:-1", "the rate from 0 to 1"},
	} {
		_, err := hwfault.Parse(tt.text, vramBytes, 8<<10)
		require.ErrorIs(t, err, hwfault.ErrFault, tt.text)
		assert.ErrorContains(t, err, tt.says)
	}
}
