// Package capture records the transaction-layer packets of a link in a pcapng
// file, reads such files, and plays them back as a link.
//
// # The file
//
// A packet is one TLP, as encoded by bus/tlp, without framing or pseudo-header,
// of link type LinkType. Its direction is stored twice, so that it survives
// tools that drop either: as the interface, named "host->board" or
// "board->host", and in the flags of the packet, outbound or inbound from the
// host's view. Each packet may have a comment.
//
// For a link over Ethernet or UDP, the file also has the frames as they were on the wire,
// with their headers, as packets of an interface of their own: see Writer.WriteFrame.
//
// Time is in nanoseconds. For a link with its own clock, such as a serial line,
// it is wall-clock time since 1970, so that captures of one machine line up.
// For a board in this process it is virtual time since the board was opened,
// and the same in every run. The comment of the interface says which.
//
// Design note: pcapgo.NgWriter writes no packet options, and so neither
// comments nor flags, and needs an interface before the first packet is known.
// pcapgo.NgReader skips the same options and allocates whatever length a file
// claims. The blocks are therefore written and read here.
package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// LinkType is DLT_USER0: there is no registered type for bare TLPs, and the
// types from 147 to 162 are for private use (tcpdump.org/linktypes.html).
const LinkType = 147

// Error kinds.
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
	At      time.Duration // since the board was opened, or since 1970; not negative
	Dir     Dir
	Packet  []byte // one TLP, 12 to tlp.MaxSize bytes
	Comment string // one line; cut to maxComment bytes
}

const maxComment = 4096

// Options configure a Writer.
type Options struct {
	// Comment, if not nil, makes the comment of each record without one. It is
	// called in the order of the records.
	Comment func(dir Dir, packet []byte) string
}

// A Writer writes a capture. It is safe for concurrent use. Its first error is
// returned by every later call.
type Writer struct {
	opt Options

	mu  sync.Mutex // guards the fields below
	w   io.Writer
	err error
	buf []byte

	wall       bool          // time is wall-clock time since epoch
	epoch      time.Duration // since 1970
	base       time.Duration // virtual time at which the current link began
	last       time.Duration // virtual time of the last record
	interfaces uint32        // number written so far
	first      [2]uint32     // first interface with virtual and with wall time, + 1; 0 if none
	wires      [2]uint32     // interface of each of wires, + 1; 0 if none
	closed     bool
}

// NewWriter writes the head of a file to w. Every packet is one call of
// w.Write; for fewer calls, pass a bufio.Writer and flush it.
func NewWriter(w io.Writer, opt Options) (*Writer, error) {
	if _, err := w.Write(appendSection(nil)); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &Writer{opt: opt, w: w}, nil
}

// Write appends one record. It fails with ErrPacket for an invalid record, and
// with the error of the underlying writer.
func (w *Writer) Write(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		return w.err
	}
	if r.At < 0 || r.Dir > Up || len(r.Packet) < 12 || len(r.Packet) > tlp.MaxSize {
		return fmt.Errorf("%w: direction %d, %d bytes at time %v", ErrPacket, r.Dir, len(r.Packet), r.At)
	}
	if r.Comment == "" && w.opt.Comment != nil {
		r.Comment = w.opt.Comment(r.Dir, r.Packet)
	}
	if w.wall {
		r.At += w.epoch
	} else {
		r.At += w.base
		w.last = max(w.last, r.At)
	}
	w.buf = w.buf[:0]
	w.buf = appendPacket(w.buf, w.intf(r.Dir), r)
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("capture: %w", err)
	}
	return w.err
}

// intf returns the interface number of the next packet. Before the first packet
// of each kind of time it writes both interfaces.
func (w *Writer) intf(d Dir) uint32 {
	first := &w.first[0]
	if w.wall {
		first = &w.first[1]
	}
	if *first == 0 {
		for _, d := range []Dir{Down, Up} {
			w.buf = appendInterface(w.buf, d, w.wall)
		}
		*first = w.interfaces + 1
		w.interfaces += 2
	}
	return *first - 1 + uint32(d)
}

