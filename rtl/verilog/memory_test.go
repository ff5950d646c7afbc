package verilog_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/testdata/sample"
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
	l, err := lockstep.New(d, narrow{sample.NewNarrow()}, lockstep.Options{Sim: s, Cache: filepath.Join(os.TempDir(), "hilgpu-lockstep-test")})
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
