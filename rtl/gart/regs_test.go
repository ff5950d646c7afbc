package gart_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// writable are the bits of the registers that read back what was written.
var writable = map[uint32]uint32{
	gartreg.Ctl: 1, gartreg.TableLo: 0xffff_ffc0, gartreg.TableHi: math.MaxUint32, gartreg.Pages: 0xf_ffff,
}

// Each register of the table, and no other offset, answers. A register keeps its bits and no
// other one, whatever is written to the others.
func TestRegisters(t *testing.T) {
	r := newRig(t, 1)
	known := map[uint32]reg.Reg{}
	for _, e := range gartreg.Block.Regs {
		known[e.Off] = e
		require.Equal(t, e.Reset, r.get(uint16(e.Off)), e.Name)
	}
	for off := uint32(0); off < 1<<16; off += 4 {
		_, ok := known[off-gartreg.Base]
		r.tick(regbus.Req{Op: regbus.Read, Off: uint16(off)}, false)
		require.Equal(t, ok, r.m.Registers().Hit, "%#x", off)
		r.tick(regbus.Req{}, false)
		require.Zero(t, r.m.Registers())
	}
	for _, v := range []uint32{math.MaxUint32, 0xa5a5_a5a5, 0x5a5a_5a5a, 0} {
		for off, mask := range writable {
			r.set(uint16(off), v)
			require.Equal(t, v&mask, r.get(uint16(off)), "%#x", off)
		}
		for off, mask := range writable {
			require.Equal(t, v&mask, r.get(uint16(off)), "%#x", off)
		}
		for _, off := range []uint16{gartreg.Fault, gartreg.FaultLo, gartreg.FaultHi} {
			r.set(off, v)
			require.Zero(t, r.get(off), "%#x", off)
		}
	}
}

// A write of TABLE is retried while a read of the table is offered, whose address must stay. Other
// registers can be written then.
func TestTableIsWrittenLater(t *testing.T) {
	for _, off := range []uint16{gartreg.TableLo, gartreg.TableHi} {
		r := enabled(t, 1)
		r.run(copyOf(start+9*page, 0, 8), 0, gart.In{Free: true}, dma.ResultNone, 0, 0, regbus.Req{}, false)
		retried := 0
		for clock := range 10 {
			before := r.m.Read()
			r.run(dma.Desc{}, 0, gart.In{Free: true}, dma.ResultNone, 0, 0, regbus.Req{Op: regbus.Write, Off: gartreg.Base + off, Data: 0x1040 * uint32(off&4>>2)}, false)
			if r.m.Registers().Retry {
				retried++
			}
			require.True(t, r.m.Registers().Hit)
			r.run(dma.Desc{}, 0, gart.In{Free: true}, dma.ResultNone, 0, 0, regbus.Req{Op: regbus.Write, Off: gartreg.Base + gartreg.Pages, Data: 50}, false)
			require.False(t, r.m.Registers().Retry)
			if before.Kind != 0 {
				require.Equal(t, before, r.m.Read(), "clock %d", clock)
			}
		}
		assert.Greater(t, retried, 5)
		r.run(dma.Desc{}, 0, gart.In{}, dma.ResultNone, 0, 0, regbus.Req{Op: regbus.Read, Off: gartreg.Base + gartreg.Pages}, false)
		assert.EqualValues(t, 50, r.m.Registers().Data)
	}
}
