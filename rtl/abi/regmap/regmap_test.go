package regmap

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

func TestLookupAndFind(t *testing.T) {
	m := New()
	for _, tt := range []struct {
		off  uint32
		name string
	}{
		{0x0000, "ID.MAGIC"},
		{0x0040, "ID.HOST_BITS"},
		{0x0048, "ID.CAPS2"},
		{0x0050, "ID.BUILD"},
		{0x0100, "INTC.STATUS"},
		{0x0108, "INTC.RAISE"},
		{0x0110, "INTC.COALESCE_TIME"},
		{0x0200, "PERF.CTL"},
		{0x020c, "PERF.CYCLES_HI"},
		{0x0240, "PERF.BYTES_LO0"},
		{0x0284, "PERF.BYTES_HI1"},
		{0x0288, "PERF.PACKETS_LO1"},
		{0x0304, "WDOG.STATUS"},
		{0x1000, "CP0.CTL"},
		{0x1044, "CP0.IB_LEFT"},
		{0x1100, "CP1.CTL"},
		{0x1118, "CP1.WPTR"},
		{0x8000, "MSIX.ADDR_LO0"},
		{0x801c, "MSIX.CONTROL1"},
		{0x9000, "PBA.PENDING_LO"},
		{0x9004, "PBA.PENDING_HI"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			byOff, ok := m.Lookup(tt.off)
			require.True(t, ok)
			assert.Equal(t, tt.name, byOff.Name())
			byName, ok := m.Find(tt.name)
			require.True(t, ok)
			assert.Equal(t, tt.off, byName.Off())
		})
	}
}

func TestNotThere(t *testing.T) {
	m := New()
	for _, off := range []uint32{0x1, 0x2, 0x54, 0xfc, 0x114, 0x10f0, 0x11f0, 0x7ffc, 0x8020, 0x9008, 0x10000, 0xfffffffc} {
		_, ok := m.Lookup(off)
		assert.False(t, ok, "%#x", off)
	}
	for _, name := range []string{"", ".", "CP0", "CP0.", ".CTL", "cp0.ctl", "CP2.CTL", "CP0.CTL.RUN", "CTL"} {
		_, ok := m.Find(name)
		assert.False(t, ok, name)
	}
}

func TestEntriesAreByOffset(t *testing.T) {
	m := New()
	es := m.Entries()
	// 21 ID, 5 INTC, 27 PERF, 2 WDOG, 2 ARB, 8 GART, 17 and 23 for the windows of MCU, 10 MCUDBG, 23 of each CP, 16 entries of 4 of each TRACE, 2 vectors of 4 and 2 pending dwords.
	require.Len(t, es, 21+5+27+2+2+8+17+7*3+2+10+2*23+2*16*4+2*4+2)
	for i, e := range es[1:] {
		assert.Less(t, es[i].Off(), e.Off())
	}
	var names []string
	for _, b := range m.Blocks() {
		names = append(names, b.Name)
	}
	assert.Equal(t, []string{"ID", "INTC", "PERF", "WDOG", "ARB", "GART", "MCU", "MCUDBG", "CP0", "CP1", "TRACE0", "TRACE1", "MSIX", "PBA"}, names)
}

func TestMapDoesNotShareItsTables(t *testing.T) {
	m := New()
	m.Entries()[0] = Entry{}
	m.Blocks()[0] = reg.Block{}
	assert.Equal(t, "ID.MAGIC", m.Entries()[0].Name())
	assert.Equal(t, "ID", m.Blocks()[0].Name)
}

