package sanitize_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
)

// A part is a part of an allocation that a packet uses.
type part struct {
	allocation ddi.KMHandle
	offset     uint64
}

// packets queues and ends packets that use parts of allocations in VRAM, and returns what was found.
// fields are the offsets of their addresses in the buffer, in the order of the parts.
func (r *rig) packets(t *testing.T, function string, all []pkt.Packet, fields []uint32, parts ...part) []string {
	t.Helper()
	var b []byte
	var err error
	for _, p := range all {
		b, err = p.Append(b)
		require.NoError(t, err)
	}
	r.serial++
	r.found, r.texts = nil, nil
	e := dxgkrnl.Event{Kind: dxgkrnl.EventQueue, Submission: r.serial, Device: 1, Address: 0x9000, End: uint32(len(b)), Text: function, Commands: b}
	for i, p := range parts {
		e.Uses = append(e.Uses, dxgkrnl.Use{At: fields[i], Allocation: p.allocation, Offset: p.offset, Write: true})
	}
	r.Kernel(r.t, e)
	r.retire(r.serial)
	return r.found
}

const render = "DxgkDdiRender"

func (p part) address() uint64 { return 0x1000*uint64(p.allocation-9) + p.offset }

func (r *rig) copyPart(t *testing.T, function string, from, to part, n uint32) []string {
	t.Helper()
	return r.packets(t, function, []pkt.Packet{pkt.Copy{Src: from.address(), Dst: to.address(), Bytes: n}}, []uint32{4, 12}, from, to)
}

func (r *rig) fill(t *testing.T, to part, n uint32) {
	t.Helper()
	require.Empty(t, r.packets(t, render, []pkt.Packet{pkt.Fill{Dst: to.address(), Bytes: n}}, []uint32{4}, to))
}

// A packet reads bytes that the application or a packet has written.
func TestUnwritten(t *testing.T) {
	r := newRig(t)
	assert.Equal(t, []string{"access-unwritten"}, r.copies(t, 0, 11, 10))
	assert.Empty(t, r.copies(t, 0, 11, 10), "it is told once of an allocation")
	r = newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	assert.Empty(t, r.copies(t, 0, 11, 10), "a packet has written it")

	r = newRig(t)
	r.fill(t, part{11, 16}, 32)
	assert.Empty(t, r.copyPart(t, render, part{11, 16}, part{10, 0}, 32), "the written part")
	assert.Equal(t, []string{"access-unwritten"}, r.copyPart(t, render, part{11, 16}, part{10, 0}, 36), "a word more")
	assert.Contains(t, r.texts[0], "of which nobody has written byte 0x30")
	r = newRig(t)
	r.fill(t, part{11, 16}, 32)
	assert.Equal(t, []string{"access-unwritten"}, r.copyPart(t, render, part{11, 12}, part{10, 0}, 8), "a word before")
	assert.Contains(t, r.texts[0], "byte 0xc")
}

// A copy of a texture may include bytes that nobody wrote. They are as unwritten in the copy.
func TestUnwrittenTexture(t *testing.T) {
	texture := cmdbuf.Resource{Name: "resource 1", Description: "a texture of 8x2 R8G8B8A8_UNORM", Texture: true}
	r := newRig(t)
	r.Allocated(11, texture)
	assert.Equal(t, []string{"access-unwritten"}, r.copies(t, 0, 11, 10), "nothing is written")
	assert.Equal(t, "COPY at 0x0 of submission 1 (node 0, fence 0) reads VRAM+0x2000 to VRAM+0x2100 of allocation 0xb "+
		"(resource 1, a texture of 8x2 R8G8B8A8_UNORM), of which nobody has written byte 0x0", r.texts[0])

	r = newRig(t)
	r.Allocated(11, texture)
	r.fill(t, part{11, 64}, 32)
	assert.Empty(t, r.copies(t, 0, 11, 10), "a part is written")
	r.retire(r.serial)
	assert.Empty(t, r.copyPart(t, render, part{10, 64}, part{11, 128}, 32), "that part of the copy")
	assert.Equal(t, []string{"access-unwritten"}, r.copyPart(t, render, part{10, 32}, part{11, 128}, 32), "another part of the copy")
}

