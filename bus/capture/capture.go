// Package capture records the transaction-layer packets of a link in a pcapng
// file, reads such files, and answers a host from one.
//
// # The file
//
// A packet is one TLP, as bus/tlp encodes it, without framing or pseudo-header,
// of link type LinkType. Its direction is in two places, so that it survives
// tools that drop either: the interface, named "host->board" or "board->host",
// and the flags of the packet, outbound or inbound as the host sees it. Time is
// in nanoseconds since the board was opened. Each packet may have a comment.
//
// Design note: the section and the interfaces are written by pcapgo, packets
// are not, because pcapgo.NgWriter writes no options and so neither comments
// nor flags. pcapgo.NgReader skips the same options and allocates what length a
// file claims, so Reader is ours.
package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// LinkType is DLT_USER0: there is no registered type for bare TLPs, and the
// types from 147 to 162 are for private use (tcpdump.org/linktypes.html).
const LinkType = 147

// The kinds of error.
var (
	ErrFormat = errors.New("capture: bad file")
	ErrPacket = errors.New("capture: bad packet")
)

// Dir is the direction of a packet.
type Dir uint8

// The directions.
const (
	Down Dir = iota // from the host to the board
	Up              // from the board to the host
)

// names are the interfaces of a file, in its order.
var names = [...]string{Down: "host->board", Up: "board->host"}

// String returns the name of the direction's interface in a file.
func (d Dir) String() string { return names[d&1] }

// A Record is one packet of a capture.
type Record struct {
	At      time.Duration // since the board was opened, not negative
	Dir     Dir
	Packet  []byte // one TLP, 12 to tlp.MaxSize bytes
	Comment string // of one line; longer ones than maxComment bytes are cut
}

const maxComment = 4096

// Options of a Writer.
type Options struct {
	// Comment, if not nil, makes the comment of a record that has none. It is
	// called in the order of the records.
	Comment func(dir Dir, packet []byte) string
}

// A Writer writes a capture. It may be used from several goroutines. Its first
// error is returned by every later call.
type Writer struct {
	opt Options

	mu  sync.Mutex // of everything below
	w   io.Writer
	err error
	buf []byte

	base   time.Duration // of the link that is recorded
	last   time.Duration // of what was written last
	closed bool
}

// NewWriter writes the head of a file to w. Every packet is one call of
// w.Write; whoever wants fewer gives it a bufio.Writer and flushes that.
func NewWriter(w io.Writer, opt Options) (*Writer, error) {
	intf := pcapgo.NgInterface{
		LinkType: layers.LinkType(LinkType), SnapLength: tlp.MaxSize, TimestampResolution: 9,
		Name: Down.String(), Description: "PCIe TLPs from the host to the board",
	}
	ng, err := pcapgo.NewNgWriterInterface(w, intf, pcapgo.NgWriterOptions{
		SectionInfo: pcapgo.NgSectionInfo{Application: "hilgpu"}})
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	intf.Name, intf.Description = Up.String(), "PCIe TLPs from the board to the host"
	if _, err := ng.AddInterface(intf); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	if err := ng.Flush(); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &Writer{opt: opt, w: w}, nil
}

// Write appends one record. It fails with ErrPacket for one that cannot be, and
// with the error of the underlying writer.
func (w *Writer) Write(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		return w.err
	}
	if r.At < 0 || r.Dir > Up || len(r.Packet) < 12 || len(r.Packet) > tlp.MaxSize {
		return fmt.Errorf("%w: direction %d, %d bytes at %v", ErrPacket, r.Dir, len(r.Packet), r.At)
	}
	if r.Comment == "" && w.opt.Comment != nil {
		r.Comment = w.opt.Comment(r.Dir, r.Packet)
	}
	r.At += w.base
	w.last = max(w.last, r.At)
	w.buf = appendPacket(w.buf[:0], r)
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("capture: %w", err)
	}
	return w.err
}

// Begin says that another link is recorded from here on, whose time begins anew:
// in the file it goes on.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base = w.last
}

// Close ends the capture and returns its first error; what is written behind is
// dropped. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.err
}

// Err returns the first error of the underlying writer, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Codes of blocks and options, and the directions in the flags of a packet
// (draft-ietf-opsawg-pcapng §4, §4.3.1).
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6

	optEnd        = 0
	optComment    = 1
	optFlags      = 2 // of a packet
	optName       = 2 // of an interface
	optResolution = 9
	optOffset     = 14

	flagsDirection = 3
	flagsInbound   = 1
	flagsOutbound  = 2
)

// appendPacket appends an enhanced packet block (draft-ietf-opsawg-pcapng §4.3).
func appendPacket(b []byte, r Record) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, blockPacket)
	b = le.AppendUint32(b, 0) // the length, when it is known
	b = le.AppendUint32(b, uint32(r.Dir))
	b = le.AppendUint32(b, uint32(uint64(r.At)>>32))
	b = le.AppendUint32(b, uint32(r.At))
	b = le.AppendUint32(b, uint32(len(r.Packet)))
	b = le.AppendUint32(b, uint32(len(r.Packet)))
	b = pad(append(b, r.Packet...))
	if c := r.Comment; c != "" {
		c = c[:min(len(c), maxComment)]
		b = le.AppendUint16(b, optComment)
		b = le.AppendUint16(b, uint16(len(c)))
		b = pad(append(b, c...))
	}
	flags := uint32(flagsOutbound)
	if r.Dir == Up {
		flags = flagsInbound
	}
	b = le.AppendUint16(b, optFlags)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint32(b, flags)
	b = le.AppendUint32(b, optEnd)
	b = le.AppendUint32(b, uint32(len(b)+4))
	le.PutUint32(b[4:], uint32(len(b)))
	return b
}

// pad appends zeros up to a multiple of 4 bytes, which all parts of a block are.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
