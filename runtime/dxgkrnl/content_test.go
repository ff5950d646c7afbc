package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// builds makes the miniport write op in place of each paging operation of a kind.
func (r *rig) builds(kind kmddi.PagingOperation, op func(arg kmddi.BuildPagingBuffer) []byte) {
	r.mini.build = func(arg kmddi.BuildPagingBuffer) (out kmddi.BuildPagingBufferOut, s ddi.Status, done bool) {
		if arg.Operation != kind {
			return out, s, false
		}
		return kmddi.BuildPagingBufferOut{DmaBufferUsed: uint32(copy(arg.DmaBuffer, op(arg)))}, ddi.StatusSuccess, true
	}
}

// A paging operation that does not do what it was built for is found when its fence
// has come.
//
// docs/properties.md: F2.
func TestContentOfPaging(t *testing.T) {
	fills := func(bytes uint32, value uint64) func(arg kmddi.BuildPagingBuffer) []byte {
		return func(arg kmddi.BuildPagingBuffer) []byte {
			return encodeOp(opFill, bytes, 0, arg.Destination.Address, value)
		}
	}
	moves := func(bytes uint32, src, dst uint64) func(arg kmddi.BuildPagingBuffer) []byte {
		return func(arg kmddi.BuildPagingBuffer) []byte {
			return encodeOp(opCopy, bytes, arg.Source.Address+hostBase+src, arg.Destination.Address+dst, 0)
		}
	}
	const fill = "paging-content: DxgkDdiBuildPagingBuffer: node 0: fence 1: FILL of 100 bytes of allocation 0x100003 to 0x100000 in segment 1: "
	const move = "paging-content: DxgkDdiBuildPagingBuffer: node 0: fence 1: TRANSFER of 100 bytes of allocation 0x100003 to 0x100000 in segment 1 from host memory 0x103000: "
	for _, tt := range []struct {
		name string
		kind kmddi.PagingOperation
		op   func(arg kmddi.BuildPagingBuffer) []byte
		want string // "" for none
	}{
		{"a right fill", kmddi.PagingFill, fills(100, 0), ""},
		{"another pattern", kmddi.PagingFill, fills(100, 1), fill + "byte 0x0 of the destination is 0x01, want 0x00"},
		{"a byte too few", kmddi.PagingFill, fills(99, 0), fill + "byte 0x63 of the destination is 0xee, want 0x00"},
		{"nothing", kmddi.PagingFill, func(kmddi.BuildPagingBuffer) []byte { return nil }, fill + "byte 0x0 of the destination is 0xee, want 0x00"},
		{"a right transfer", kmddi.PagingTransfer, moves(100, 0, 0), ""},
		{"a transfer of a byte too few", kmddi.PagingTransfer, moves(99, 0, 0), move + "byte 0x63 of the destination is 0xee, want 0x64"},
		{"from the next byte", kmddi.PagingTransfer, moves(100, 1, 0), move + "byte 0x0 of the destination is 0x02, want 0x01"},
		{"to the next byte", kmddi.PagingTransfer, moves(100, 0, 1), move + "byte 0x0 of the destination is 0xee, want 0x01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			a, to := r.alloc(100, local), r.alloc(100, system)
			if tt.kind == kmddi.PagingTransfer {
				content := make([]byte, 100)
				for i := range content {
					content[i] = byte(i + 1)
				}
				r.write(a, content)
			}
			copy(r.gpu.vram, repeat(0xee, 200)) // of an earlier allocation
			r.builds(tt.kind, tt.op)
			r.render(copyTo(to, 0, a, 0, 64))
			r.wait()
			if tt.want == "" {
				assert.Empty(t, r.wrongContents())
				return
			}
			assert.Equal(t, []string{tt.want}, r.wrongContents())
			assert.Equal(t, []uint64{1}, r.about, "the first submission")
		})
	}
}

// Content that may have changed since is not compared: a locked allocation, one that
// was destroyed, and one that the same node has written.
func TestContentThatIsNotCompared(t *testing.T) {
	wrong := func(arg kmddi.BuildPagingBuffer) []byte {
		return encodeOp(opFill, uint32(arg.Size), 0, arg.Destination.Address, 7)
	}
	for name, work := range map[string]func(r *rig, a ddi.KMHandle){
		"written": func(r *rig, a ddi.KMHandle) { r.render(fill(a, 0, 64, 1)) },
		"destroyed": func(r *rig, a ddi.KMHandle) {
			r.render(copyTo(r.alloc(64, system), 0, a, 0, 64))
			r.ok(r.destroy(a))
		},
		"no memory to look at": func(r *rig, a ddi.KMHandle) {
			r.kernel.peek = func(int, uint64, []byte) bool { return false }
			r.render(copyTo(r.alloc(64, system), 0, a, 0, 64))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{})
			a := r.alloc(64, local)
			r.builds(kmddi.PagingFill, wrong)
			work(r, a)
			r.wait()
			assert.Empty(t, r.reports)
		})
	}
}