// Begin starts recording another link with virtual time. Time continues in the
// file although the link's time starts at 0.
func (w *Writer) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wall, w.base = false, w.last
}

// BeginAt starts recording a link with wall-clock time since epoch, which is
// not before 1970.
func (w *Writer) BeginAt(epoch time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wall, w.epoch = true, time.Duration(epoch.UnixNano())
}

// Close ends the capture and returns its first error; later records are
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
	optText       = 3 // of an interface, its description
	optProgram    = 4 // of a section
	optResolution = 9
	optOffset     = 14

	flagsDirection = 3
	flagsInbound   = 1
	flagsOutbound  = 2
)

// Comments of the interfaces: the clock of their packets.
const (
	virtualTime = "time is virtual: since the board was opened, in clocks of the board or of its line"
	wallTime    = "time is the host's wall-clock time"
)

// appendSection appends a section header block (draft-ietf-opsawg-pcapng §4.1).
func appendSection(b []byte) []byte {
	le := binary.LittleEndian
	b, at := beginBlock(b, blockSection)
	b = le.AppendUint32(b, 0x1a2b3c4d) // byte order
	b = le.AppendUint16(b, 1)          // version 1.0
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, math.MaxUint64) // no length
	b = appendOption(b, optProgram, "hilgpu")
	return endBlock(b, at)
}

// appendInterface appends an interface description block (draft-ietf-opsawg-
// pcapng §4.2).
func appendInterface(b []byte, d Dir, wall bool) []byte {
	le := binary.LittleEndian
	b, at := beginBlock(b, blockInterface)
	b = le.AppendUint16(b, LinkType)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, tlp.MaxSize)
	b = appendOption(b, optName, d.String())
	b = appendOption(b, optText, [...]string{"PCIe TLPs from the host to the board", "PCIe TLPs from the board to the host"}[d])
	comment := virtualTime
	if wall {
		comment = wallTime
	}
	b = appendOption(b, optComment, comment)
	b = appendOption(b, optResolution, "\x09") // 10^-9 s
	return endBlock(b, at)
}

// appendPacket appends an enhanced packet block of an interface
// (draft-ietf-opsawg-pcapng §4.3).
func appendPacket(b []byte, intf uint32, r Record) []byte {
	le := binary.LittleEndian
	b, at := beginBlock(b, blockPacket)
	b = le.AppendUint32(b, intf)
	b = le.AppendUint32(b, uint32(uint64(r.At)>>32))
	b = le.AppendUint32(b, uint32(r.At))
	b = le.AppendUint32(b, uint32(len(r.Packet)))
	b = le.AppendUint32(b, uint32(len(r.Packet)))
	b = pad(append(b, r.Packet...))
	if c := r.Comment; c != "" {
		b = appendOption(b, optComment, c[:min(len(c), maxComment)])
	}
	flags := uint32(flagsOutbound)
	if r.Dir == Up {
		flags = flagsInbound
	}
	b = le.AppendUint16(b, optFlags)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint32(b, flags)
	return endBlock(b, at)
}

// beginBlock begins a block of unknown length and returns its start.
func beginBlock(b []byte, typ uint32) ([]byte, int) {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, typ)
	return binary.LittleEndian.AppendUint32(b, 0), at
}

// endBlock ends the options and the block that began at offset at.
func endBlock(b []byte, at int) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, optEnd)
	b = le.AppendUint32(b, uint32(len(b)+4-at))
	le.PutUint32(b[at+4:], uint32(len(b)-at))
	return b
}

// appendOption appends an option of a block.
func appendOption(b []byte, code uint16, value string) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return pad(append(b, value...))
}

// pad appends zeros up to a multiple of 4 bytes, the alignment of all parts of
// a block.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
