package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// unmaps makes the miniport execute commands in place of each UNMAP, when it is built or by the GPU.
func (r *rig) unmaps(op func(arg kmddi.BuildPagingBuffer) []byte) {
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		if arg.Operation != kmddi.PagingUnmapApertureSegment {
			return out, s, false
		}
		b := op(arg)
		if !r.mini.maps {
			return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(copy(arg.DmaBuffer, b))}, ddi.StatusSuccess, true
		}
		for ; len(b) > 0; b = b[opBytes:] {
			r.gpu.command(b[:opBytes])
		}
		return out, ddi.StatusSuccess, true
	}
}

// entryOf is a command that gives a page of an UNMAP a page of host memory.
func entryOf(arg kmddi.BuildPagingBuffer, n, page uint64) []byte {
	return encodeOp(opMap, uint32(arg.OffsetInPages+n), page, 0, 0)
}

// An UNMAP that leaves a page as it was, gives it another one or does not flush is found when its
// fence has come.
func TestUnmapGivesTheDummyPage(t *testing.T) {
	flush := encodeOp(opFlush, 0, 0, 0, 0)
	both := func(first, second uint64) func(arg kmddi.BuildPagingBuffer) []byte {
		return func(arg kmddi.BuildPagingBuffer) []byte {
			return append(append(entryOf(arg, 0, first+arg.DummyPage), entryOf(arg, 1, second+arg.DummyPage)...), flush...)
		}
	}
	const unmap = "aperture-unmap: DxgkDdiBuildPagingBuffer: node 0: fence 3: UNMAP_APERTURE_SEGMENT of 8192 bytes of allocation 0x100003 to host memory 0x100000 from 0x10000000000 in segment 2: "
	for _, tt := range []struct {
		name string
		op   func(arg kmddi.BuildPagingBuffer) []byte
		want string // "" for none
	}{
		{"the dummy page", both(0, 0), ""},
		{"nothing", func(kmddi.BuildPagingBuffer) []byte { return nil }, unmap + "the GPU has page 0x40ff000 of host memory at 0x10000000000, want the dummy page"},
		{"the last page is the next one", both(0, 4096), unmap + "the GPU has page 0x101000 of host memory at 0x10000001000, want the dummy page"},
		{"the first page has no entry", func(arg kmddi.BuildPagingBuffer) []byte {
			return append(append(entryOf(arg, 0, 0), entryOf(arg, 1, arg.DummyPage)...), flush...)
		}, unmap + "the GPU cannot write 0x10000000000, want the dummy page there"},
		{"no flush", func(arg kmddi.BuildPagingBuffer) []byte {
			return append(entryOf(arg, 0, arg.DummyPage), entryOf(arg, 1, arg.DummyPage)...)
		}, unmap + "the GPU has page 0x40ff000 of host memory at 0x10000000000, want the dummy page"},
	} {
		for _, maps := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				r := newRig(t, options{aperture: 8, maps: maps})
				a := r.alloc(8192, system)
				require.Equal(t, []uint64{0x100000, 0x40ff000}, []uint64{r.kernel.dummy.Phys, r.object(a).pages.List[0]})
				r.render(fill(a, 0, 8192, 1))
				r.wait()
				r.unmaps(tt.op)
				r.ok(r.destroy(a))
				r.render(fill(r.alloc(64, local), 0, 64, 1)) // after the UNMAP
				r.wait()
				if tt.want == "" {
					r.finish()
					return
				}
				assert.Equal(t, []string{tt.want}, r.wrongContents())
			})
		}
	}
}

// A page that is mapped again, and one of a GPU that cannot be looked at, are not compared.
func TestUnmappedPagesThatAreNotCompared(t *testing.T) {
	nothing := func(kmddi.BuildPagingBuffer) []byte { return nil }
	r := newRig(t, options{aperture: 2, maps: true})
	a, b := r.alloc(8192, system), r.alloc(8192, system)
	r.render(fill(a, 0, 8192, 1))
	r.wait()
	r.unmaps(nothing)
	r.render(fill(b, 0, 8192, 2))
	r.wait()
	assert.Empty(t, r.wrongContents(), "both pages are mapped again")
	r.kernel.translate = func(uint64) (uint64, bool, bool) { return 0, false, false }
	r.ok(r.destroy(b))
	r.render(fill(r.alloc(64, local), 0, 64, 1))
	r.wait()
	assert.Empty(t, r.wrongContents(), "the GPU cannot be looked at")
}

// An MDL is lent for a call: afterwards the miniport's copy has no page of memory, and the kernel's
// memory is as it was.
func TestMDLIsLent(t *testing.T) {
	for _, poison := range []bool{true, false} {
		r := newRig(t, options{aperture: 8, vram: 8192})
		r.kernel.poison = poison
		var lent []kmddi.MDL
		r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
			for _, mdl := range []kmddi.MDL{arg.MDL, arg.Source.MDL, arg.Destination.MDL} {
				if mdl != nil {
					assert.NotContains(t, mdl, uint64(EndedPage), "during the call")
					lent = append(lent, mdl)
				}
			}
			return out, s, false
		}
		a, b := r.alloc(8192, system), r.alloc(8192, both)
		r.write(b, repeat(3, 8192))
		r.render(fill(a, 0, 8192, 1))
		r.render(copyTo(a, 0, b, 0, 8192))
		assert.Equal(t, repeat(3, 8192), r.read(a))
		assert.GreaterOrEqual(t, len(lent), 2)
		for _, mdl := range lent {
			if want := uint64(EndedPage); poison {
				assert.Equal(t, kmddi.MDL{want, want}, mdl)
			} else {
				assert.NotContains(t, mdl, want)
			}
		}
		r.finish()
	}
}
