package eventlog

import (
	"bytes"
	"fmt"
	"io"
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

// maxLine is the length of a line of Last, in bytes.
const maxLine = 400

// Last returns the last n events as text, the oldest first, after a line that says how many they are and where the
// ring begins. It is "" if there is no event.
func (r *Ring) Last(n int) string {
	var log bytes.Buffer
	r.WriteTo(&log) // a buffer takes everything
	l, err := NewReader(&log)
	if err != nil {
		return ""
	}
	var lines []string
	var e Event
	for l.Next(&e) == nil {
		line := e.String()
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "..."
		}
		if lines = append(lines, line); len(lines) > n {
			lines = lines[1:]
		}
	}
	if len(lines) == 0 {
		return ""
	}
	begins := l.Begins()
	if begins != "" {
		begins = "; " + begins
	}
	return fmt.Sprintf("the last %d of %d events%s:\n%s\n", len(lines), e.ID, begins, strings.Join(lines, "\n"))
}
