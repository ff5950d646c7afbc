package fwtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	damagedSeed  = flag.Uint64("fwtest.seed", 1, "seed of the damaged images")
	damagedCount = flag.Int("fwtest.images", 40, "number of damaged images")
)

// damage returns a program with random mistakes: bits, words, or a run of random words. Some are those of storing.
func damage(rng *rand.Rand, program []byte) []byte {
	b := bytes.Clone(program)
	switch rng.IntN(4) {
	case 0:
		for range 1 + rng.IntN(8) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
	case 1:
		for range 1 + rng.IntN(8) {
			from, to := rng.IntN(len(b)/4)*4, rng.IntN(len(b)/4)*4
			copy(b[to:to+4], program[from:from+4])
		}
	case 2:
		return storing(rng)
	default:
		from := rng.IntN(len(b))
		for i := from; i < min(len(b), from+64); i++ {
			b[i] = byte(rng.Uint32())
		}
	}
	return b
}

// storing returns a program that stores words at random, also to registers, past the ends of its windows, through closed
// windows, and through the one whose base it sets itself. It continues after a store that is refused.
func storing(rng *rand.Rand) []byte {
	words := []uint32{
		rv32test.J(0, 5*4), // over the handler, which continues after the instruction
		rv32test.I(0x73, 2, 28, 0, 0x341), rv32test.I(0x13, 0, 28, 28, 4), rv32test.I(0x73, 1, 0, 28, 0x341), 0x30200073,
		rv32test.I(0x13, 0, 28, 0, 4), rv32test.I(0x73, 1, 0, 28, 0x305), // mtvec
	}
	load := func(rd, v uint32) {
		words = append(words, (v+0x800)&0xffff_f000|rd<<7|0x37, rv32test.I(0x13, 0, rd, rd, v&0xfff))
	}
	store := func(at, v uint32) {
		load(30, at)
		load(29, v)
		words = append(words, rv32test.S(0x23, 2, 30, 29, 0))
	}
	for range 40 {
		window, near, v := mcureg.Through+rng.Uint32N(mcureg.Windows)*mcureg.WindowMax, rng.Uint32N(2*lockedBytes)&^3, rng.Uint32()
		switch rng.IntN(8) {
		case 0:
			store(window+rng.Uint32N(mcureg.WindowMax)&^3, v)
		case 1:
			base := []uint64{lockedVRAM, pkt.Host | memBase + lockedHost}[rng.IntN(2)]
			store(mcureg.Local+mcureg.FreeLo, uint32(base)+near-lockedBytes)
			store(mcureg.Local+mcureg.FreeHi, uint32(base>>32))
			store(mcureg.Through+mcureg.FreeWindow*mcureg.WindowMax, v)
		case 2:
			store(mcureg.Bus+near*32, v)
		case 3:
			store(mcureg.Bus+kept[rng.IntN(len(kept))], v)
		case 4:
			store(mcureg.Bus+perfreg.Base+perfreg.Ctl, v)
		default:
			store(window+near, v)
		}
	}
	var b []byte
	for _, w := range append(words, rv32test.J(0, 0)) {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// kept are registers outside of the open block that storing programs write more often than others, by offset.
var kept = []uint32{idreg.Base + idreg.Scratch3, intcreg.Base + intcreg.Mask, cpreg.Base + cpreg.RingLo, cpreg.Base + cpreg.RingSize}

// What a damaged program may write. It may read all memory.
const (
	lockedHost  = 0x1000 // in host memory
	lockedVRAM  = 0x1_0000
	lockedBytes = 0x400
	openBlock   = 1 << (perfreg.Base / mcureg.BlockBytes) // of registers: the counters, which do nothing else
)

// A state is the registers outside of openBlock and of the microcontroller that only a write changes, by name.
type state map[string]uint32

// registers reads them.
func (r *lockedRig) registers() state {
	s := state{}
	for _, e := range regmap.New().Entries() {
		block := e.Off() / mcureg.BlockBytes
		local := e.Off() >= mcureg.Base && e.Off() < mcureg.Base+2*mcureg.BlockBytes
		if local || openBlock>>block&1 != 0 || e.Reg.Volatile || e.Reg.Read != reg.Plain || e.Reg.Access == reg.WO || !e.In(gpu.Full().Caps|caps.Node1) {
			continue
		}
		v, err := r.Read(e.Off())
		require.NoError(r.t, err)
		s[e.Name()] = v
	}
	return s
}

// A lockedRig is a GPU that allows its program to write these parts. It checks each write to VRAM.
type lockedRig struct {
	complete
	o      firmware.Options
	before []byte // host memory
	vram   []byte // before
	wrote  int    // writes to VRAM
}

func newLockedRig(t *testing.T, rng *rand.Rand) *lockedRig {
	t.Helper()
	r := &lockedRig{complete: newComplete(t, 32<<10, 1), o: firmware.Options{Blocks: openBlock, Test: true, Clocks: 200_000, Limit: 70_000}}
	g, ok := r.Dev.(*gpu.GPU)
	require.True(t, ok)
	r.before, r.vram = bytes.Clone(r.Mem), make([]byte, gpu.Full().VRAMBytes)
	for i := 0; i < len(r.vram); i += 8 {
		binary.LittleEndian.PutUint64(r.vram[i:], rng.Uint64())
	}
	g.PokeVRAM(0, r.vram)
	copy(r.o.Windows[:], []firmware.Window{
		{Base: pkt.Host | memBase + lockedHost, Bytes: lockedBytes, Write: true}, {Base: pkt.Host | memBase, Bytes: memSize},
		{Base: lockedVRAM, Bytes: lockedBytes, Write: true}, {Bytes: uint32(len(r.vram))},
	})
	r.Bus.Dev = guard{g, func(off uint64) {
		r.wrote++
		require.Less(t, off-lockedVRAM, uint64(lockedBytes), "a write at %#x of VRAM", off)
	}}
	return r
}

// sameVRAM checks that VRAM outside of its part is as it was. It does not rely on the check of each write.
func (r *lockedRig) sameVRAM() {
	r.t.Helper()
	is := make([]byte, len(r.vram))
	g, ok := r.Dev.(guard)
	require.True(r.t, ok)
	g.PeekVRAM(0, is)
	clear(r.vram[lockedVRAM : lockedVRAM+lockedBytes])
	clear(is[lockedVRAM : lockedVRAM+lockedBytes])
	assert.True(r.t, bytes.Equal(r.vram, is), "VRAM")
}

// A program with mistakes, whose image has the right CRC, is ready, or ends in an error of the
// boot. It writes neither memory outside of its windows nor registers, and afterwards the
// firmware boots.
func TestDamagedPrograms(t *testing.T) {
	tooltest.Long(t)
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(*damagedSeed, 3))
	m := newLockedRig(t, rng)
	for i, off := range kept {
		require.NoError(t, m.Write(off, uint32(8+i)))
	}
	had := m.registers()
	require.Greater(t, len(had), 40, "%v", had)
	require.Contains(t, had, "CP1.CTL")
	outcomes, opened := map[string]int{}, 0
	for i := range *damagedCount {
		m.o.TestWindow = uint32(i % 2 * 2) // host memory, and VRAM
		b, err := firmware.Load(m, firmware.Append(nil, image.Header, damage(rng, image.Program)), m.o)
		var boot *firmware.BootError
		require.True(t, err == nil || errors.As(err, &boot), "seed %d, image %d: %v", *damagedSeed, i, err)
		outcomes[b.Outcome()]++
		require.True(t, bytes.Equal(m.before[:lockedHost], m.Mem[:lockedHost]) && bytes.Equal(m.before[lockedHost+lockedBytes:], m.Mem[lockedHost+lockedBytes:]),
			"seed %d, image %d: host memory", *damagedSeed, i)
		require.Equal(t, had, m.registers(), "seed %d, image %d", *damagedSeed, i)
		ctl, err := m.Read(perfreg.Base + perfreg.Ctl)
		require.NoError(t, err)
		opened += int(ctl & perfreg.CtlRun)
		require.NoError(t, m.Write(perfreg.Base+perfreg.Ctl, perfreg.CtlClear))
	}
	b, err := firmware.Load(m, firmware.Default(), m.o)
	require.NoError(t, err)
	assert.Equal(t, "READY", b.Outcome())
	assert.Positive(t, m.wrote)
	assert.Positive(t, opened, "programs that write the open block")
	m.sameVRAM()
	t.Logf("%d images: %v, %d writes to VRAM", *damagedCount, outcomes, m.wrote)
}
