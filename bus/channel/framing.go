package channel

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus/frame"
)

// A framing delimits frames on a transport.
type framing interface {
	// Append appends a frame in its wire format to the bytes to be written.
	Append(dst, f []byte) []byte

	// Break is called when other bytes may be on the line before the next frame.
	Break()

	// Take returns how many of the bytes to be written go into one Write of at most
	// limit bytes.
	Take(pending []byte, limit int) int

	// Feed decodes the result of a Read.
	Feed(p []byte, s frame.Sink)

	Stats() frame.Stats
}

// A prefixing framing has a prefix before each frame, which stays as it is. So a frame can
// be built where it is written from.
type prefixing interface {
	// Prefix is the size of the prefix, in bytes.
	Prefix() int

	// Fill writes the prefix of a frame.
	Fill(prefix, f []byte)
}

// A byteStream separates frames and text by delimiters.
type byteStream struct {
	frame.Encoder
	*frame.Decoder
}

func (byteStream) Take(pending []byte, limit int) int { return min(len(pending), limit) }

// datagrams puts several frames into each datagram, each with its length before it, a
// big-endian word of 16 bits.
type datagrams struct {
	least, most int // sizes of a frame
	stats       frame.Stats
}

func (d *datagrams) Append(dst, f []byte) []byte { return AppendDatagram(dst, f) }
func (d *datagrams) Prefix() int                 { return 2 }
func (d *datagrams) Fill(prefix, f []byte)       { binary.BigEndian.PutUint16(prefix, uint16(len(f))) }

// AppendDatagram appends a frame to a datagram: its length, a big-endian word of 16
// bits, and the frame.
func AppendDatagram(dst, f []byte) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(f))), f...)
}

// CutDatagram returns the first frame of a datagram and what follows it. It reports
// false if the datagram has no complete frame.
func CutDatagram(p []byte) (f, rest []byte, ok bool) {
	if len(p) < 2 || len(p)-2 < int(binary.BigEndian.Uint16(p)) {
		return nil, p, false
	}
	n := 2 + int(binary.BigEndian.Uint16(p))
	return p[2:n], p[n:], true
}

// Take returns the size of as many whole frames as fit, at least one.
func (d *datagrams) Take(pending []byte, limit int) int {
	n := 0
	for n < len(pending) {
		next := n + 2 + int(binary.BigEndian.Uint16(pending[n:]))
		if next > limit && n > 0 {
			break
		}
		n = next
	}
	return n
}

// Feed decodes a datagram. Bytes after the last frame that is complete are damaged.
func (d *datagrams) Feed(p []byte, s frame.Sink) {
	for {
		f, rest, ok := CutDatagram(p)
		if !ok || len(f) < d.least || len(f) > d.most {
			break
		}
		d.stats.Frames++
		s.Frame(f)
		p = rest
	}
	if len(p) > 0 {
		d.stats.Garbage += uint64(len(p))
		s.Damaged(len(p))
	}
}

func (d *datagrams) Break()             {}
func (d *datagrams) Stats() frame.Stats { return d.stats }
