package eventlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// A Ring keeps the last events in memory, with the Writer that adds them.
type Ring struct {
	*Writer
	header Header
	size   int

	mu      sync.Mutex
	strings []byte
	blocks  [][]byte // contents, oldest first
	bytes   int      // in blocks
	failed  uint64   // event of the first failure; 0: none yet
	final   bool     // Failed was called
}

// NewRing returns a ring of about size bytes of events.
func NewRing(size int, h Header) *Ring {
	r := &Ring{header: h, size: size}
	r.Writer = newWriter(r.keep)
	return r
}

// keep keeps a block and drops the oldest ones.
func (r *Ring) keep(kind byte, content []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind == blockStrings {
		r.strings = append(r.strings, content...)
		return nil
	}
	r.blocks = append(r.blocks, bytes.Clone(content))
	r.bytes += len(content)
	for r.bytes > r.size && len(r.blocks) > 1 {
		r.bytes -= len(r.blocks[0])
		r.blocks = r.blocks[1:]
	}
	return nil
}

// WriteTo writes the events as a log.
func (r *Ring) WriteTo(w io.Writer) (n int64, err error) {
	r.Flush()
	r.mu.Lock()
	defer r.mu.Unlock()
	put := func(p []byte) {
		if err == nil {
			var m int
			m, err = w.Write(p)
			n += int64(m)
		}
	}
	put(encodeHeader(r.header))
	if len(r.strings) > 0 {
		put(frame(blockStrings, r.strings))
	}
	for _, b := range r.blocks {
		put(frame(blockEvents, b))
	}
	return n, err
}

// WriteFile writes the log to a file.
func (r *Ring) WriteFile(path string) error {
	var log bytes.Buffer
	r.WriteTo(&log) // a buffer takes everything
	return os.WriteFile(path, log.Bytes(), 0o666)
}

// maxLine is the length of a line of Last, in bytes.
const maxLine = 400

// Add appends an event and returns its ID. A stop and a broken rule that stops the system are failures. A board that is
// opened and an adapter that works again begin without one.
func (r *Ring) Add(e Event) uint64 {
	id := r.Writer.Add(e)
	switch {
	case e.Kind == Open || e.Kind == Restart:
		r.fail(0, false)
	case e.Kind == Stop || e.Kind == Broken && e.Fields[0] != 0:
		r.fail(id, false)
	}
	return id
}

// Failed notes that the user of the system finds a failure with a text. It is the last stop or reset of a node whose
// reason the text has, else the stop or the broken rule before it, else the newest event. Only the first call has an
// effect.
func (r *Ring) Failed(text string) {
	newest := r.newest()
	if named := r.named(text); named != 0 {
		r.fail(0, false)
		newest = named
	}
	r.fail(newest, true)
}

// named returns the last stop or reset of a node whose reason is in a text, or 0.
func (r *Ring) named(text string) (id uint64) {
	var e Event
	for l := r.read(); l != nil && l.Next(&e) == nil; {
		if e.Kind == Stop || e.Kind == Reset {
			if reason, _, _ := strings.Cut(e.Text(), "\n"); reason != "" && strings.Contains(text, reason) {
				id = e.ID
			}
		}
	}
	return id
}

// read returns a reader of the events, or nil.
func (r *Ring) read() *Reader {
	var log bytes.Buffer
	r.WriteTo(&log) // a buffer takes everything
	l, err := NewReader(&log)
	if err != nil {
		return nil
	}
	return l
}

// fail notes a failure unless there is one. The event 0 withdraws one that is not final.
func (r *Ring) fail(id uint64, final bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.final:
	case r.failed == 0 || id == 0:
		r.failed = id
	}
	r.final = r.final || final
}

// newest returns the number of the newest event, 0 if there is none.
func (w *Writer) newest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// Last returns n events as text, the oldest first, without what polls leaves out: the last ones up to the first failure, or the last ones of all if
// there is no failure, or the ring does not have it any more. The first line says which they are, and where the ring
// begins. Last returns "" if there is no event.
func (r *Ring) Last(n int) string {
	newest := r.newest()
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	if failed != 0 {
		if lines, begins := r.lines(failed, n); len(lines) > 0 {
			return fmt.Sprintf("the last %d events up to the first failure, of %d events%s:\n%s\n", len(lines), newest, begins, strings.Join(lines, "\n"))
		}
	}
	lines, begins := r.lines(newest, n)
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("the last %d of %d events%s:\n%s\n", len(lines), newest, begins, strings.Join(lines, "\n"))
}

// lines returns the last n events up to one as lines, and the words that say where the ring begins, or "".
func (r *Ring) lines(last uint64, n int) (lines []string, begins string) {
	l := r.read()
	if l == nil {
		return nil, ""
	}
	var e Event
	var p polls
	for l.Next(&e) == nil && e.ID <= last {
		if p.repeats(&e) {
			continue
		}
		line := e.String()
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "..."
		}
		lines = append(lines, line)
	}
	lines = lines[max(0, len(lines)-n):]
	if begins = l.Begins(); begins != "" {
		begins = "; " + begins
	}
	return lines, begins
}

// polls tells the events of a host that polls: reads of a register that return what the one before did, and the calls of a driver for
// accesses of registers, which the log has as accesses too.
type polls struct {
	values map[[2]uint64]uint64 // last value read, by BAR and offset
}

// repeats reports whether an event tells nothing that an earlier one does not.
func (p *polls) repeats(e *Event) bool {
	switch e.Kind {
	case DDI, DDIEnd:
		return strings.Contains(e.Text(), `"name":"READ_REGISTER_`) || strings.Contains(e.Text(), `"name":"WRITE_REGISTER_`)
	case Write:
		p.values = nil
	case Read:
		at := [2]uint64{e.Fields[0], e.Fields[1]}
		before, ok := p.values[at]
		if p.values == nil {
			p.values = map[[2]uint64]uint64{}
		}
		p.values[at] = e.Fields[3]
		return ok && before == e.Fields[3] && e.Fields[2] <= 4 && !e.HasText()
	default:
	}
	return false
}
