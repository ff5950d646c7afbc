package sanitize_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// opens gives the firmware a window, or closes it.
func (r *rig) opens(window int, addr uint64, size uint32) {
	at := uint64(mcureg.Base + mcureg.Window + window*mcureg.Stride)
	r.Register(r.t, at+mcureg.BaseLo, uint32(addr))
	r.Register(r.t, at+mcureg.BaseHi, uint32(addr>>32))
	r.Register(r.t, at+mcureg.WindowSize, size)
}

// again resets the device, and gives node 0 its ring.
func (r *rig) again() {
	r.Register(r.t, idreg.Base+idreg.Reset, idreg.ResetWhole)
	r.start()
}

// gart writes a register of the aperture.
func (r *rig) gart(off, value uint32) { r.Register(r.t, uint64(gartreg.Base+off), value) }

// translates enables the aperture with a table.
func (r *rig) translates(addr uint64, pages uint32) {
	r.gart(gartreg.TableLo, uint32(addr))
	r.gart(gartreg.TableHi, uint32(addr>>32))
	r.gart(gartreg.Pages, pages)
	r.gart(gartreg.Ctl, gartreg.CtlEnable)
}

// A packet of a ring that writes a value goes to memory of the miniport that is nothing else.
func TestRingWrites(t *testing.T) {
	const in = "HOST+0x8014 in the ring of node 0 writes "
	for name, tt := range map[string]struct {
		packet pkt.Packet
		before func(r *rig)
		want   string
	}{
		"a fence":                     {packet: pkt.Fence{Addr: pkt.Host | 0x8f00, ID: 2}},
		"a fence before the end":      {packet: pkt.Fence{Addr: pkt.Host | 0x8ff8, ID: 2}},
		"a fence after the ring":      {packet: pkt.Fence{Addr: pkt.Host | 0x8400, ID: 2}},
		"a fence in the ring":         {packet: pkt.Fence{Addr: pkt.Host | 0x83f8, ID: 2}, want: "FENCE at " + in + "HOST+0x83f8 to HOST+0x8400, the ring of node 0"},
		"a fence after the memory":    {packet: pkt.Fence{Addr: pkt.Host | 0x9000, ID: 2}, want: "FENCE at " + in + "HOST+0x9000 to HOST+0x9008, want memory of the miniport"},
		"a fence in an allocation":    {packet: pkt.Fence{Addr: 0x20f8, ID: 2}, want: "FENCE at " + in + "VRAM+0x20f8 to VRAM+0x2100, the place of allocation 0xb"},
		"a fence after an allocation": {packet: pkt.Fence{Addr: 0x2100, ID: 2}},
		"a value":                     {packet: pkt.Signal{Addr: pkt.Host | 0x8f00, Value: 2}},
		"a value in the ring":         {packet: pkt.Signal{Addr: pkt.Host | 0x8000, Value: 2}, want: "SIGNAL at " + in + "HOST+0x8000 to HOST+0x8008, the ring of node 0"},
		"a time in host memory":       {packet: pkt.Timestamp{Addr: pkt.Host | hostBase}, want: "TIMESTAMP at " + in + "HOST+0x100000 to HOST+0x100008, want memory of the miniport"},
		"a context in the ring":       {packet: pkt.SaveState{Addr: pkt.Host | 0x8200}, want: "SAVE_STATE at " + in + "HOST+0x8200 to HOST+0x8280, the ring of node 0"},
		"a context":                   {packet: pkt.SaveState{Addr: pkt.Host | 0x8e00}},
		"a fill of the ring":          {packet: pkt.Fill{Dst: pkt.Host | 0x83f0, Bytes: 64}, want: "FILL at " + in + "HOST+0x83f0 to HOST+0x8430, the ring of node 0"},
		"a fill of the rest":          {packet: pkt.Fill{Dst: pkt.Host | 0x8500, Bytes: 64}},
		"a fence in a window":         {packet: pkt.Fence{Addr: pkt.Host | 0x8a00, ID: 2}, before: func(r *rig) { r.opens(3, pkt.Host|0x8a00, 0x40|mcureg.SizeWrite) }, want: "FENCE at " + in + "HOST+0x8a00 to HOST+0x8a08, window 3 of the firmware"},
		"a fence after a window":      {packet: pkt.Fence{Addr: pkt.Host | 0x8a40, ID: 2}, before: func(r *rig) { r.opens(3, pkt.Host|0x8a00, 0x40) }},
		"a fence in a closed window":  {packet: pkt.Fence{Addr: pkt.Host | 0x8a00, ID: 2}, before: func(r *rig) { r.opens(3, pkt.Host|0x8a00, 0x40); r.opens(3, pkt.Host|0x8a00, 0) }},
		"a fence in a window of before": {packet: pkt.Fence{Addr: pkt.Host | 0x8a00, ID: 2}, before: func(r *rig) {
			r.opens(3, pkt.Host|0x8a00, 0x40)
			r.again()
		}},
		"a fence in the table":         {packet: pkt.Fence{Addr: pkt.Host | 0x8b38, ID: 2}, before: func(r *rig) { r.translates(pkt.Host|0x8b00, 8) }, want: "FENCE at " + in + "HOST+0x8b38 to HOST+0x8b40, the table of the aperture"},
		"a fence after the table":      {packet: pkt.Fence{Addr: pkt.Host | 0x8b40, ID: 2}, before: func(r *rig) { r.translates(pkt.Host|0x8b00, 8) }},
		"a fence in a table of before": {packet: pkt.Fence{Addr: pkt.Host | 0x8b00, ID: 2}, before: func(r *rig) { r.translates(pkt.Host|0x8b00, 8); r.translates(pkt.Host|0x8c00, 8) }},
	} {
		r := newRig(t)
		if tt.before != nil {
			tt.before(r)
		}
		got := r.puts(t, tt.packet)
		if tt.want == "" {
			assert.Empty(t, got, name)
			continue
		}
		assert.Equal(t, []string{tt.want}, got, name)
		assert.Equal(t, []string{"access-driver"}, r.found, name)
	}
}