// The registers of a device, by the value of its ID.CAPS.
func TestIn(t *testing.T) {
	m := New()
	for _, tt := range []struct {
		name string
		caps uint32 // value of ID.CAPS
		in   bool
	}{
		{"ID.MAGIC", 0, true},
		{"CP0.CTL", 1, true},
		{"CP1.CTL", 1, false},
		{"CP1.CTL", 2, true},
		{"ID.CAPS2", 1, true},
		{"INTC.RAISE", 0xffffffdf, true},
		{"INTC.COALESCE_COUNT", 0xffffffdf, false},
		{"INTC.COALESCE_TIME", 0x20, true},
		{"PERF.BYTES_LO0", 0x41, true},
		{"PERF.BYTES_LO1", 0x41, false},
		{"PERF.BYTES_LO1", 0x42, true},
		{"WDOG.LIMIT", 0x7f, false},
	} {
		e, ok := m.Find(tt.name)
		require.True(t, ok, tt.name)
		assert.Equal(t, tt.in, e.In(caps.Of(tt.caps, 0)), "%s, %#x", tt.name, tt.caps)
	}
}

// Cap.There must name everything that needs the capability: blocks, registers
// outside of them, packets and fields. Nothing may be missing or unused, except
// names that are not registers or packets.
func TestThere(t *testing.T) {
	for _, c := range caps.Table {
		needed := map[string]bool{}
		for _, b := range New().Blocks() {
			if b.Needs.Has(c.Bit) {
				needed["block "+b.Name] = true
			}
			for _, r := range b.Regs {
				if r.Needs.Has(c.Bit) {
					needed[b.Name+"."+r.Name] = true
				}
			}
		}
		for _, l := range pkt.Table {
			if l.Needs.Has(c.Bit) {
				needed[l.Name] = true
			}
			for _, f := range l.Fields {
				if f.Needs.Has(c.Bit) {
					needed[f.Name+" of "+l.Name] = true
				}
			}
		}
		assert.Equal(t, c.Bit == caps.Aperture, len(needed) == 0, c.Name)
		for name := range needed {
			assert.Contains(t, c.There, name, c.Name)
		}
	}
}

// Each capability has its bit in ID.CAPS or ID.CAPS2.
func TestCapabilityFields(t *testing.T) {
	n := 0
	for word, name := range []string{"ID.CAPS", "ID.CAPS2"} {
		e, ok := New().Find(name)
		require.True(t, ok)
		for _, c := range caps.Table {
			if f, ok := e.Reg.Field(c.Name); ok {
				assert.Equal(t, c.Bit.Word(word), f.Mask, c.Name)
				n++
			}
		}
	}
	assert.Len(t, caps.Table, n)
}

func TestEntryFormat(t *testing.T) {
	m := New()
	for _, tt := range []struct {
		name  string
		value uint32
		want  string
	}{
		{"CP0.CTL", 0x21, "CP0.CTL=0x21 (RUN=1 RESET=0 PROTECT=0 +0x20)"},
		{"CP1.FAULT_INFO", 0xc, "CP1.FAULT_INFO=0xc (CAUSE=WRITE_ERROR)"},
		{"ID.CAPS", 0x00201002, "ID.CAPS=0x201002 (NODES=2 PROTECTION=0 COALESCING=0 COUNTERS=0 WATCHDOG=0 TAGS=16 LENGTH=32 TIMELINE=0 CONTEXTS=0 PREEMPTION=0 VRAM_PORTS=0 APERTURE=0)"},
		{"ID.ERR_INFO", 0x211, "ID.ERR_INFO=0x211 (CAUSE=UNMAPPED WRITE=1 SECOND=0 BAR=2)"},
		{"INTC.STATUS", 0x201, "INTC.STATUS=0x201 (DONE0=1 DONE1=0 FIRMWARE=0 HUNG=0 FAULT0=0 FAULT1=1)"},
		{"CP0.WPTR", 0x40, "CP0.WPTR=0x40"},
	} {
		e, ok := m.Find(tt.name)
		require.True(t, ok, tt.name)
		assert.Equal(t, tt.want, e.Format(tt.value))
	}
}

