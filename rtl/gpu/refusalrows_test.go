package gpu_test

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// of returns the layout of an opcode in the table.
func of(op uint8) pkt.Layout {
	l, _ := pkt.Lookup(op)
	return l
}

// addField adds a packet that is refused because of one of its fields.
func (r *rows) addField(l pkt.Layout, field string, p []uint32, cause uint32, bad uint64) {
	r.add(l, refusal{
		name: fmt.Sprintf("%s of %#x", field, p), field: l.Name + " " + field, p: p, cause: cause, bad: bad, known: true,
	})
}

// ranges adds fields whose range depends on the configuration, on other fields or on
// earlier packets.
func (r *rows) ranges() {
	for _, l := range []pkt.Layout{of(pkt.OpCopy), of(pkt.OpFill)} {
		for k := r.c.LengthBits; k < 32; k++ {
			r.addField(l, "Bytes", with(l, "Bytes", uint64(1)<<k), cpreg.CauseLength, 1<<k)
		}
		r.addField(l, "Bytes", with(l, "Dst", uint64(0), "Bytes", r.c.VRAMBytes+1), cpreg.CauseAddress, 0)
		r.addField(l, "Bytes", with(l, "Dst", uint64(0x100), "Bytes", r.c.VRAMBytes-0xff), cpreg.CauseAddress, 0x100)
	}
	indirect, predicate, fence, wait := of(pkt.OpIndirect), of(pkt.OpPredicate), of(pkt.OpFence), of(pkt.OpWaitFence)
	for _, n := range []uint64{r.c.VRAMBytes/4 + 1, pkt.MaxIndirect} {
		r.addField(indirect, "Dwords", with(indirect, "Addr", uint64(0), "Dwords", n), cpreg.CauseAddress, 0)
	}
	if !r.c.Caps.Has(caps.Preemption) {
		p := with(indirect, "Resume", uint64(1))
		r.addField(indirect, "Resume", p, cpreg.CauseReserved, uint64(p[3]))
	}
	for n := uint64(1); n <= 0xffff; n = 2*n + 1 {
		r.add(predicate, refusal{
			name: fmt.Sprintf("Dwords %#x", n), field: "PREDICATE Dwords", p: with(predicate, "Dwords", n),
			at: refmodel.InIndirect, cause: cpreg.CauseLength, bad: n, known: true,
		})
	}
	for _, behind := range []uint32{1, 2, refusedFence, refusedFence + 1, 1<<31 - 1, 1 << 31} {
		id := uint64(refusedFence - behind)
		r.addField(fence, "ID", with(fence, "ID", id), cpreg.CauseFence, id)
	}
	if r.c.Caps.Has(caps.Timeline) && r.c.Nodes == 1 {
		r.addField(wait, "Node", with(wait, "Node", uint64(1)), cpreg.CauseState, 1)
	}
	if r.c.Caps.Has(caps.Protection) {
		r.sizes()
	}
}

// sizes adds windows that are longer than the memory after their base.
func (r *rows) sizes() {
	l := of(pkt.OpSetWindow)
	for _, base := range []uint64{0, at(refusedOpen)} {
		for k := range 64 {
			if uint64(1)<<k > r.size(base)-base&^host {
				r.addField(l, "Size", with(l, "Base", base, "Size", uint64(1)<<k), cpreg.CauseAddress, base)
			}
		}
		r.addField(l, "Size", with(l, "Base", base, "Size", ^uint64(0)), cpreg.CauseAddress, base)
	}
}

// size returns the size of the memory of an address, or of the range of host addresses.
func (r *rows) size(addr uint64) uint64 {
	if addr&host != 0 {
		return 1 << r.c.HostBits
	}
	return r.c.VRAMBytes
}

