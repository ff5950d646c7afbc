package nettlp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// headerLen is the size of the header of a datagram in bytes.
const headerLen = 6

// maxDatagram is the size of the largest datagram in bytes.
const maxDatagram = headerLen + tlp.MaxSize

// Bits of byte 2 of a packet.
const (
	byte2Digest  = 0x80
	byte2Address = 0x0c // address type
	byte2Length  = 0x03
)

// stampTick is the unit of the time stamp: a clock of the adapter.
const stampTick = 4 * time.Nanosecond

// Append appends the datagram of a packet to b.
func Append(b []byte, number uint16, at time.Duration, packet []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, number)
	b = binary.BigEndian.AppendUint32(b, uint32(at/stampTick))
	return append(b, packet...)
}

// Cut returns the packet of a datagram, of which it may change some bytes. It fails with
// ErrFrame. Three habits of libtlp and its programs are accepted, because each has one
// meaning only, and are replaced by what the specification wants:
//
//	a write whose data ends with the last enabled byte   its last dword is filled with zeros
//	a length of 1024 dwords as 0x400                     0, with address type 0
//	a completion with the format of a long header        the format of three dwords
//
// A write with less data, or with data that begins elsewhere, is refused.
func Cut(d []byte) ([]byte, error) {
	if len(d) < headerLen+12 {
		return nil, fmt.Errorf("%w: %d bytes", ErrFrame, len(d))
	}
	p := d[headerLen:]
	if p[0] == 0x6a { // CplD with the format bit of a long header
		p[0] = 0x4a
	}
	k := tlp.KindOf(p[0])
	switch k {
	case tlp.Cpl, tlp.CplD, tlp.MRd32, tlp.MRd64:
	case tlp.MWr32, tlp.MWr64:
	default:
		return nil, fmt.Errorf("%w: %v, want a memory request or a completion", ErrFrame, k)
	}
	if p[2]&(byte2Address|byte2Length) == 0x04 && p[3] == 0 {
		p[2] &^= byte2Address
	}
	if k == tlp.MWr32 || k == tlp.MWr64 {
		return fill(p, k.HeaderLen())
	}
	return p, nil
}

// fill completes the last dword of a write with a header of the given size.
func fill(p []byte, header int) ([]byte, error) {
	length := int(p[2]&byte2Length)<<8 | int(p[3])
	if length == 0 {
		length = tlp.MaxLen
	}
	missing := header + 4*length - len(p)
	if missing < 1 || missing > 3 || p[2]&byte2Digest != 0 {
		return p, nil // package tlp checks the size
	}
	last := p[7] >> 4
	if length == 1 {
		last = p[7] & 15
	}
	if bits.Len8(last) != 4-missing {
		return nil, fmt.Errorf("%w: a write of %d dwords whose last has the enables %#x lacks %d bytes", ErrFrame, length, last, missing)
	}
	return append(p, make([]byte, missing)...), nil
}

// portOf returns the port of a request or a completion. request is the first port of the
// end that made the request.
func portOf(first int, tag uint16) int {
	if first == HostPorts {
		return first + int(tag%hostTags)
	}
	return first + int(tag)
}