// The GPU uses the memory of the miniport as registers and packets of rings say.
func TestMiniportMemory(t *testing.T) {
	read := func(at uint64, n int) func(r *rig) { return func(r *rig) { r.Read(at, make([]byte, n)) } }
	write := func(at uint64, n int) func(r *rig) { return func(r *rig) { r.Wrote(at, make([]byte, n)) } }
	with := func(before, do func(r *rig)) func(r *rig) { return func(r *rig) { before(r); do(r) } }
	puts := func(p pkt.Packet) func(r *rig) { return func(r *rig) { r.puts(t, p) } }
	opens := func(r *rig) { r.opens(1, pkt.Host|0x8a00, 0x40|mcureg.SizeWrite) }
	moved := func(r *rig) { r.node(0, cpreg.RingHi, 0) }
	for name, tt := range map[string]struct {
		do   func(r *rig)
		want string
	}{
		"a read of the ring":              {do: read(0x83c0, 64)},
		"a read after the ring":           {read(0x8400, 64), "the GPU read HOST+0x8400 to HOST+0x8440, memory of the miniport that no packet of a ring reads"},
		"a read over the end of the ring": {read(0x83f8, 16), "the GPU read HOST+0x83f8 to HOST+0x8408, memory of the miniport that no packet of a ring reads"},
		"a read of the fence":             {read(fenceAt, 8), "the GPU read HOST+0x8ff8 to HOST+0x9000, memory of the miniport that no packet of a ring reads"},
		"a write of the fence":            {do: write(fenceAt, 8)},
		"a write before the fence":        {write(fenceAt-8, 8), "the GPU wrote HOST+0x8ff0 to HOST+0x8ff8, memory of the miniport that no packet of a ring writes"},
		"a write of the ring":             {write(0x8010, 4), "the GPU wrote HOST+0x8010 to HOST+0x8014, memory of the miniport that no packet of a ring writes"},
		"a late fence after a reset":      {do: with(func(r *rig) { r.Register(r.t, idreg.Base+idreg.Reset, idreg.ResetWhole) }, write(fenceAt, 8))},
		"a late read after a reset":       {do: with(func(r *rig) { r.node(0, cpreg.Ctl, cpreg.CtlReset) }, read(ringBase, 64))},
		"a read of a restored context":    {do: with(puts(pkt.RestoreState{Addr: pkt.Host | 0x8e00}), read(0x8e00, pkt.StateBytes))},
		"a write of a restored context":   {with(puts(pkt.RestoreState{Addr: pkt.Host | 0x8e00}), write(0x8e00, 8)), "the GPU wrote HOST+0x8e00 to HOST+0x8e08, memory of the miniport that no packet of a ring writes"},
		"a copy of a ring":                {do: with(puts(pkt.Copy{Src: pkt.Host | 0x8e00, Dst: pkt.Host | 0x8d00, Bytes: 16}), with(read(0x8e00, 16), write(0x8d00, 16)))},
		"the beat of a copy":              {do: with(puts(pkt.Copy{Src: pkt.Host | 0x8e04, Dst: 0x9000, Bytes: 8}), read(0x8e00, 16))},
		"a beat after a copy":             {with(puts(pkt.Copy{Src: pkt.Host | 0x8e04, Dst: 0x9000, Bytes: 8}), read(0x8e00, 24)), "the GPU read HOST+0x8e00 to HOST+0x8e18, memory of the miniport that no packet of a ring reads"},
		"a window without bytes":          {with(func(r *rig) { r.opens(1, pkt.Host|0x8a00, 0) }, write(0x8a00, 4)), "the GPU wrote HOST+0x8a00 to HOST+0x8a04, memory of the miniport that no packet of a ring writes"},
		"a read of memory that was freed": {with(func(r *rig) {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverFree, Address: ringBase})
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverMemory, Address: ringBase, Bytes: 0x1000})
		}, read(ringBase, 64)), "the GPU read HOST+0x8000 to HOST+0x8040, memory of the miniport that no packet of a ring reads"},
		"a ring of an adapter that stops":  {do: with(func(r *rig) { r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop}) }, puts(pkt.Fence{Addr: pkt.Host | ringBase, ID: 2}))},
		"a read of the table":              {do: with(func(r *rig) { r.translates(pkt.Host|0x8b00, 9) }, read(0x8b40, 64))},
		"a read after the table":           {with(func(r *rig) { r.translates(pkt.Host|0x8b00, 8) }, read(0x8b40, 64)), "the GPU read HOST+0x8b40 to HOST+0x8b80, memory of the miniport that no packet of a ring reads"},
		"what the firmware writes":         {do: with(opens, write(0x8a00, 4))},
		"what the firmware is told":        {do: with(opens, with(read(0x8c00, 64), write(0x8f00, 4)))},
		"a write with a ring in VRAM":      {do: with(moved, write(0x8f00, 4))},
		"a write of a table, ring in VRAM": {with(func(r *rig) { moved(r); r.translates(pkt.Host|0x8b00, 8) }, write(0x8b08, 4)), "the GPU wrote HOST+0x8b08 to HOST+0x8b0c, memory of the miniport that no packet of a ring writes"},
		"memory that was freed": {with(func(r *rig) {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverFree, Address: ringBase})
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverMemory, Address: ringBase, Bytes: 0x1000})
		}, write(fenceAt, 8)), "the GPU wrote HOST+0x8ff8 to HOST+0x9000, memory of the miniport that no packet of a ring writes"},
	} {
		r := newRig(t)
		tt.do(r)
		r.Flush(r.t)
		if tt.want == "" {
			assert.Empty(t, r.texts, name)
			continue
		}
		require.Len(t, r.texts, 1, name)
		text, _, _ := strings.Cut(r.texts[0], "; ")
		assert.Equal(t, tt.want, text, name)
		assert.Equal(t, []string{"access-driver"}, r.found, name)
	}
}

// A node may execute a buffer in the miniport's memory that a packet of a ring names.
func TestBufferOfTheMiniport(t *testing.T) {
	r := newRig(t)
	body, err := pkt.Fill{Dst: pkt.Host | 0x8d00, Bytes: 16}.Append(nil)
	require.NoError(t, err)
	r.ring = append(r.ring, make([]byte, 0x900-len(r.ring))...)
	copy(r.ring[0x800:], body)
	indirect, err := pkt.Indirect{Addr: pkt.Host | 0x8800, Dwords: uint32(len(body) / 4)}.Append(nil)
	require.NoError(t, err)
	copy(r.ring[0x14:], indirect)
	r.node(0, cpreg.Wptr, uint32(0x14+len(indirect))/4)
	r.Read(0x8800, make([]byte, 64))
	r.Wrote(0x8d00, make([]byte, 16))
	r.Flush(r.t)
	require.Empty(t, r.texts)
	r.Wrote(0x8d10, make([]byte, 8))
	r.Flush(r.t)
	assert.Equal(t, []string{"access-driver"}, r.found)
}
