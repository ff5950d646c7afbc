package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// traceBytes is the size at which a trace is renamed and a new one begun, so that a
// case that polls a dead device does not fill the disk.
const traceBytes = 32 << 20

// older returns the name of the part of a trace before the last one.
func older(path string) string { return path + ".old" }

// A traceFile is the file with the DDI calls of a case.
type traceFile struct {
	path string
	file *os.File
	size int
}

// newTraceFile returns an empty file.
func newTraceFile(path string) (*traceFile, error) {
	if err := os.RemoveAll(older(path)); err != nil {
		return nil, err
	}
	f := &traceFile{path: path}
	return f, f.begin()
}

// begin begins an empty part.
func (f *traceFile) begin() (err error) {
	f.file, err = os.Create(f.path)
	f.size = 0
	return err
}

// Write implements io.Writer.
func (f *traceFile) Write(p []byte) (int, error) {
	if f.size > 0 && f.size+len(p) > traceBytes {
		f.close()
		if err := os.Rename(f.path, older(f.path)); err != nil {
			return 0, err
		}
		if err := f.begin(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(p)
	f.size += n
	return n, err
}

// close closes the file. Each write was complete, so no data is lost.
func (f *traceFile) close() { f.file.Close() }

// A key identifies a call of a system.
type key struct {
	context int
	seq     uint64
}

// calls are the DDI calls of a child that has ended.
type calls struct {
	text    []byte            // the trace
	entered []*verifier.Event // calls of the last system, in order of entry
	open    []*verifier.Event // those of them that did not return
}

// readCalls returns the calls in a trace file.
func readCalls(path string) calls {
	var c calls
	for _, part := range []string{older(path), path} {
		p, err := os.ReadFile(part)
		if err == nil { // the older part may not exist
			c.text = append(c.text, p...)
		}
	}
	returned := map[key]bool{}
	for in := bufio.NewReader(bytes.NewReader(c.text)); ; {
		text, err := in.ReadBytes('\n')
		if err != nil { // a last line may be cut off
			break
		}
		e := new(verifier.Event)
		if json.Unmarshal(text, e) != nil {
			continue
		}
		switch e.At {
		case "enter":
			c.entered = append(c.entered, e)
		case "leave":
			returned[key{e.Context, e.Seq}] = true
		default: // a header: the case opened another system
			c.entered = nil
			clear(returned)
		}
	}
	for _, e := range c.entered {
		if !returned[key{e.Context, e.Seq}] {
			c.open = append(c.open, e)
		}
	}
	return c
}

// last returns the call in which the child ended and the DDI functions on its
// thread, outermost first. running is false if every call had returned; the call is
// then the last one, or nil if there was none.
func (c *calls) last() (e *verifier.Event, stack []string, running bool) {
	if len(c.open) == 0 {
		if n := len(c.entered); n > 0 {
			return c.entered[n-1], nil, false
		}
		return nil, nil, false
	}
	e = c.open[len(c.open)-1]
	for _, o := range c.open {
		if o.Process == e.Process && o.Thread == e.Thread {
			stack = append(stack, o.Name)
		}
	}
	return e, stack, true
}

// maxCalls is the number of calls in a Violation.
const maxCalls = 24

// recent describes the last calls, oldest first.
func (c *calls) recent() (out []string) {
	from := max(0, len(c.entered)-maxCalls)
	for n, e := range c.entered[from:] {
		s := fmt.Sprintf("#%d thread %d:%d %*s%s", from+n+1, e.Process, e.Thread, 2*e.Depth, "", e.Name)
		if slices.Contains(c.open, e) {
			s += ", which did not return"
		}
		out = append(out, s)
	}
	return out
}

// merged returns the trace in the order of verifier.Merge, or as it is if its
// beginning is lost.
func (c *calls) merged() []byte {
	var out bytes.Buffer
	if err := verifier.Merge(io.Reader(bytes.NewReader(c.text)), &out); err != nil {
		return c.text
	}
	return out.Bytes()
}
