package fwtest

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
)

var (
	damagedSeed  = flag.Uint64("fwtest.seed", 1, "seed of the damaged images")
	damagedCount = flag.Int("fwtest.images", 40, "number of damaged images")
)

// damage returns a program with random mistakes: bits, words, or a run of random words.
func damage(rng *rand.Rand, program []byte) []byte {
	b := bytes.Clone(program)
	switch rng.IntN(3) {
	case 0:
		for range 1 + rng.IntN(8) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
	case 1:
		for range 1 + rng.IntN(8) {
			from, to := rng.IntN(len(b)/4)*4, rng.IntN(len(b)/4)*4
			copy(b[to:to+4], program[from:from+4])
		}
	default:
		from := rng.IntN(len(b))
		for i := from; i < min(len(b), from+64); i++ {
			b[i] = byte(rng.Uint32())
		}
	}
	return b
}

// A program with mistakes, whose image has the right CRC, is ready, or ends in an error of the
// boot. It writes neither host memory outside of its window nor registers, and afterwards the
// firmware boots.
func TestDamagedPrograms(t *testing.T) {
	image, err := firmware.Parse(firmware.Default())
	require.NoError(t, err)
	m := newComplete(t, 32<<10, 1)
	rng := rand.New(rand.NewPCG(*damagedSeed, 3))
	o := firmware.Options{Test: true, Clocks: 200_000, Limit: 70_000}
	o.Windows[0] = firmware.Window{Base: 1<<63 | memBase + 0x1000, Bytes: 0x400, Write: true}
	o.Windows[1] = firmware.Window{Base: 1<<63 | memBase, Bytes: memSize}
	kept := []uint32{idreg.Base + idreg.Scratch3, intcreg.Base + intcreg.Mask, cpreg.Base + cpreg.RingLo, cpreg.Base + cpreg.RingSize}
	for i, off := range kept {
		require.NoError(t, m.Write(off, uint32(8+i)))
	}
	registers := func() (values []uint32) {
		for _, off := range kept {
			v, err := m.Read(off)
			require.NoError(t, err)
			values = append(values, v)
		}
		return values
	}
	before, had := bytes.Clone(m.Mem), registers()
	outcomes := map[string]int{}
	for i := range *damagedCount {
		b, err := firmware.Load(m, firmware.Append(nil, image.Header, damage(rng, image.Program)), o)
		var boot *firmware.BootError
		require.True(t, err == nil || errors.As(err, &boot), "seed %d, image %d: %v", *damagedSeed, i, err)
		outcomes[b.Outcome()]++
		require.True(t, bytes.Equal(before[:0x1000], m.Mem[:0x1000]) && bytes.Equal(before[0x1400:], m.Mem[0x1400:]), "seed %d, image %d: host memory", *damagedSeed, i)
		require.Equal(t, had, registers(), "seed %d, image %d", *damagedSeed, i)
	}
	b, err := firmware.Load(m, firmware.Default(), o)
	require.NoError(t, err)
	assert.Equal(t, "READY", b.Outcome())
	t.Logf("%d images: %v", *damagedCount, outcomes)
}