// states adds 2D packets that do not fit the state.
func (r *rows) states() {
	move, fill := of(pkt.OpCopy2D), of(pkt.OpFill2D)
	src, dst := setState(0, at(refusedOpen), 0), setState(1, at(refusedOpen+0x800), 0)
	add := func(l pkt.Layout, name, field string, setup []uint32, cause uint32, bad uint64, known bool) {
		r.add(l, refusal{name: name, field: field, setup: setup, p: legal(l), cause: cause, bad: bad, known: known})
	}
	add(move, "without surfaces", "", []uint32{}, cpreg.CauseState, 0, true)
	add(move, "without a source", "", dst, cpreg.CauseState, 0, true)
	add(move, "without a destination", "", src, cpreg.CauseState, 1, true)
	add(fill, "without a destination", "", src, cpreg.CauseState, 1, true)
	add(fill, "of elements of 16 bytes", "", setState(1, at(refusedOpen), 4), cpreg.CauseState, 4, true)
	for i := range uint32(5) {
		for j := range uint32(5) {
			if i != j {
				setup := append(setState(0, at(refusedOpen), i), setState(1, at(refusedOpen+0x800), j)...)
				add(move, fmt.Sprintf("of formats %d and %d", i, j), "SET_STATE Format", setup, cpreg.CauseState, 0, false)
			}
		}
	}
	for _, base := range r.outside(1) {
		known := base&^host >= r.size(base)
		name := fmt.Sprintf("surface at %#x", base)
		add(move, "source "+name, "SET_STATE Base", surfaces(base, at(refusedOpen)), cpreg.CauseAddress, base, known)
		add(move, "destination "+name, "SET_STATE Base", surfaces(at(refusedOpen), base), cpreg.CauseAddress, base, known)
		add(fill, "destination "+name, "SET_STATE Base", surfaces(at(refusedOpen), base), cpreg.CauseAddress, base, known)
	}
	add(move, "source nowhere", "", surfaces(nowhere, at(refusedOpen)), cpreg.CauseReadError, nowhere, true)
}

// restored adds each word of a saved state with each bit that is reserved or puts a field
// out of range.
func (r *rows) restored() {
	l := of(pkt.OpRestoreState)
	if !r.c.Caps.Has(caps.Contexts) {
		return
	}
	good := [15]uint64{1: 1<<63 | 2<<32 | 16, 2: 0x4000_4000_4000_4000, 4: 1<<63 | 2<<32 | 16, 5: 0x4000_4000_0000_0000, 14: 5}
	const place, clip = ^uint64(1<<63 | 7<<32 | pkt.MaxPitch), 0xbfff_bfff_bfff_bfff
	for i, wrong := range [15]uint64{1: place | 4<<32, 2: clip, 4: place | 4<<32, 5: clip, 14: ^uint64(pkt.MaxProgress)} {
		if i == 14 && !r.c.Caps.Has(caps.Preemption) {
			continue
		}
		for ; wrong != 0; wrong &= wrong - 1 {
			words := good
			words[i] |= wrong & -wrong
			if i == 2 || i == 5 { // a coordinate of 0 is out of range with its high bits set
				words[i] |= 0x4000 << (bits.TrailingZeros64(wrong) &^ 15)
			}
			r.add(l, refusal{
				name: fmt.Sprintf("word %d, %#x", i, words[i]), p: legal(l), words: words[:],
				cause: cpreg.CauseState, bad: words[i], known: true,
			})
		}
	}
}

// windows adds packets of guarded buffers with a range that the windows do not allow.
func (r *rows) windows() {
	if !r.c.Caps.Has(caps.Protection) {
		return
	}
	add := func(l pkt.Layout, field string, setup, p []uint32, bad uint64) {
		window := of(pkt.OpSetWindow)
		setup = append(with(window, "Index", uint64(1), "Base", at(refusedOpen), "Size", uint64(refusedPage)), setup...)
		setup = append(with(window, "Index", uint64(2), "Writable", uint64(0), "Base", at(refusedRead), "Size", uint64(refusedPage)), setup...)
		r.add(l, refusal{
			name: fmt.Sprintf("%s at %#x", field, bad), setup: setup, p: p, at: refmodel.Guarded, cause: cpreg.CauseWindow, bad: bad, known: true,
		})
	}
	for _, l := range pkt.Table {
		for _, f := range l.Fields {
			writes := f.Kind == pkt.AddrWrite
			if l.Privileged || !writes && f.Kind != pkt.AddrRead {
				continue
			}
			for _, addr := range closed(max(f.Align, 1), writes) {
				add(l, f.Name, nil, with(l, f.Name, addr), addr)
			}
		}
	}
	open := at(refusedOpen)
	for _, addr := range closed(1, false) {
		add(of(pkt.OpCopy2D), "source", surfaces(addr, open), legal(of(pkt.OpCopy2D)), addr)
	}
	for _, addr := range closed(1, true) {
		add(of(pkt.OpCopy2D), "destination", surfaces(open, addr), legal(of(pkt.OpCopy2D)), addr)
		add(of(pkt.OpFill2D), "destination", surfaces(open, addr), legal(of(pkt.OpFill2D)), addr)
	}
}

// closed returns addresses at which windows do not allow all of refusedSpan bytes.
func closed(align uint64, writes bool) []uint64 {
	all := []uint64{0, at(0), at(refusedOpen - align), at(refusedOpen + refusedPage), at(refusedRead + refusedPage)}
	if align < 8 {
		all = append(all, at(refusedOpen+refusedPage-align), at(refusedOpen+refusedPage-(refusedSpan-1)&^(align-1)))
	}
	if writes {
		all = append(all, at(refusedRead), at(refusedRead+refusedPage-align))
	}
	return all
}
