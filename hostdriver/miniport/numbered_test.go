package miniport_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The DMA buffer has nothing of a command that is refused, also not of its good packets. It has exactly
// an accepted one, and keeps it when the application's memory changes.
//
// docs/validator.md: V02.
func TestV02(t *testing.T) {
	f := newFixture(t)
	t.Run("refused", func(t *testing.T) {
		list := patches{at(target, 0, 4, 0), at(target, 0, 28, 0)}
		bad := join(fillOf(8), fillOf(8), []uint32{0x10000004, 0, 0, 1, 1})
		out, dma, got, s := f.render(t, &userMemory{b: words(bad...)}, &userPatches{list: list}, 4096, 64, 0) // with guards everywhere
		require.Equal(t, privileged, s)
		assert.Equal(t, kmddi.RenderOut{}, out)
		assert.Empty(t, dma)
		assert.Empty(t, got)
	})
	t.Run("accepted", func(t *testing.T) {
		m := &userMemory{b: words(fillOf(8)...)}
		p := &userPatches{list: onTarget(16)}
		_, dma, got, s := f.render(t, m, p, 24, 1, 0) // no byte and no patch too many
		require.Equal(t, success, s)
		clear(m.b)
		clear(p.list)
		assert.Equal(t, words(0x06000005, 0x40010, 0x80000000, 8, 0x11, 0x22), dma)
		assert.Equal(t, onTarget(16), got)
	})
}

// A context of each node gets the same verdict for each opcode: the nodes have the same packets.
//
// docs/validator.md: V19.
func TestV19(t *testing.T) {
	f := newFixture(t)
	var contexts []kmddi.HContext
	for node := range uint32(2) {
		c := kmddi.HContext{Root: new(ddi.Root)}
		_, s := f.k.table.CreateContext(f.k.thread, f.dev, c, kmddi.CreateContext{NodeOrdinal: node, EngineAffinity: 1})
		require.Equal(t, success, s)
		contexts = append(contexts, c)
	}
	verdicts := func(cmd []uint32, list patches) (all []ddi.Status) {
		for _, c := range contexts {
			f.ctx = c
			_, _, _, s := f.render(t, &userMemory{b: words(cmd...)}, &userPatches{list: slices.Clone(list)}, 4096, 64, 0)
			all = append(all, s)
		}
		return all
	}
	t.Run("refused", func(t *testing.T) {
		for _, l := range pkt.Table {
			if l.Privileged {
				assert.Equal(t, []ddi.Status{privileged, privileged}, verdicts(append([]uint32{uint32(l.Op)<<24 | l.Body}, make([]uint32, l.Body)...), nil), "opcode %#x", l.Op)
			}
		}
	})
	t.Run("accepted", func(t *testing.T) {
		for _, r := range []rule{
			{"NOP", []uint32{0x01000000}, nil, 0}, {"FILL", fillOf(8), onTarget(0), 0}, {"WRITE_REG", writeReg(0x20), nil, 0}, {"TIMESTAMP", stamp(), onTarget(8), 0},
			{"COPY", copyOf(8), patches{at(source, 0, 4, 0), at(target, 0, 12, 0)}, 0},
			{"FILL_2D", join(surface(1, 16, 16), fill2D()), patches{at(canvas, 0, 8, 0)}, 0},
		} {
			assert.Equal(t, []ddi.Status{success, success}, verdicts(r.cmd, r.patches), r.name)
		}
	})
}

// The miniport reports no fence of the device that is after the last submission, and each one up to it,
// also where the IDs wrap around.
//
// docs/validator.md: V24.
func TestV24(t *testing.T) {
	reported := func(t *testing.T, last, fence uint32) []string {
		k := started(t, 1)
		for id := last - 2; id != last+1; id++ {
			k.submit(t, 0, 0, 4, id)
		}
		k.drain()
		k.gpu.complete(0, fence)
		require.True(t, k.interrupt(0))
		return k.drain()
	}
	for _, last := range []uint32{3, 0, 0x80000001} {
		t.Run(fmt.Sprintf("refused, %#x", last+1), func(t *testing.T) {
			assert.Equal(t, []string{"QueueDpc"}, reported(t, last, last+1))
		})
		t.Run(fmt.Sprintf("accepted, %#x", last), func(t *testing.T) {
			assert.Equal(t, []string{fmt.Sprintf("completed node 0 fence %#x status 0x0", last), "QueueDpc"}, reported(t, last, last))
		})
	}
}

// leastOf returns a packet of an opcode with the given number of dwords in its body, which are 0 if they
// may be. Both surfaces are set before it. Its addresses are 8 bytes before the end of an allocation.
func leastOf(op, body uint32) ([]uint32, patches) {
	cmd := join(surface(0, 16, 16), surface(1, 16, 16), []uint32{op<<24 | body}, make([]uint32, body))
	list := patches{at(image, 0, 8, 0), at(canvas, 0, 40, 0)}
	if op == pkt.OpWriteReg {
		cmd[17] = 0x20
	}
	l, _ := pkt.Lookup(uint8(op))
	for _, f := range l.Fields {
		if f.Kind.Address() {
			list = append(list, at(target, 4088, uint32(64+4*f.Dword), 0))
		}
	}
	return cmd, list
}
