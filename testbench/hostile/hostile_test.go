package hostile

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// The campaigns and their sizes. make soak runs long ones.
var (
	seed    = flag.Uint64("hostile.seed", 1, "seed of the campaigns")
	cases   = flag.Int("hostile.blocks", 20_000, "number of mutated private data blocks and adapter queries of TestBlocks")
	changes = flag.Int("hostile.changes", 2000, "number of runs of TestChangingMemory")
	inRTL   = flag.Int("hostile.rtl", 10_000, "number of mutated command buffers of TestCommandsInRTL")
	buffers = flag.Int("hostile.buffers", 20_000, "number of mutated command buffers of TestCommands")
)

// each calls f with a random source for each case, which depends only on the seed and
// the number of the case. A panic or a failure names them.
func each(t *testing.T, n int, f func(r *rand.Rand, i int) error) {
	src := rand.NewPCG(0, 0)
	i := 0
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("-hostile.seed %d, case %d: panic: %v", *seed, i, p)
			panic(p)
		}
	}()
	for ; i < n; i++ {
		src.Seed(*seed, uint64(i))
		require.NoError(t, f(rand.New(src), i), "-hostile.seed %d, case %d", *seed, i)
	}
}

// sizes returns those of a DMA buffer and of a patch list. Most take any command.
func sizes(r *rand.Rand) (bytes, entries int) {
	if r.IntN(4) > 0 {
		return 4096, 64
	}
	return r.IntN(300), r.IntN(20)
}

// mutated checks a legal command that was mutated.
func (c *commands) mutated(r *rand.Rand, _ int) error {
	cmd := newCommand(r, r.IntN(8) == 0)
	for range r.IntN(4) {
		cmd.mutate(r)
	}
	size, entries := sizes(r)
	return c.check(r, cmd, size, entries)
}

// TestCommands mutates legal commands: the miniport accepts a command if and only if
// the model calls it legal, and the GPU accesses only what the submission lists.
//
// docs/validator.md: V02, V04, V27.
func TestCommands(t *testing.T) {
	c, err := newCommands(false)
	require.NoError(t, err)
	each(t, *buffers, c.mutated)
	t.Logf("%d accepted, %d refused, %d submissions, %d accesses; packets by opcode: %v", c.legal, c.refused, c.executed, c.accesses, c.ops)
	assert.Greater(t, c.legal, *buffers/4)
	assert.Greater(t, c.refused, *buffers/4)
	for op := uint32(1); op <= 10; op++ {
		if op != 2 {
			assert.Greater(t, c.ops[op], *buffers/20, "opcode %d", op)
		}
	}
}

// TestCommandsInRTL gives mutated commands to the miniport, and what it accepts to the RTL of the GPU. No
// packet stops the node, and it reads and writes, in host memory and in VRAM, only what the submission lists.
//
// docs/validator.md: V06, V27.
func TestCommandsInRTL(t *testing.T) {
	c, err := newCommands(false)
	require.NoError(t, err)
	c.rtl, err = newHardware(false)
	require.NoError(t, err)
	each(t, *inRTL, c.mutated)
	t.Logf("%d accepted, %d refused; %d portions, %d accesses, %d words of VRAM read, %d clocks in RTL", c.legal, c.refused, c.rtl.portions, c.rtl.accesses, c.rtl.read, c.rtl.Clocks)
	assert.Greater(t, c.rtl.portions, *inRTL/2)
	assert.Greater(t, c.rtl.accesses, *inRTL)
	assert.Greater(t, c.rtl.read, *inRTL/2)
}

// TestCommandsInAperture does the same on a GPU whose allocations in host memory are in an aperture. Each access to host memory is looked
// up in the table, and TIMESTAMP and PREDICATE use no allocation that may be in it.
//
// docs/validator.md: V06, V27.
func TestCommandsInAperture(t *testing.T) {
	c, err := newCommands(true)
	require.NoError(t, err)
	c.rtl, err = newHardware(true)
	require.NoError(t, err)
	each(t, *inRTL, c.mutated)
	t.Logf("%d accepted, %d refused; %d portions, %d accesses, %d through the table, %d clocks in RTL", c.legal, c.refused, c.rtl.portions, c.rtl.accesses, c.rtl.looked, c.rtl.Clocks)
	assert.Greater(t, c.rtl.portions, *inRTL/4)
	assert.Greater(t, c.rtl.looked, *inRTL/10)
	assert.Greater(t, c.rtl.read, *inRTL/4)
	for _, op := range []uint32{pkt.OpTimestamp, pkt.OpPredicate} {
		assert.Greater(t, c.ops[op], *inRTL/100, "opcode %d", op)
	}
}

