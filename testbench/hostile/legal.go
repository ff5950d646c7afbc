package hostile

import (
	"encoding/binary"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A target is an allocation of the list, as the model knows it.
type target struct {
	bytes    uint64
	writable bool
	usable   bool // opened by the context's device, and not closed

	translated bool // it may be in the aperture
}

// A packet is a packet of a command.
type packet struct {
	at   uint32 // offset in bytes
	op   uint32
	body []uint32
}

// end returns the offset of the next packet.
func (p packet) end() uint32 { return p.at + 4*uint32(1+len(p.body)) }

// A field is an address field that a packet must have patched.
type field struct {
	bytes uint64 // accessed from the address on
	align uint32
	write bool
	word  bool // a word that the aperture does not translate
}

// maxCoord and maxPitch are the largest coordinate and pitch of docs/packets.md.
const (
	maxCoord = 16384
	maxPitch = 1<<20 - 1
)

// parse splits a command into packets, as docs/packets.md defines them. It reports
// false if one is incomplete, not for applications, or has a wrong body.
func parse(cmd []byte) ([]packet, bool) {
	if len(cmd)%4 != 0 || len(cmd) > 1<<20 {
		return nil, false
	}
	var w []uint32
	for i := 0; i < len(cmd); i += 4 {
		w = append(w, binary.LittleEndian.Uint32(cmd[i:]))
	}
	// Dwords of the body, from table "Opcodes". NOP has any number.
	bodies := map[uint32]uint32{3: 7, 4: 5, 5: 3, 6: 5, 7: 4, 8: 2, 9: 2, 10: 3}
	var all []packet
	for i := 0; i < len(w); {
		op, n := w[i]>>24, w[i]&0xffff
		if want, known := bodies[op]; w[i]>>16&0xff != 0 || op != 1 && (!known || n != want) || i+1+int(n) > len(w) {
			return nil, false
		}
		p := packet{uint32(4 * i), op, w[i+1 : i+1+int(n)]}
		if !p.operands() {
			return nil, false
		}
		all = append(all, p)
		i += 1 + int(n)
	}
	return all, true
}

// operands reports whether the fields that are no addresses are in range and the
// reserved bits are zero.
func (p packet) operands() bool {
	b := p.body
	pairs := func(all ...uint32) bool {
		return !slices.ContainsFunc(all, func(v uint32) bool { return v&0xffff > maxCoord || v>>16 > maxCoord })
	}
	switch p.op {
	case 3: // SET_STATE
		return b[0] <= 1 && b[3] <= maxPitch && b[4] <= 4 && pairs(b[5], b[6])
	case 4: // COPY
		return b[4] < 1<<lengthBits
	case 5: // COPY_2D
		return pairs(b...)
	case 6: // FILL
		return b[2] < 1<<lengthBits
	case 7: // FILL_2D
		return pairs(b[0], b[1])
	case 8: // WRITE_REG of ID.SCRATCH0 to 3
		return b[0] == 0x20 || b[0] == 0x24 || b[0] == 0x28 || b[0] == 0x2c
	case 10: // PREDICATE
		return b[2]>>17 == 0
	}
	return true
}

// fields adds the address fields of a packet to all, by offset in the command.
func (p packet) fields(all map[uint32]field) {
	b := p.body
	switch p.op {
	case 3:
		f := field{align: 1}
		if w, h := uint64(b[6]&0xffff), uint64(b[6]>>16); w > 0 && h > 0 {
			f.bytes = (h-1)*uint64(b[3]) + w<<b[4]
		}
		all[p.at+8] = f
	case 4:
		all[p.at+4] = field{bytes: uint64(b[4]), align: 1}
		all[p.at+12] = field{bytes: uint64(b[4]), align: 1, write: true}
	case 6:
		all[p.at+4] = field{bytes: uint64(b[2]), align: 1, write: true}
	case 9:
		all[p.at+4] = field{bytes: 8, align: 8, write: true, word: true}
	case 10:
		all[p.at+4] = field{bytes: 8, align: 8, word: true}
	}
}

// legal reports whether Render must accept a command and its patch list, and returns
// the offsets at which the portions start, and the end of the last one.
func legal(cmd []byte, list []kmddi.PatchLocation, targets []target) ([]uint32, bool) {
	packets, ok := parse(cmd)
	if !ok || len(list) > len(cmd)/4 {
		return nil, false
	}
	starts, ok := portions(packets, uint32(len(cmd)), list)
	if !ok {
		return nil, false
	}
	fields := map[uint32]field{}
	for _, p := range packets {
		p.fields(fields)
	}
	used := map[uint32]uint32{} // allocation of each patched field
	for _, p := range list {
		f, exists := fields[p.PatchOffset]
		if _, twice := used[p.PatchOffset]; !exists || twice || !f.fits(p, targets) || portionOf(starts, p.PatchOffset) != p.SplitOffset {
			return nil, false
		}
		used[p.PatchOffset] = p.AllocationIndex
	}
	return starts, len(used) == len(fields) && surfaces(packets, starts, used, targets) && predicates(packets, starts)
}

// fits reports whether the patched field is in an allocation that may be used so.
func (f field) fits(p kmddi.PatchLocation, targets []target) bool {
	if uint64(p.AllocationIndex) >= uint64(len(targets)) {
		return false
	}
	t, off := targets[p.AllocationIndex], uint64(p.AllocationOffset)
	return t.usable && off < t.bytes && off+f.bytes <= t.bytes && p.AllocationOffset%f.align == 0 && (t.writable || !f.write) && !(f.word && t.translated)
}

// portions returns the start of each portion and the end of the command. It reports
// false unless SplitOffsets do not decrease and are starts of packets.
func portions(packets []packet, end uint32, list []kmddi.PatchLocation) ([]uint32, bool) {
	starts := []uint32{0}
	for i, p := range list {
		if i > 0 && p.SplitOffset < list[i-1].SplitOffset {
			return nil, false
		}
		if !slices.ContainsFunc(packets, func(k packet) bool { return k.at == p.SplitOffset }) {
			return nil, false
		}
		starts = append(starts, p.SplitOffset)
	}
	return append(slices.Compact(starts), end), true
}

// portionOf returns the start of the portion that contains an offset.
func portionOf(starts []uint32, off uint32) uint32 {
	s := uint32(0)
	for _, next := range starts[:len(starts)-1] {
		if next <= off {
			s = next
		}
	}
	return s
}

// surfaces reports whether each 2D packet uses surfaces that its portion has set, with
// formats that it allows, and writes one that may be written.
func surfaces(packets []packet, starts []uint32, used map[uint32]uint32, targets []target) bool {
	type state struct{ format, alloc uint32 }
	set := map[[2]uint32]state{} // by portion and surface
	for _, p := range packets {
		now := portionOf(starts, p.at)
		dst, hasDst := set[[2]uint32{now, 1}]
		src, hasSrc := set[[2]uint32{now, 0}]
		switch {
		case p.op == 3:
			set[[2]uint32{now, p.body[0]}] = state{p.body[4], used[p.at+8]}
		case p.op == 7 && (!hasDst || !targets[dst.alloc].writable || dst.format > 3):
			return false
		case p.op == 5 && (!hasDst || !hasSrc || !targets[dst.alloc].writable || dst.format != src.format):
			return false
		}
	}
	return true
}

// predicates reports whether each PREDICATE skips only complete packets of its
// portion, among them no SET_STATE and no PREDICATE.
func predicates(packets []packet, starts []uint32) bool {
	for i, p := range packets {
		if p.op != 10 {
			continue
		}
		left := 4 * (p.body[2] & 0xffff)
		for _, k := range packets[i+1:] {
			size := k.end() - k.at
			if left == 0 {
				break
			}
			if size > left || k.op == 3 || k.op == 10 || portionOf(starts, k.at) != portionOf(starts, p.at) {
				return false
			}
			left -= size
		}
		if left != 0 {
			return false
		}
	}
	return true
}
