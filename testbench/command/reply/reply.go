// Package reply prints the answer of a command on standard output: text, one
// JSON document, or JSON lines.
package reply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// A Reply is the standard output of a command: text printed immediately, or one
// JSON document printed when the exit code is known. The document is an object
// with the result of the command, and the error if there is one. Its methods
// are safe for concurrent use.
type Reply struct {
	Out  io.Writer // standard output
	JSON bool      // print a document

	mu     sync.Mutex
	result any
	stream *streamEnd // set for JSON lines; this is the last line
	ended  bool
}

// A streamEnd is the last of a command's JSON lines.
type streamEnd struct {
	unit     string // name of the member with the number of lines
	lines    uint64
	exitCode int
}

// MarshalJSON implements json.Marshaler.
func (e *streamEnd) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"done":true,%q:%d,"exit_code":%d}`, e.unit, e.lines, e.exitCode), nil
}

// A Failure is an error in a document.
type Failure struct {
	Code    int    `json:"code"` // the exit code
	Kind    string `json:"kind"` // one word for the exit code
	Message string `json:"message"`
}

// Text reports whether the answer is text, rather than a document or lines.
func (r *Reply) Text() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.JSON && r.stream == nil
}

// Document reports whether the answer is a document, and takes v, which is
// encoded as an object, as the result. The last result counts.
func (r *Reply) Document(v any) bool {
	if !r.JSON {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = v
	return true
}

// Lines changes the answer to JSON lines. add counts and prints one. unit says what a
// line is about: rounds or events. After End add does nothing.
func (r *Reply) Lines(unit string) (add func(v any) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := &streamEnd{unit: unit}
	r.stream = end
	return func(v any) error { return r.line(v, 1) }
}

// Aside prints a line that is not one of the unit of Lines, which must have been called.
func (r *Reply) Aside(v any) error { return r.line(v, 0) }

// line prints a line that counts as n.
func (r *Reply) line(v any, n uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.stream.lines += n
	return r.encode(v, nil, "")
}

// End prints the document, or the last line. failed is the error of the
// command, or nil. Only the first call has an effect, and for text none has.
// End fails if Out fails or the result cannot be encoded.
func (r *Reply) End(failed *Failure) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.JSON && r.stream == nil {
		return nil
	}
	r.ended = true
	if r.stream != nil {
		if failed != nil {
			r.stream.exitCode = failed.Code
		}
		return r.encode(r.stream, failed, "")
	}
	if r.result == nil {
		r.result = struct{}{}
	}
	return r.encode(r.result, failed, "  ")
}

// encode prints an object, indented by step, with the error as its last member.
func (r *Reply) encode(v any, failed *Failure, step string) error {
	text, err := compact(v)
	if err != nil {
		return err
	}
	if failed != nil {
		member, err := compact(failed)
		if err != nil {
			return err
		}
		comma := ","
		if bytes.Equal(text, []byte("{}")) {
			comma = ""
		}
		text = fmt.Appendf(text[:len(text)-1], `%s"error":%s}`, comma, member)
	}
	var out bytes.Buffer
	if step == "" {
		out.Write(text)
	} else if err := json.Indent(&out, text, "", step); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = r.Out.Write(out.Bytes())
	return err
}

// compact encodes an object without spaces. It panics if v is not an object.
func compact(v any) ([]byte, error) {
	var long, short bytes.Buffer
	e := json.NewEncoder(&long)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if err := json.Compact(&short, long.Bytes()); err != nil {
		return nil, err
	}
	if short.Bytes()[0] != '{' {
		panic(fmt.Sprintf("document of type %T, want an object", v))
	}
	return short.Bytes(), nil
}
