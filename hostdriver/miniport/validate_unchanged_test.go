package miniport_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A changing is an application's memory that has other content once it has been read: the command
// after the first read, and each patch after its own.
type changing struct {
	*userMemory
	userPatches
	later patches
}

// newChanging returns memory with a command and a patch list, and what they become.
func newChanging(cmd, laterCmd []uint32, list, laterList patches) *changing {
	m := &userMemory{b: words(cmd...), change: func(b []byte) { copy(b, words(laterCmd...)) }}
	return &changing{userMemory: m, userPatches: userPatches{list: slices.Clone(list)}, later: laterList}
}

func (u *changing) At(i int) (kmddi.PatchLocation, ddi.Status) {
	p := u.list[i]
	u.list[i] = u.later[i]
	return p, success
}

// The verdict is that of the first reading: a bad command that becomes a good one is refused. The DMA
// buffer has the first reading of a good command that becomes a bad one.
//
// docs/validator.md: V01.
func TestV01(t *testing.T) {
	f := newFixture(t)
	good, bad := fillOf(8), []uint32{0x10000004, 0, 0, 1, 1, 0x01000000} // FENCE and NOP
	inside, outside := patches{at(target, 4088, 4, 0)}, patches{at(target, 4089, 4, 0)}
	t.Run("refused", func(t *testing.T) {
		for _, tt := range []struct {
			name string
			cmd  []uint32
			list patches
			want ddi.Status
		}{
			{"a packet", bad, inside, privileged}, {"a patch", good, outside, parameter}, {"a length", []uint32{0x06000006}, inside, illegal},
		} {
			m := newChanging(join(tt.cmd, good[len(tt.cmd):]), good, tt.list, inside)
			_, _, _, s := f.render(t, m, m, 24, 1, 0)
			assert.Equal(t, tt.want, s, tt.name)
			_, _, _, s = f.render(t, m, m, 24, 1, 0)
			assert.Equal(t, success, s, "%s: what it has become", tt.name)
		}
	})
	t.Run("accepted", func(t *testing.T) {
		m := newChanging(good, bad, inside, outside)
		_, dma, got, s := f.render(t, m, m, 24, 1, 0)
		require.Equal(t, success, s)
		assert.Equal(t, words(0x06000005, 0x40ff8, 0x80000000, 8, 0x11, 0x22), dma)
		assert.Equal(t, inside, got)
		_, _, _, s = f.render(t, m, m, 24, 1, 0)
		assert.Equal(t, privileged, s, "what it has become")
	})
}

// A command that does not fit in the DMA buffer or in the patch list is written to neither. In buffers
// that just fit it gives the same bytes in one pass and in several.
//
// docs/validator.md: V04.
func TestV04(t *testing.T) {
	f := newFixture(t)
	cmd := words(join(fillOf(8), stamp(), copyOf(8))...)
	list := patches{at(target, 0, 4, 0), at(target, 8, 28, 24), at(source, 0, 40, 36), at(target, 0, 48, 36)}
	render := func(t *testing.T, size, entries int, from uint32) (kmddi.RenderOut, []byte, ddi.Status) {
		out, dma, _, s := f.render(t, &userMemory{b: cmd}, &userPatches{list: list}, size, entries, from)
		return out, dma, s
	}
	t.Run("refused", func(t *testing.T) {
		for _, tt := range [][2]int{{23, 4}, {23, 0}, {60, 0}, {0, 4}, {0, 0}} {
			out, dma, s := render(t, tt[0], tt[1], 0)
			assert.Equal(t, ddi.StatusInsufficientDMABuffer, s, tt)
			assert.Equal(t, kmddi.RenderOut{MultipassOffset: 1}, out, tt)
			assert.Empty(t, dma)
			_, _, s = render(t, tt[0], tt[1], 1)
			assert.Equal(t, parameter, s, "%v, with an empty buffer", tt)
		}
	})
	t.Run("accepted", func(t *testing.T) {
		_, complete, s := render(t, 60, 4, 0)
		require.Equal(t, success, s)
		var parts []byte
		from := uint32(0)
		for i, size := range []int{24, 12, 24} {
			out, dma, s := render(t, size, []int{1, 1, 2}[i], from)
			assert.Equal(t, []ddi.Status{ddi.StatusInsufficientDMABuffer, ddi.StatusInsufficientDMABuffer, success}[i], s)
			parts, from = append(parts, dma...), out.MultipassOffset
		}
		assert.Equal(t, complete, parts)
	})
}

// mistaken are commands with a mistake after packets without one, and the same without the mistake.
func mistaken() (refused, accepted []rule) {
	begin := join(surface(1, 16, 16), fill2D(), fillOf(8))
	list := func(more ...kmddi.PatchLocation) patches {
		return append(patches{at(canvas, 0, 8, 0), at(target, 0, 56, 0)}, more...)
	}
	for _, r := range [][2]rule{
		{{"a register", writeReg(0x30), list(), privileged}, {"", writeReg(0x2c), list(), 0}},
		{{"a length", []uint32{0x01000002, 0}, list(), userBuffer}, {"", []uint32{0x01000001, 0}, list(), 0}},
		{{"an opcode", []uint32{0x0c000000}, list(), illegal}, {"", []uint32{0x01000000}, list(), 0}},
		{{"a range", fillOf(8), list(at(target, 4089, 80, 0)), parameter}, {"", fillOf(8), list(at(target, 4088, 80, 0)), 0}},
		{{"an allocation", fillOf(8), list(at(foreign, 0, 80, 0)), handle}, {"", fillOf(8), list(at(large, 0, 80, 0)), 0}},
	} {
		r[1].name = r[0].name
		for i := range r {
			r[i].cmd = join(begin, r[i].cmd)
		}
		refused, accepted = append(refused, r[0]), append(accepted, r[1])
	}
	return refused, accepted
}

// A refused command changes neither the buffers, nor the device, nor what later commands give. The
// same command without its mistake gives the bytes that a miniport gives that has refused nothing.
//
// docs/validator.md: V28.
func TestV28(t *testing.T) {
	refused, accepted := mistaken()
	f := newFixture(t)
	render := func(t *testing.T, f *fixture, r rule) ([]byte, patches, ddi.Status) {
		_, dma, list, s := f.render(t, &userMemory{b: words(r.cmd...)}, &userPatches{list: r.patches}, 4*len(r.cmd), len(r.patches), 0)
		return dma, list, s
	}
	t.Run("refused", func(t *testing.T) {
		before := f.k.debug(t)
		f.k.hook = func(write bool, off uint32) { assert.False(t, write, "a write of the register %#x", off) }
		for _, r := range refused {
			_, _, s := render(t, f, r) // with guards everywhere
			assert.Equal(t, r.want, s, r.name)
			assert.Equal(t, before, f.k.debug(t), r.name)
			_, _, s = render(t, f, rule{cmd: fill2D()})
			assert.Equal(t, illegal, s, "%s: the surface of the refused command", r.name)
		}
		assert.Empty(t, f.k.drain())
		f.k.hook = nil
	})
	t.Run("accepted", func(t *testing.T) {
		for _, r := range accepted {
			dma, list, s := render(t, f, r)
			assert.Equal(t, success, s, r.name)
			want, wantList, _ := render(t, newFixture(t), r)
			assert.Equal(t, want, dma, r.name)
			assert.Equal(t, wantList, list, r.name)
		}
	})
}
