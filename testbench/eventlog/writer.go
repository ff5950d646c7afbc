package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// Version is the version of the format. A reader refuses a log of a newer one.
const Version = 1

// magic begins a log.
const magic = "HILGPULG"

// A Header describes the run that a log is of.
type Header struct {
	Program  string `json:"program"`             // name and version of what wrote the log
	Board    string `json:"board"`               // selector
	Hz       uint64 `json:"hz"`                  // ticks of the device's clock in a second
	Map      uint32 `json:"map"`                 // hash of the register map of the program
	Observed bool   `json:"observed"`            // the packets that nodes execute are in the log
	TdrDelay uint64 `json:"tdr_delay,omitempty"` // of the kernel, in ticks; 0: there is none, or it is not known

	Kinds []kindJSON `json:"kinds"` // in the order of their numbers, from 1
}

// CheckMap fails with ErrMap if the register map is not that of a program with the hash want.
func (h Header) CheckMap(want uint32) error {
	if h.Map != want {
		return fmt.Errorf("%w: it was written with register map %#08x, this program has %#08x", ErrMap, h.Map, want)
	}
	return nil
}

// kindJSON is the description of a kind in a log.
type kindJSON struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
}

// The kinds of blocks.
const (
	blockEvents  = 'E'
	blockStrings = 'S'
)

// blockHeader is the length of what is before the content of a block: its kind, the length of
// its content, and the check.
const blockHeader = 1 + 4 + 4

// blockBytes is the size at which a block is written.
const blockBytes = 32 << 10

// maxTemplates bounds the number of templates, maxTemplate the length of one, and templateBytes
// that of all, so that a block has room for them. Other texts are stored whole.
const (
	maxTemplates  = 1 << 16
	maxTemplate   = 4 << 10
	templateBytes = 16 << 20
)

// castagnoli is the polynomial of the checks.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bits of the byte after the kind of an event.
const (
	hasCause  = 1 << iota
	hasThread // another than that of the event before
	hasTime   // another
	hasText
	hasData
	hasWhole // the text is stored whole
)

// A Writer writes a log. It is safe for concurrent use.
type Writer struct {
	mu    sync.Mutex
	out   func(kind byte, content []byte) error
	err   error
	id    uint64
	block []byte // content of the block of events
	last  Event  // the one before, in the block
	time  uint64 // of the newest event

	templates map[string]uint64 // numbers from 1
	stored    int               // bytes of templates
	fresh     []byte            // templates that are in no block
	template  []byte
	numbers   []uint64
}

// NewWriter writes the header and returns the writer of its events. Blocks are written whole,
// each in one Write, so that w can be read meanwhile.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if _, err := w.Write(encodeHeader(h)); err != nil {
		return nil, err
	}
	return newWriter(func(kind byte, content []byte) error {
		_, err := w.Write(frame(kind, content))
		return err
	}), nil
}

func newWriter(out func(kind byte, content []byte) error) *Writer {
	return &Writer{out: out, templates: map[string]uint64{}}
}

// encodeHeader returns what is before the first block: the magic, the version, the length of
// the header, the header as JSON, and its check.
func encodeHeader(h Header) []byte {
	h.Kinds = nil
	for _, d := range Table {
		k := kindJSON{Name: d.Name, Fields: []string{}}
		for _, f := range d.Fields {
			k.Fields = append(k.Fields, f.Name)
		}
		h.Kinds = append(h.Kinds, k)
	}
	text, _ := json.Marshal(h) // cannot fail: strings and numbers
	b := binary.LittleEndian.AppendUint32([]byte(magic), Version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(text, castagnoli))
}

// frame returns a block with its header.
func frame(kind byte, content []byte) []byte {
	b := append(make([]byte, 0, blockHeader+len(content)), kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(content, castagnoli))
	return append(b, content...)
}

// Add appends an event and returns its ID. An event of the kind End without a time gets that of the newest event.
func (w *Writer) Add(e Event) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id++
	if len(w.block) == 0 {
		w.block, w.last = binary.AppendUvarint(w.block, w.id), Event{}
	}
	if w.time = max(w.time, e.Time); e.Kind == End && e.Time == 0 {
		e.Time = w.time
	}
	e.ID = w.id
	w.encode(&e)
	w.last = Event{Time: e.Time, Process: e.Process, Thread: e.Thread}
	if len(w.block) >= blockBytes {
		w.flush()
	}
	return w.id
}

// encode appends an event to the block.
func (w *Writer) encode(e *Event) {
	at := len(w.block) + 1
	b := append(w.block, byte(e.Kind), 0)
	var flags byte
	if e.Cause != 0 {
		flags, b = flags|hasCause, binary.AppendUvarint(b, e.ID-e.Cause)
	}
	if e.Process != w.last.Process || e.Thread != w.last.Thread {
		flags, b = flags|hasThread, binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.Process)), uint64(e.Thread))
	}
	if e.Time != w.last.Time {
		flags, b = flags|hasTime, binary.AppendVarint(b, int64(e.Time-w.last.Time))
	}
	for i := range e.Kind.Describe().Fields {
		b = binary.AppendUvarint(b, e.Fields[i])
	}
	if e.text != "" {
		var whole bool
		if b, whole = w.encodeText(b, e.text); whole {
			flags |= hasWhole
		}
		flags |= hasText
	}
	if len(e.Data) > 0 {
		flags, b = flags|hasData, append(binary.AppendUvarint(b, uint64(len(e.Data))), e.Data...)
	}
	b[at] = flags
	w.block = b
}

// encodeText appends a text and reports whether it is stored whole.
func (w *Writer) encodeText(b []byte, text string) (_ []byte, whole bool) {
	var ok bool
	w.template, w.numbers, ok = split(w.template[:0], w.numbers[:0], text)
	n, known := w.templates[string(w.template)]
	if ok && !known && len(w.templates) < maxTemplates && len(w.template) <= min(maxTemplate, templateBytes-w.stored) {
		w.stored += len(w.template)
		n, known = uint64(len(w.templates)+1), true
		w.templates[string(w.template)] = n
		w.fresh = append(binary.AppendUvarint(w.fresh, uint64(len(w.template))), w.template...)
	}
	if !ok || !known {
		return append(binary.AppendUvarint(b, uint64(len(text))), text...), true
	}
	b = binary.AppendUvarint(b, n)
	for _, v := range w.numbers {
		b = binary.AppendUvarint(b, v)
	}
	return b, false
}

// Flush writes the events that are in no block yet. It returns the first error of a write,
// after which nothing is written.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	for _, b := range []struct {
		kind    byte
		content *[]byte
	}{{blockStrings, &w.fresh}, {blockEvents, &w.block}} {
		if len(*b.content) > 0 && w.err == nil {
			w.err = w.out(b.kind, *b.content)
		}
		*b.content = (*b.content)[:0]
	}
}
