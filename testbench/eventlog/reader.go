// Package eventlog is the format of the log of a run: what happened, from the calls of the
// application to the interrupts of the GPU, in one file. docs/log.md describes it.
//
// [NewWriter] writes a log, [NewRing] keeps its last events in memory, and [NewReader] reads
// one, also while it is written and after a crash of its writer.
package eventlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode"
)

// Errors of a log.
var (
	ErrFormat  = errors.New("eventlog: not a log")
	ErrVersion = errors.New("eventlog: a log of a newer version")
	ErrCorrupt = errors.New("eventlog: the log is damaged")
	ErrMap     = errors.New("eventlog: the log is of another register map") // for readers that decode registers and packets
)

// Limits of a log, so that damaged lengths are found.
const (
	maxHeader = 1 << 20
	maxBlock  = 64 << 20
	zeroTail  = 16 // zeros at the end of a block that is lost in part
)

// A Reader reads the events of a log, in order.
type Reader struct {
	Header Header
	GoOn   bool // pass over blocks of events that fail their check; Gaps has what is missing

	in        *bufio.Reader
	at        int64  // offset of the next block
	kinds     []Kind // by number in the log; None: unknown
	counts    []int  // of fields
	templates []string
	holes     []int

	first Event  // without its text and data; the number 0: no event was read
	block []byte // rest of the block of events
	next  position
	cut   bool
	lost  bool // the end has only zeros

	gaps []Gap
	open bool // no event was read after the last gap
	here bool // the last gap is before the event that was read last
}

// NewReader reads the header of a log. It fails with ErrFormat, ErrVersion or ErrCorrupt, or
// an error of r.
func NewReader(r io.Reader) (*Reader, error) {
	l := &Reader{in: bufio.NewReaderSize(r, 1<<20)}
	head := make([]byte, len(magic)+8)
	switch n, err := io.ReadFull(l.in, head); {
	case err != nil && !ended(err):
		return nil, err
	case string(head[:min(n, len(magic))]) != magic[:min(n, len(magic))] || n == 0:
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrFormat, magic)
	case err != nil:
		return nil, fmt.Errorf("%w: it ends in its header", ErrCorrupt)
	}
	version, size := binary.LittleEndian.Uint32(head[len(magic):]), binary.LittleEndian.Uint32(head[len(magic)+4:])
	if version > Version {
		return nil, fmt.Errorf("%w: %d, want %d", ErrVersion, version, Version)
	}
	if version == 0 || size > maxHeader {
		return nil, fmt.Errorf("%w: version %d and a header of %d bytes", ErrCorrupt, version, size)
	}
	text := make([]byte, size+4)
	if _, err := io.ReadFull(l.in, text); ended(err) {
		return nil, fmt.Errorf("%w: it ends in its header", ErrCorrupt)
	} else if err != nil {
		return nil, err
	}
	l.at = int64(len(head) + len(text))
	return l, l.decodeHeader(text[:size], binary.LittleEndian.Uint32(text[size:]))
}

// ended reports whether a read reached the end.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func (l *Reader) decodeHeader(text []byte, check uint32) error {
	if crc32.Checksum(text, castagnoli) != check {
		return fmt.Errorf("%w: its header fails its check", ErrCorrupt)
	}
	if err := json.Unmarshal(text, &l.Header); err != nil {
		return fmt.Errorf("%w: its header: %w", ErrCorrupt, err)
	}
	known := map[string]Kind{}
	for _, d := range Table {
		known[d.Name] = d.Kind
	}
	for _, k := range l.Header.Kinds {
		if k.Name == "" || strings.IndexFunc(k.Name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			return fmt.Errorf("%w: its header has a kind %q", ErrCorrupt, k.Name)
		}
		l.kinds, l.counts = append(l.kinds, known[k.Name]), append(l.counts, len(k.Fields))
	}
	return nil
}

// Truncated reports whether the log ends within a block, as after a crash of its writer, or with zeros in place
// of a block, as after one of the machine.
func (l *Reader) Truncated() bool { return l.cut || l.lost }