// The hardware tells a packet that stops it, and each kind of access that is not allowed. 4 KiB from 0x1000 on may be read.
func TestHardwareTells(t *testing.T) {
	copies := func(src, dst uint64) []byte {
		b, err := pkt.Copy{Src: src, Dst: dst, Bytes: 64}.Append(nil)
		require.NoError(t, err)
		return b
	}
	depends := func(at uint64) []byte {
		b, err := pkt.Predicate{Addr: at}.Append(nil)
		require.NoError(t, err)
		return b
	}
	const inPage = gartreg.Start + firstMapped*gartreg.PageBytes
	says := func(bytes, at uint64, write bool) string {
		return fmt.Sprintf("the RTL accesses %d bytes at %#x, write %t, which the submission does not list", bytes, at, write)
	}
	for _, tt := range []struct {
		name    string
		dma     []byte
		allowed uint64 // the allocation that may be written, of 4 KiB
		says    string
	}{
		{"page of the aperture", copies(0x1000, inPage), inPage, ""},
		{"read of another page", copies(inPage+0x1000, inPage), inPage, says(64, inPage+0x1000, false)},
		{"write of another page", copies(inPage, inPage+0x1000), inPage, says(64, inPage+0x1000, true)},
		{"page without an entry", copies(0x1000, inPage-64), inPage - 0x1000, fmt.Sprintf("the RTL stops at packet 0x4000005 with cause %d", cpreg.CausePage)},
		{"page outside of the table", copies(0x1000, gartreg.Start+hostPages*gartreg.PageBytes), inPage, fmt.Sprintf("the RTL stops at packet 0x4000005 with cause %d", cpreg.CausePage)},
		{"legal", copies(0x1fc0, 0x3000), 0x3000, ""},
		{"opcode", []byte{0, 0, 0, 0xee}, 0, "the RTL stops at packet 0xee000000 with cause 1"},
		{"write of VRAM", copies(0x1000, 0x3ff8), 0x3000, says(1, 0x4000, true)},
		{"write of what may only be read", copies(0x1000, 0x1ff8), 0x3000, says(1, 0x1ff8, true)},
		{"read of VRAM", copies(0x1fc8, 0x3000), 0x3000, says(8, 0x2000, false)},
		{"read of VRAM before", copies(0xfff, 0x3000), 0x3000, says(8, 0xff8, false)},
		{"copy of the ring", copies(ringAt, 0x3000), 0x3000, says(8, ringAt, false)},
		{"copy of the buffer", copies(bufferAt, 0x3000), 0x3000, says(8, bufferAt, false)},
		{"copy of the aperture's table", copies(tableAt, inPage), inPage, says(8, tableAt, false)},
		{"PREDICATE in the ring", depends(ringAt), 0x3000, says(8, ringAt, false)},
		{"PREDICATE in the buffer", depends(bufferAt), 0x3000, says(8, bufferAt, false)},
		{"PREDICATE in the allocation", depends(0x1ff8), 0x3000, ""},
		{"write of host memory", copies(0x1000, pkt.Host|0x40000), 0x3000, says(64, pkt.Host|0x40000, true)},
		{"read of host memory", copies(pkt.Host|0x40000, 0x3000), 0x3000, says(64, pkt.Host|0x40000, false)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := newHardware(tt.allowed&gartreg.Start != 0)
			require.NoError(t, err)
			err = h.run(tt.dma, func(a refmodel.Range, write bool) bool {
				return refmodel.Range{At: tt.allowed, N: 4096}.Holds(a.At, a.N) || !write && refmodel.Range{At: 0x1000, N: 4096}.Holds(a.At, a.N)
			})
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.says)
		})
	}
}

// TestGeneratedCommandsAreLegal: the writer and the model agree about what is legal.
func TestGeneratedCommandsAreLegal(t *testing.T) {
	c, err := newCommands(false)
	require.NoError(t, err)
	each(t, 5000, func(r *rand.Rand, _ int) error {
		cmd := newCommand(r, false)
		_, ok := legal(cmd.bytes(), cmd.patches, c.targets)
		require.True(t, ok, "%x %v", cmd.words, cmd.patches)
		return c.check(r, cmd, 1<<16, 1000)
	})
	assert.Zero(t, c.refused)
}

// TestBlocks mutates private data of allocations and contexts, adapter queries and
// presents. The miniport accepts what the model calls legal and nothing else, and the GPU
// accesses only the two allocations of a present.
//
// docs/validator.md: V27, V29.
func TestBlocks(t *testing.T) {
	b, err := newBlocks()
	require.NoError(t, err)
	each(t, *cases, func(r *rand.Rand, i int) error {
		switch i % 8 {
		case 0:
			return b.query(r)
		case 1:
			return b.context(r)
		case 2, 3, 4:
			return b.allocate(r)
		}
		return b.present(r)
	})
	t.Logf("allocations: %d accepted, %d refused; presents: %d accepted, %d refused", b.accepted, b.denied, b.presents, b.dropped)
	for _, n := range []int{b.accepted, b.denied, b.presents, b.dropped} {
		assert.Greater(t, n, *cases/20)
	}
}

// TestChangingMemory changes the command and the patch list before, during and after each
// read. The result is that of one consistent reading, which reads each byte once.
//
// docs/validator.md: V01.
func TestChangingMemory(t *testing.T) {
	c, err := newCommands(false)
	require.NoError(t, err)
	each(t, *changes, func(r *rand.Rand, _ int) error { return c.checkChanging(newChanging(r, newCommand(r, false))) })
	t.Logf("%d accepted, %d refused", c.legal, c.refused)
	assert.Greater(t, c.legal, *changes/20)
	assert.Greater(t, c.refused, *changes/20)
}
