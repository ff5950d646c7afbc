package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Limits of a file, so that a corrupt file cannot exhaust memory.
const (
	maxBlock      = 1 << 20 // bytes
	maxInterfaces = 1 << 10
)

// A Reader reads a capture. It skips unknown blocks and the packets of
// interfaces with other link types.
type Reader struct {
	r     *bufio.Reader
	at    int64 // bytes read so far
	block int64 // offset of the current block

	order      binary.ByteOrder // byte order of the section; nil before the first section
	interfaces []intf
	buf        []byte
	err        error
}

// An intf is one interface of a section.
type intf struct {
	ours   bool // its link type is LinkType
	known  bool // dir is known from the name
	dir    Dir
	tick   uint64 // nanoseconds
	offset int64  // seconds
}

// NewReader reads the head of a capture. It fails with ErrFormat if r is not a
// pcapng file.
func NewReader(r io.Reader) (*Reader, error) {
	c := &Reader{r: bufio.NewReader(r)}
	typ, body, err := c.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: the file is empty", ErrFormat)
	case err != nil:
		return nil, err
	case typ != blockSection:
		return nil, c.failf("block of type %#x, want a pcapng section header", typ)
	}
	return c, c.section(body)
}

// Next returns the next record; the caller owns its packet. It fails with
// io.EOF at the end of the file, and with ErrFormat if the file is damaged or
// ends in the middle of a block; the records before it are valid.
func (r *Reader) Next() (Record, error) {
	for r.err == nil {
		typ, body, err := r.next()
		if err != nil {
			r.err = err
			break
		}
		switch typ {
		case blockSection:
			r.err = r.section(body)
		case blockInterface:
			r.err = r.addInterface(body)
		case blockPacket:
			rec, ok, err := r.packet(body)
			if ok {
				return rec, nil
			}
			r.err = err
		}
	}
	return Record{}, r.err
}

func (r *Reader) failf(format string, args ...any) error {
	return fmt.Errorf("%w: block at byte %d: %s", ErrFormat, r.block, fmt.Sprintf(format, args...))
}

// next returns the type and body of the next block. The body is valid until the
// next call.
func (r *Reader) next() (typ uint32, body []byte, err error) {
	r.block = r.at
	var head [12]byte
	n, err := io.ReadFull(r.r, head[:8])
	r.at += int64(n)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, nil, io.EOF
	}
	if err != nil {
		return 0, nil, r.cut(err)
	}
	order := r.order
	section := binary.LittleEndian.Uint32(head[:]) == blockSection
	if section {
		if order, err = r.sectionOrder(); err != nil {
			return 0, nil, err
		}
	}
	if order == nil {
		return 0, nil, r.failf("no pcapng section header")
	}
	size := order.Uint32(head[4:])
	if size < 12 || size%4 != 0 || size > maxBlock {
		return 0, nil, r.failf("%d bytes long, want a multiple of 4 from 12 to %d", size, maxBlock)
	}
	if r.buf == nil {
		r.buf = make([]byte, maxBlock)
	}
	body = r.buf[:size-8]
	n, err = io.ReadFull(r.r, body)
	r.at += int64(n)
	if err != nil {
		return 0, nil, r.cut(err)
	}
	if again := order.Uint32(body[size-12:]); again != size {
		return 0, nil, r.failf("it begins with length %d and ends with %d", size, again)
	}
	if section {
		r.order, r.interfaces = order, nil
	}
	return order.Uint32(head[:]), body[:size-12], nil
}

// cut describes a file that ends early or cannot be read.
func (r *Reader) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.failf("the file ends in the middle of the block")
	}
	return fmt.Errorf("capture: %w", err)
}

// sectionOrder returns the byte order of the section that begins here.
func (r *Reader) sectionOrder() (binary.ByteOrder, error) {
	magic, err := r.r.Peek(4)
	if err != nil {
		return nil, r.cut(err)
	}
	switch binary.LittleEndian.Uint32(magic) {
	case 0x1a2b3c4d:
		return binary.LittleEndian, nil
	case 0x4d3c2b1a:
		return binary.BigEndian, nil
	}
	return nil, r.failf("byte-order magic %#x", magic)
}