// Next reads an event. Its text and data are valid until the next call. Next returns io.EOF
// after the last whole block; ErrCorrupt, with the offset, for a block that fails its check;
// or an error of the reader. After io.EOF it may be called again, once more has been written.
func (l *Reader) Next(e *Event) error {
	l.here = false
	for len(l.block) == 0 {
		if err := l.readBlock(); err != nil {
			return err
		}
	}
	before := len(l.block)
	if !l.decode(e) {
		return fmt.Errorf("%w: event %d, %d bytes before offset %d", ErrCorrupt, e.ID, before, l.at)
	}
	if l.first.ID == 0 {
		l.first = Event{ID: e.ID, Time: e.Time}
	}
	if l.open {
		l.resume(e)
	}
	return nil
}

// Begins returns where a log begins that lacks its beginning, as that of a Ring does, or "". At least one event
// must have been read.
func (l *Reader) Begins() string {
	if l.first.ID <= 1 {
		return ""
	}
	return fmt.Sprintf("the log begins at event %d, clock %d", l.first.ID, l.first.Time)
}

// readBlock reads the next block. A block that is not whole is left for the next call.
func (l *Reader) readBlock() error {
	head, err := l.in.Peek(blockHeader)
	if l.cut = ended(err) && len(head) > 0; l.cut {
		return io.EOF
	}
	if err != nil {
		return err
	}
	kind, size, check := head[0], binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint32(head[5:])
	if kind != blockEvents && kind != blockStrings || size > maxBlock {
		return l.damaged(head, fmt.Errorf("%w: at offset %d", ErrCorrupt, l.at))
	}
	whole, err := l.content(int(size))
	if l.cut = ended(err); l.cut {
		return io.EOF
	}
	if err != nil {
		return err
	}
	if crc32.Checksum(whole, castagnoli) != check {
		if next, _ := l.in.Peek(1); l.GoOn && kind == blockEvents && len(next) > 0 && next[0] != 0 {
			l.skip()
			l.at += int64(blockHeader) + int64(size)
			return l.readBlock()
		}
		return l.damaged(whole, fmt.Errorf("%w: the block at offset %d fails its check", ErrCorrupt, l.at))
	}
	l.at += int64(blockHeader) + int64(size)
	if kind == blockStrings {
		return l.addTemplates(whole)
	}
	id, n := binary.Uvarint(whole)
	if n <= 0 {
		return fmt.Errorf("%w: the block before offset %d has no number", ErrCorrupt, l.at)
	}
	l.block, l.next = whole[n:], position{id: id}
	return nil
}

// damaged returns the error for a block that ends with p. If p ends with zeros, and only zeros follow, a crash of
// the machine has lost the end of the log, and it is io.EOF.
func (l *Reader) damaged(p []byte, err error) error {
	if len(p) < blockHeader || len(bytes.TrimRight(p, "\x00")) > len(p)-min(len(p), zeroTail) {
		return err
	}
	for {
		rest, end := l.in.Peek(1)
		if end != nil && !ended(end) {
			return end
		}
		if end != nil {
			l.lost = true
			return io.EOF
		}
		if rest[0] != 0 {
			return err
		}
		if _, end := l.in.Discard(1); end != nil {
			return end
		}
	}
}

// content returns the content of the block at the reader. It is valid until the next block is
// read.
func (l *Reader) content(size int) ([]byte, error) {
	if blockHeader+size > l.in.Size() {
		l.in = bufio.NewReaderSize(l.in, blockHeader+size)
	}
	p, err := l.in.Peek(blockHeader + size)
	if err != nil {
		return nil, err
	}
	_, err = l.in.Discard(len(p))
	return p[blockHeader:], err
}

func (l *Reader) addTemplates(p []byte) error {
	for len(p) > 0 {
		size, n := binary.Uvarint(p)
		if n <= 0 || size > uint64(len(p)-n) {
			return fmt.Errorf("%w: the templates before offset %d", ErrCorrupt, l.at)
		}
		t := string(p[n : n+int(size)])
		l.templates, l.holes = append(l.templates, t), append(l.holes, holes(t))
		p = p[n+int(size):]
	}
	return nil
}
