package tlp

import (
	"encoding/binary"
	"fmt"
)

// Bits of the first dword of the header.
const (
	bitT9     = 1 << 23
	shiftTC   = 20
	bitT8     = 1 << 19
	bitIDO    = 1 << 18
	bitR17    = 1 << 17
	bitTH     = 1 << 16
	bitTD     = 1 << 15
	bitEP     = 1 << 14
	shiftAttr = 12
	maskAT    = 3 << 10
	maskLen   = 0x3ff
)

// Append appends the encoding of p to b. It fails as Check does and then
// returns b unchanged. It does not allocate if b has room for Size bytes.
func (p *Packet) Append(b []byte) ([]byte, error) {
	if err := p.Check(); err != nil {
		return b, err
	}
	b = binary.BigEndian.AppendUint32(b, p.dword0())
	switch {
	case p.IsMemory():
		b = p.appendRequest(b)
		if p.Kind.HeaderLen() == 16 {
			b = binary.BigEndian.AppendUint64(b, p.Addr)
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(p.Addr))
		}
	case p.IsConfig():
		b = p.appendRequest(b)
		b = binary.BigEndian.AppendUint32(b, uint32(p.Completer)<<16|uint32(p.Addr))
	case p.IsCompletion():
		b = p.appendCompletion(b)
	default:
		b = binary.BigEndian.AppendUint16(b, uint16(p.Requester))
		b = append(b, uint8(p.Tag), uint8(p.Code))
		b = binary.BigEndian.AppendUint64(b, p.Vendor)
	}
	b = append(b, p.Data...)
	if p.TD {
		b = binary.BigEndian.AppendUint32(b, p.Digest)
	}
	return b, nil
}

func (p *Packet) dword0() uint32 {
	t := table[p.Kind]
	d := uint32(t.fmt)<<29 | uint32(t.typ|uint8(p.Route))<<24
	d |= uint32(p.TC) << shiftTC
	d |= uint32(p.Attr&3) << shiftAttr
	d |= uint32(p.Len) & maskLen
	d |= flag(p.Tag&0x200 != 0, bitT9) | flag(p.Tag&0x100 != 0, bitT8)
	return d | flag(p.Attr&IDOrdering != 0, bitIDO) | flag(p.TD, bitTD) | flag(p.EP, bitEP)
}

func flag(on bool, bit uint32) uint32 {
	if on {
		return bit
	}
	return 0
}

func (p *Packet) appendRequest(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p.Requester))
	return append(b, uint8(p.Tag), p.Last<<4|p.First)
}

func (p *Packet) appendCompletion(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p.Completer))
	w := uint32(p.Status)<<13 | flag(p.BCM, 1<<12) | uint32(p.ByteCount)&0xfff
	b = binary.BigEndian.AppendUint16(b, uint16(w))
	b = binary.BigEndian.AppendUint16(b, uint16(p.Requester))
	return append(b, uint8(p.Tag), p.Lower)
}

// Decode sets p from b, which holds exactly one packet. Data aliases b. It
// fails with ErrMalformed or ErrUnsupported; after ErrUnsupported the fields
// Kind, TC, Attr, Requester and Tag are set, as needed for a completion. It
// allocates only the text of an error.
func (p *Packet) Decode(b []byte) error {
	*p = Packet{}
	if len(b) < 12 {
		return fmt.Errorf("%w: %d bytes, want at least 12", ErrMalformed, len(b))
	}
	k := KindOf(b[0])
	if k == None {
		if b[0]>>5 >= fmtPrefix {
			return fmt.Errorf("%w: prefix %#02x", ErrMalformed, b[0])
		}
		return fmt.Errorf("%w: reserved type %#02x", ErrMalformed, b[0])
	}
	h := k.HeaderLen()
	if len(b) < h {
		return fmt.Errorf("%w: %v of %d bytes, want a header of %d", ErrMalformed, k, len(b), h)
	}
	if err := p.decodeCommon(k, b); err != nil {
		return err
	}
	if !k.Supported() {
		return p.decodeUnsupported(b)
	}
	if err := p.decodeHeader(b); err != nil {
		return err
	}
	return p.Check()
}

