package record

import (
	"io"
	"sync"
)

// console prints the text of boards line by line, without control characters.
type console struct {
	w io.Writer

	mu   sync.Mutex
	line []byte
}

// maxLine is the length at which a line without an end is broken, in bytes.
const maxLine = 1024

func (c *console) text(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range p {
		if b >= ' ' || b == '\t' {
			c.line = append(c.line, b)
		}
		if b == '\n' || len(c.line) == maxLine {
			c.print()
		}
	}
}

// end prints an unfinished line, such as a prompt.
func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.print()
}

func (c *console) print() {
	if len(c.line) > 0 {
		io.WriteString(c.w, "board: "+string(c.line)+"\n")
	}
	c.line = c.line[:0]
}
