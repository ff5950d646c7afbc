package ip

// A source is where a byte of a frame comes from.
type source uint8

const (
	fromTable   source = iota
	fromBuffer         // the place is in the table; in the data, the next one
	fromLenHigh        // the place of the last byte in the frame, and the signed value in the table
	fromLenLow
	fromKeptHigh // the complement of the kept sum
	fromKeptLow
	fromSumHigh // the sum
	fromSumLow
)

// A part is what the builder does in a step.
//
//	value  bits 7..0    a byte, a place in the frame, or a signed number
//	from   bits 10..8   the byte that is sent and added
//	emit   bit 11       send the byte
//	add    bit 12       add the byte to the sum
//	second bit 13       as the second one of a word
//	keep   bit 14       keep the sum, and begin another one
//	data   bit 15       the rest of the stored frame
type part struct {
	value  uint8
	from   source
	emit   bool
	add    bool
	second bool
	keep   bool
	data   bool
}

const partBits = 16

// partOf decodes a word of the table.
func partOf(w uint32) part {
	return part{
		value: uint8(w), from: source(w >> 8 & 7), emit: w>>11&1 != 0, add: w>>12&1 != 0, second: w>>13&1 != 0,
		keep: w>>14&1 != 0, data: w>>15&1 != 0,
	}
}

// encode returns the word of the table.
func (p part) encode() uint64 {
	w := uint64(p.value) | uint64(p.from)<<8
	for i, b := range []bool{p.emit, p.add, p.second, p.keep, p.data} {
		if b {
			w |= 1 << (11 + i)
		}
	}
	return w
}

// emit returns parts that send bytes of the table.
func emit(values ...byte) []part {
	var all []part
	for _, v := range values {
		all = append(all, part{value: v, emit: true})
	}
	return all
}

// place returns parts that send n bytes of the stored frame.
func place(at uint8, n int) []part {
	var all []part
	for i := range n {
		all = append(all, part{value: at + uint8(i), from: fromBuffer, emit: true})
	}
	return all
}

// pair returns parts that send a word of two sources, with a number for both.
func pair(from source, v int8) []part {
	return []part{{value: uint8(v), from: from, emit: true}, {value: uint8(v), from: from + 1, emit: true}}
}

// summed returns parts that add a list of bytes to the sum instead of sending them.
func summed(list []part) []part {
	for i := range list {
		list[i].emit, list[i].add, list[i].second = false, true, i&1 != 0
	}
	return list
}

// headed are the parts from the destination address to the EtherType.
func headed(p Params, typ uint16) []part {
	return append(append(place(0, 6), emit(p.MAC[:]...)...), emit(uint8(typ>>8), uint8(typ))...)
}

// ended are the parts of the data. There are two, since the second one is read before the
// first one is seen.
func ended(list []part) []part {
	data := part{from: fromBuffer, emit: true, data: true}
	return append(list, data, data)
}

// Lengths less the place of the last byte in the stored frame.
const (
	moreRaw  = 1 - PeerBytes
	moreUDP  = 8 + moreRaw
	moreIP   = 20 + moreUDP
	moreEcho = 20 + 4 + moreRaw // type, code and checksum
)

const (
	version    = 0x45 // and the length of the header in words
	timeToLive = 64
)

// header returns the header of IP, without the checksum: the words before it and after it.
func header(p Params, proto byte, more int8) (first, second []part) {
	first = append(emit(version, 0), pair(fromLenHigh, more)...)
	first = append(first, emit(0, 0, dontFragment, 0, timeToLive, proto)...)
	return first, append(emit(p.IP[:]...), place(6, 4)...)
}

// checked are the parts that make the checksum of a header of IP, and keep it.
func checked(p Params, proto byte, more int8) []part {
	word := func(hi, lo byte) uint32 { return uint32(hi)<<8 | uint32(lo) }
	same := word(version, 0) + word(dontFragment, 0) + word(timeToLive, proto) + word(p.IP[0], p.IP[1]) + word(p.IP[2], p.IP[3])
	same = same&0xffff + same>>16
	same = same&0xffff + same>>16
	all := append(emit(uint8(same>>8), uint8(same)), pair(fromLenHigh, more)...)
	all = summed(append(all, place(6, 4)...))
	return append(all, part{keep: true})
}

// datagram returns the parts of a frame of IP up to its message.
func datagram(p Params, proto byte, more int8) []part {
	first, second := header(p, proto, more)
	all := append(headed(p, typeIP), first...)
	all = append(all, pair(fromKeptHigh, 0)...)
	return append(all, second...)
}

// rawParts are those of a raw frame.
func rawParts(p Params) []part {
	return ended(append(headed(p, p.EtherType), pair(fromLenHigh, moreRaw)...))
}

// arpParts are those of an answer, RFC 826. The sender's address is the data.
func arpParts(p Params) []part {
	all := append(headed(p, typeARP), emit(1>>8, 1, typeIP>>8, typeIP&0xff, 6, 4, 0, 2)...)
	all = append(all, emit(p.MAC[:]...)...)
	all = append(all, emit(p.IP[:]...)...)
	return ended(append(all, place(6, 6)...))
}

// echoParts are those of an answer, RFC 792. Its type is less by echoRequest, so its
// checksum is more by that.
func echoParts(p Params) []part {
	all := checked(p, protoICMP, moreEcho)
	all = append(all, summed(append(place(10, 2), emit(echoRequest)...))...)
	all = append(all, datagram(p, protoICMP, moreEcho)...)
	all = append(all, emit(echoReply, 0)...)
	return ended(append(all, pair(fromSumHigh, 0)...))
}

// udpParts are those of a datagram, RFC 768. It has no checksum: the frames in it have one.
func udpParts(p Params) []part {
	all := append(checked(p, protoUDP, moreIP), datagram(p, protoUDP, moreIP)...)
	all = append(all, emit(uint8(p.Port>>8), uint8(p.Port))...)
	all = append(all, place(10, 2)...)
	all = append(all, pair(fromLenHigh, moreUDP)...)
	return ended(append(all, emit(0, 0)...))
}

// parts returns the table of a board: for each kind the parts of a frame.
func parts(p Params) []uint64 {
	all := make([]uint64, 4*steps)
	for kind, list := range map[Kind][]part{Raw: rawParts(p), ARP: arpParts(p), Echo: echoParts(p), UDP: udpParts(p)} {
		for i, v := range list {
			all[int(kind)*steps+i] = v.encode()
		}
	}
	return all
}