// section checks the version of a section and drops the interfaces of the one
// before.
func (r *Reader) section(body []byte) error {
	if len(body) < 16 {
		return r.failf("section header of %d bytes", len(body))
	}
	if major := r.order.Uint16(body[4:]); major != 1 {
		return r.failf("pcapng version %d, want 1", major)
	}
	return nil
}

func (r *Reader) addInterface(body []byte) error {
	if len(body) < 8 {
		return r.failf("interface of %d bytes", len(body))
	}
	if len(r.interfaces) == maxInterfaces {
		return r.failf("more than %d interfaces", maxInterfaces)
	}
	i := intf{ours: r.order.Uint16(body) == LinkType, tick: 1000}
	err := r.options(body[8:], func(code uint16, v []byte) error {
		switch {
		case code == optName:
			for d, name := range names {
				if string(v) == name {
					i.dir, i.known = Dir(d), true
				}
			}
		case code == optResolution && len(v) == 1:
			if v[0] > 9 {
				return r.failf("time resolution %#x, want 10^-9 s or coarser", v[0])
			}
			for i.tick = 1; v[0] < 9; v[0]++ {
				i.tick *= 10
			}
		case code == optOffset && len(v) == 8:
			i.offset = int64(r.order.Uint64(v))
		}
		return nil
	})
	r.interfaces = append(r.interfaces, i)
	return err
}

// options calls f for each option of a block.
func (r *Reader) options(b []byte, f func(code uint16, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return r.failf("option of %d bytes", len(b))
		}
		code, n := r.order.Uint16(b), int(r.order.Uint16(b[2:]))
		if code == optEnd {
			return nil
		}
		padded := (n + 3) &^ 3
		if padded > len(b)-4 {
			return r.failf("option %d of %d bytes in %d", code, n, len(b)-4)
		}
		if err := f(code, b[4:4+n]); err != nil {
			return err
		}
		b = b[4+padded:]
	}
	return nil
}

// packet parses an enhanced packet block; ok is false if its interface is
// skipped.
func (r *Reader) packet(body []byte) (rec Record, ok bool, err error) {
	if len(body) < 20 {
		return rec, false, r.failf("packet block of %d bytes", len(body))
	}
	id := r.order.Uint32(body)
	if uint64(id) >= uint64(len(r.interfaces)) {
		return rec, false, r.failf("packet of interface %d of %d", id, len(r.interfaces))
	}
	i := r.interfaces[id]
	if !i.ours {
		return rec, false, nil
	}
	n, whole := r.order.Uint32(body[12:]), r.order.Uint32(body[16:])
	if n != whole || n < 12 || n > tlp.MaxSize || int(n+3)&^3 > len(body)-20 {
		return rec, false, r.failf("packet of %d bytes, %d of them captured", whole, n)
	}
	ticks := uint64(r.order.Uint32(body[4:]))<<32 | uint64(r.order.Uint32(body[8:]))
	if rec.At, ok = i.time(ticks); !ok {
		return rec, false, r.failf("time stamp %#x", ticks)
	}
	rec.Dir, ok = i.dir, i.known
	err = r.options(body[20+(n+3)&^3:], func(code uint16, v []byte) error {
		switch {
		case code == optComment:
			rec.Comment = string(v)
		case code == optFlags && len(v) == 4 && r.order.Uint32(v)&flagsDirection == flagsInbound:
			rec.Dir, ok = Up, true
		case code == optFlags && len(v) == 4 && r.order.Uint32(v)&flagsDirection == flagsOutbound:
			rec.Dir, ok = Down, true
		}
		return nil
	})
	if err != nil {
		return rec, false, err
	}
	if !ok {
		return rec, false, r.failf("packet without direction, want direction flags or an interface named %q or %q", Down, Up)
	}
	rec.Packet = append([]byte(nil), body[20:20+n]...)
	return rec, true, nil
}

// time converts a time stamp. It reports false if the time stamp is out of
// range.
func (i intf) time(ticks uint64) (time.Duration, bool) {
	hi, ns := bits.Mul64(ticks, i.tick)
	if hi != 0 || ns > math.MaxInt64 || i.offset < 0 || i.offset > math.MaxInt64/int64(time.Second) {
		return 0, false
	}
	sum := ns + uint64(i.offset)*uint64(time.Second)
	return time.Duration(sum), sum <= math.MaxInt64
}