func TestBadTablesPanic(t *testing.T) {
	dup := reg.Block{Name: "A", Size: 4, Regs: []reg.Reg{{Off: 2, Name: "R"}}}
	assert.PanicsWithError(t, "reg: bad table: A.R at 0x2, want a multiple of 4\nreg: bad table: A.R at 0x2, want below the size 0x4", func() { newMap([]reg.Block{dup}) })
	outside := reg.Block{Name: "A", Base: 0xfffc, Size: 8}
	assert.PanicsWithError(t, "reg: bad table: A ends at 0x10004, want within BAR0, 0x10000", func() { newMap([]reg.Block{outside}) })
	top := reg.Block{Name: "A", Base: 0xfffffffc, Size: 4}
	assert.PanicsWithError(t, "reg: bad table: A ends at 0x100000000, want within BAR0, 0x10000", func() { newMap([]reg.Block{top}) })
	assert.NotPanics(t, func() { newMap([]reg.Block{{Name: "A", Base: 0xfffc, Size: 4}}) })
}

// TestCanonicalGolden compares the canonical form of a small map with one written
// by hand.
func TestCanonicalGolden(t *testing.T) {
	bs := []reg.Block{
		{Name: "B", Base: 0x10, Size: 4, Needs: 2},
		{Name: "A", Base: 0, Size: 8, Doc: "prose", Regs: []reg.Reg{
			{Off: 4, Name: "R4", Access: reg.WO, Needs: 16, Write: reg.Trigger, Poke: reg.Idle},
			{Off: 0, Name: "R0", Access: reg.W1C, Reset: 1, Config: true, Volatile: true, Read: reg.Latch, Unit: "bytes", Doc: "prose", Fields: []reg.Field{
				{Mask: 6, Name: "HI", Enum: []string{"X", "Y"}},
				{Mask: 1, Name: "LO", Unit: "Hz", Write: reg.Doorbell, Doc: "prose"},
			}},
		}},
	}
	ls := []pkt.Layout{{Op: 3, Name: "P", Body: 2, Variable: true, Privileged: true, Needs: 1 << 40, Doc: "prose", Fields: []pkt.Field{
		{Name: "F", Dword: 1, Mask: 1<<64 - 1, Kind: pkt.AddrWrite, Max: 9, Align: 8, Unit: "bytes", Enum: []string{"Z"}, Needs: 8, Doc: "prose"},
	}}}
	want := `{"blocks":[` +
		`{"name":"A","base":0,"size":8,"needs":0,"regs":[` +
		`{"off":0,"name":"R0","access":"w1c","reset":1,"config":true,"needs":0,"volatile":true,"read":"latch","write":"","unit":"bytes","fields":[` +
		`{"mask":1,"name":"LO","unit":"Hz","write":"doorbell","enum":null,"needs":0},` +
		`{"mask":6,"name":"HI","unit":"","write":"","enum":["X","Y"],"needs":0}]},` +
		`{"off":4,"name":"R4","access":"wo","reset":0,"config":false,"needs":16,"volatile":false,"read":"","write":"trigger","unit":"","fields":[]}]},` +
		`{"name":"B","base":16,"size":4,"needs":2,"regs":[]}],` +
		`"packets":[{"op":3,"name":"P","body":2,"variable":true,"privileged":true,"needs":1099511627776,"fields":[` +
		`{"dword":1,"mask":18446744073709551615,"name":"F","kind":"write","max":9,"align":8,"unit":"bytes","enum":["Z"],"needs":8}]}]}`
	assert.Equal(t, want, string(canonical(bs, ls)))
}

func TestCanonicalHasEverything(t *testing.T) {
	var got jsonMap
	require.NoError(t, json.Unmarshal(Canonical(), &got))
	n := 0
	for _, b := range got.Blocks {
		n += len(b.Regs)
	}
	assert.Equal(t, len(New().Entries()), n)
	assert.Len(t, got.Packets, len(pkt.Table))
	assert.Equal(t, Canonical(), Canonical())
}

// TestHash uses the published digests of "abc" and of the empty string (NIST
// CAVP).
func TestHash(t *testing.T) {
	assert.Equal(t, uint32(0xba7816bf), hash([]byte("abc")))
	assert.Equal(t, uint32(0xe3b0c442), hash(nil))
	assert.Equal(t, hash(Canonical()), Hash())
}
