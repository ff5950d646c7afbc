package verilog_test

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/several"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// narrow is a sample.Narrow as a lockstep.Circuit.
type narrow struct{ m *sample.Narrow }

func (c narrow) Root() any { return c.m }

func (c narrow) Clock(rst bool, in []uint64) {
	if rst {
		c.m.Reset()
		return
	}
	c.m.Tick(uint8(in[0]), uint8(in[1]), uint32(in[2]), in[3] != 0)
}

func (c narrow) Outputs(out []uint64) { out[0] = c.m.Out() }

func narrowDesign(t *testing.T) *verilog.Design {
	t.Helper()
	d, err := verilog.TranslateSample("../..", sample.NewNarrow(), "Out")
	require.NoError(t, err)
	return d
}

// runNarrow clocks a sample.Narrow in lockstep with d. No address has the low bits without.
func runNarrow(t *testing.T, d *verilog.Design, s lockstep.Sim, without uint64) error {
	t.Helper()
	l, err := lockstep.New(d, narrow{sample.NewNarrow()}, lockstep.Options{Sim: s, Cache: simtest.Cache()})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		addr := r.Uint64() & 0xff
		if addr&7 == without {
			addr ^= 2
		}
		if err := l.Clock(r.IntN(50) == 0, []uint64{addr, r.Uint64() & 0xff, r.Uint64() & 0xffffffff, r.Uint64() & 1}); err != nil {
			l.Close()
			return err
		}
	}
	return l.Close()
}

// Narrow RAMs and ROMs behave the same in Go, in both simulators and as the cells of an iCE40. The
// words of both, and each write of a RAM, are compared.
func TestNarrowInLockstep(t *testing.T) {
	for _, s := range []lockstep.Sim{lockstep.Verilator, lockstep.Icarus, lockstep.Netlist} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			tooltest.Need(t, lockstep.Tools(s)...)
			assert.NoError(t, runNarrow(t, narrowDesign(t), s, 8))
		})
	}
}

// A wrong write of a narrow RAM and a wrong word of a ROM are found, also one that is never read.
func TestNarrowDivergence(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Icarus)...)
	for _, tt := range []struct {
		name, file, old, bad string
		without              uint64
		want                 string
	}{
		{"a byte", "hdl_ram_narrow.v", "if (enable[lane] && !rst) mem", "if (enable[0] && !rst) mem", 8, "halves"},
		{"the last write", "hdl_ram_narrow.v", "last_what <= 64'd0", "last_what <= 64'd1", 8, "last.what"},
		{"a word of a ROM", "hdl_rom_0.v", "mem[5] = 12'h68;", "mem[5] = 12'h69;", 8, "0x68"},
		{"an unread word", "hdl_rom_1.v", "mem[1] = 1'b0;", "mem[1] = 1'b1;", 1, "other.words[1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := narrowDesign(t)
			for i, f := range d.Files {
				if f.Name == tt.file {
					require.Equal(t, 1, strings.Count(string(f.Text), tt.old))
					d.Files[i].Text = []byte(strings.Replace(string(f.Text), tt.old, tt.bad, 1))
				}
			}
			err := runNarrow(t, d, lockstep.Icarus, tt.without)
			var div *lockstep.Divergence
			require.ErrorAs(t, err, &div)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

// A RAM of 512 bytes and a ROM of 256 words of 16 bits are one block RAM each. That of the ROM
// has its words from the start.
func TestNarrowInBlockRAM(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	r := rand.New(rand.NewPCG(1, 4))
	words := make([]uint64, 256)
	for i := range words {
		words[i] = r.Uint64() & 0xffff
	}
	d, err := verilog.TranslateSample("../..", sample.NewTable(words), "Byte", "Word")
	require.NoError(t, err)
	want := synth.Expectation{RAM: 2, Memories: []synth.Memory{
		{Name: "bytes.mem", Storage: synth.InBlock}, {Name: "rom.mem", Storage: synth.InBlock},
	}}
	for _, target := range synth.Targets() {
		got, err := synth.Run(synth.Of(d), target, want)
		require.NoError(t, err)
		assert.Empty(t, got.Findings, target)
	}
	n, err := synth.Netlist(d, simtest.Cache())
	require.NoError(t, err)
	cells := strings.Split(string(n.Files[1].Text), "SB_RAM40_4K #(")[1:]
	require.Len(t, cells, 2)
	assert.NotRegexp(t, `INIT_\w\(256'h[0-9a-f]`, cells[0], "a RAM has no words at the start")
	assert.Equal(t, words, loaded(t, cells[1]))
}

// loaded returns the words of 16 bits that the bitstream has for a block RAM of an iCE40, of which Word
// is the output. Synthesis permutes the bits of the words.
func loaded(t *testing.T, cell string) (words []uint64) {
	t.Helper()
	out := regexp.MustCompile(`(?s)\.RDATA\(\{(.*?)\}\)`).FindStringSubmatch(cell)
	require.NotNil(t, out)
	bits := regexp.MustCompile(`Word\[(\d+)\]`).FindAllStringSubmatch(out[1], -1)
	require.Len(t, bits, 16)
	for _, row := range regexp.MustCompile(`\.INIT_\w\(256'h(\w{64})\)`).FindAllStringSubmatch(cell, -1) {
		for i := range 16 {
			stored, err := strconv.ParseUint(row[1][60-4*i:][:4], 16, 16)
			require.NoError(t, err)
			w := uint64(0)
			for k, bit := range bits { // the highest bit is the first one
				at, err := strconv.Atoi(bit[1])
				require.NoError(t, err)
				w |= stored >> (15 - k) & 1 << at
			}
			words = append(words, w)
		}
	}
	return words
}

// A ROM that is too small for a block RAM is logic.
func TestSmallROMIsLogic(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	for _, target := range synth.Targets() {
		got, err := synth.Run(synth.Of(narrowDesign(t)), target, synth.Expectation{})
		require.NoError(t, err)
		for _, name := range []string{"rom.mem", "again.mem", "other.mem"} {
			assert.Contains(t, got.Memories, synth.Memory{Name: name, Storage: synth.InLogic}, target)
		}
		for _, f := range got.Findings {
			assert.Equal(t, synth.RAM, f.Kind, f.Text)
		}
	}
}

// ROMs with the same words have one module, and modules with ROMs of different words are
// different.
func TestROMsShareTheirModule(t *testing.T) {
	count := func(d *verilog.Design, prefix string) (n int) {
		for _, f := range d.Files {
			if strings.HasPrefix(f.Name, prefix) {
				n++
			}
		}
		return n
	}
	assert.Equal(t, 2, count(narrowDesign(t), "hdl_rom"))
	for _, tt := range []struct {
		low, high []uint64
		modules   int
	}{
		{[]uint64{1, 2}, []uint64{1, 2}, 1},
		{[]uint64{1, 2}, []uint64{1, 3}, 2},
		{[]uint64{1, 2}, []uint64{1, 2, 0}, 2},
	} {
		d, err := verilog.TranslateSample("../..", several.NewTables(tt.low, tt.high))
		require.NoError(t, err)
		assert.Equal(t, tt.modules, count(d, "hdl_rom"), "%v", tt)
		assert.Equal(t, tt.modules, count(d, "sample_table"), "%v", tt)
	}
}