// decodeCommon decodes the first dword, payload and digest, and checks the
// length against the size of the packet.
func (p *Packet) decodeCommon(k Kind, b []byte) error {
	d := binary.BigEndian.Uint32(b)
	p.Kind = k
	p.TC = uint8(d>>shiftTC) & 7
	p.Attr = Attr(d>>shiftAttr) & 3
	if d&bitIDO != 0 {
		p.Attr |= IDOrdering
	}
	p.TD, p.EP = d&bitTD != 0, d&bitEP != 0
	p.Len = int(d & maskLen)
	reserved := k == Cpl || k == Msg || k == CplLk
	if reserved && p.Len != 0 {
		return fmt.Errorf("%w: %v with reserved length %d", ErrMalformed, k, p.Len)
	}
	if p.Len == 0 && !reserved {
		p.Len = MaxLen
	}
	if want := p.Size(); len(b) != want {
		return fmt.Errorf("%w: %v of %d bytes, want %d", ErrMalformed, k, len(b), want)
	}
	h := k.HeaderLen()
	if k.HasData() {
		p.Data = b[h : h+4*p.Len : h+4*p.Len]
	}
	if p.TD {
		p.Digest = binary.BigEndian.Uint32(b[len(b)-4:])
	}
	p.Tag = uint16(d>>14)&0x200 | uint16(d>>11)&0x100
	return nil
}

func (p *Packet) decodeHeader(b []byte) error {
	d := binary.BigEndian.Uint32(b)
	switch {
	case d&bitR17 != 0:
		return fmt.Errorf("%w: %v with reserved bits", ErrMalformed, p.Kind)
	case p.IsMemory():
		return p.decodeMemory(d, b)
	case d&(bitTH|maskAT) != 0:
		return fmt.Errorf("%w: %v with hints or address type", ErrMalformed, p.Kind)
	case p.IsConfig():
		p.decodeRequest(b)
		p.Completer = ID(binary.BigEndian.Uint16(b[8:]))
		p.Addr = uint64(binary.BigEndian.Uint16(b[10:]))
	case p.IsCompletion():
		p.decodeCompletion(b)
		if b[11]&0x80 != 0 {
			return fmt.Errorf("%w: %v with reserved bits", ErrMalformed, p.Kind)
		}
	default:
		p.Route = Route(b[0] & maskRoute)
		p.Requester = ID(binary.BigEndian.Uint16(b[4:]))
		p.Tag |= uint16(b[6])
		p.Code = Code(b[7])
		p.Vendor = binary.BigEndian.Uint64(b[8:])
	}
	return nil
}

// decodeMemory refuses processing hints and translated addresses: both change
// the meaning of other fields, and neither is enabled in configuration space.
func (p *Packet) decodeMemory(d uint32, b []byte) error {
	p.decodeRequest(b)
	if p.Kind.HeaderLen() == 16 {
		p.Addr = binary.BigEndian.Uint64(b[8:])
	} else {
		p.Addr = uint64(binary.BigEndian.Uint32(b[8:]))
	}
	if d&bitTH != 0 {
		return fmt.Errorf("%w: %v with processing hints", ErrUnsupported, p.Kind)
	}
	if d&maskAT != 0 {
		return fmt.Errorf("%w: %v with address type %d", ErrUnsupported, p.Kind, d&maskAT>>10)
	}
	return nil
}

func (p *Packet) decodeRequest(b []byte) {
	p.Requester = ID(binary.BigEndian.Uint16(b[4:]))
	p.Tag |= uint16(b[6])
	p.First, p.Last = b[7]&15, b[7]>>4
}

func (p *Packet) decodeCompletion(b []byte) {
	p.Completer = ID(binary.BigEndian.Uint16(b[4:]))
	w := binary.BigEndian.Uint16(b[6:])
	p.Status, p.BCM = Status(w>>13), w&(1<<12) != 0
	p.ByteCount = int(w & 0xfff)
	if p.ByteCount == 0 {
		p.ByteCount = 4096
	}
	p.Requester = ID(binary.BigEndian.Uint16(b[8:]))
	p.Tag |= uint16(b[10])
	p.Lower = b[11] & 0x7f
}

// decodeUnsupported decodes the fields needed for a completion from a packet of
// a defined but unsupported type, unless it breaks the rules of its type.
func (p *Packet) decodeUnsupported(b []byte) error {
	if p.Kind == CplLk || p.Kind == CplDLk {
		p.decodeCompletion(b)
	} else {
		p.decodeRequest(b)
	}
	switch p.Kind {
	case IORd, IOWr, CfgRd1, CfgWr1:
		if err := p.checkSingle(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %v", ErrUnsupported, p.Kind)
}