// A rectangle is checked row by row, without the bytes between the rows.
func TestUnwrittenRows(t *testing.T) {
	const pitch, row = 64, 32
	blit := func(r *rig, y, h uint16) []string {
		from, to := part{11, 0}, part{10, 0}
		return r.packets(t, render, []pkt.Packet{
			pkt.SetState{Surface: pkt.Source, Format: pkt.Format32, Base: from.address(), Pitch: pitch},
			pkt.SetState{Surface: pkt.Dest, Format: pkt.Format32, Base: to.address(), Pitch: pitch},
			pkt.Copy2D{SrcY: y, DstY: y, W: row / 4, H: h},
		}, []uint32{8, 8 + 4*(1+pkt.SetStateBody)}, from, to)
	}
	r := newRig(t)
	r.fill(t, part{11, 0}, row)
	r.fill(t, part{11, pitch}, row)
	assert.Empty(t, blit(r, 0, 2), "the rows are written, the bytes between them are not")
	assert.Equal(t, []string{"access-unwritten"}, blit(r, 0, 3))
	assert.Contains(t, r.texts[0], "byte 0x80")
}

// A present may read what nobody has written.
func TestUnwrittenPresent(t *testing.T) {
	r := newRig(t)
	assert.Empty(t, r.copyPart(t, "DxgkDdiPresent", part{11, 0}, part{10, 0}, 64))
}

// A node faults at a packet that cannot be decoded, and what follows it is not known. Work that reads what
// it should have written is not executed: the device is lost.
func TestUnwrittenAfterABadPacket(t *testing.T) {
	bad := []byte{0, 0, 0, 0x7e}
	fill, err := pkt.Fill{Dst: part{11, 0}.address(), Bytes: 64}.Append(nil)
	require.NoError(t, err)
	for _, tt := range []struct {
		name     string
		commands [][]byte
		field    uint32 // of the address of the fill
		write    bool
		want     []string
	}{
		{"before the fill", [][]byte{bad, fill}, 8, true, nil},
		{"before what reads", [][]byte{bad, fill}, 8, false, []string{"access-unwritten"}},
		{"after the fill, of a part", [][]byte{fill, bad}, 4, true, []string{"access-unwritten"}},
	} {
		r := newRig(t)
		r.serial++
		b := bytes.Join(tt.commands, nil)
		r.Kernel(r.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: r.serial, Device: 1, Address: 0x9000, End: uint32(len(b)), Text: render, Commands: b,
			Uses: []dxgkrnl.Use{{At: tt.field, Allocation: 11, Write: tt.write}},
		})
		require.Empty(t, r.found)
		assert.Equal(t, tt.want, r.copies(t, 0, 11, 10), tt.name)
	}
}

// A map for reading of what nobody has written is told once.
func TestMappedUnwritten(t *testing.T) {
	const want = "allocation 0xb (resource 4, a buffer of 256 bytes) is mapped for reading, and nobody has written a byte of it"
	buffer := cmdbuf.Resource{Name: "resource 4", Description: "a buffer of 256 bytes"}
	r := newRig(t)
	r.Allocated(11, buffer)
	r.Mapped(r.t, cmdbuf.Resource{Name: "resource 5"})
	require.Empty(t, r.found)
	r.Mapped(r.t, buffer)
	r.Mapped(r.t, buffer)
	assert.Equal(t, []string{"access-unwritten"}, r.found)
	assert.Equal(t, []string{want}, r.texts)

	r = newRig(t)
	r.Allocated(11, buffer)
	r.fill(t, part{11, 0}, 4)
	r.Mapped(r.t, buffer)
	assert.Empty(t, r.found, "a packet has written a part")

	r = newRig(t)
	r.Allocated(11, buffer)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop})
	r.Mapped(r.t, buffer)
	assert.Empty(t, r.found, "the adapter has stopped")
}

// A resource of two allocations is told if nobody has written a byte of either.
func TestMappedTwoAllocations(t *testing.T) {
	buffer := cmdbuf.Resource{Name: "resource 4", Description: "a buffer of 512 bytes"}
	const first, second, other = 11, 12, 10
	for name, tt := range map[string]struct {
		written []ddi.KMHandle
		want    []string
	}{
		"none":             {nil, []string{"allocation 0xb (resource 4, a buffer of 512 bytes) is mapped for reading, and nobody has written a byte of it"}},
		"the first":        {written: []ddi.KMHandle{first}},
		"the second":       {written: []ddi.KMHandle{second}},
		"both":             {written: []ddi.KMHandle{first, second}},
		"only another one": {[]ddi.KMHandle{other}, []string{"allocation 0xb (resource 4, a buffer of 512 bytes) is mapped for reading, and nobody has written a byte of it"}},
	} {
		r := newRig(t)
		r.Allocated(first, buffer)
		r.Allocated(second, buffer)
		for _, h := range tt.written {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: h, Write: true})
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventUnlock, Allocation: h})
		}
		r.Mapped(r.t, buffer)
		r.Mapped(r.t, buffer)
		assert.Equal(t, tt.want, r.texts, name)
	}
}
