package eventlog

import (
	"bytes"
	"io"
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
