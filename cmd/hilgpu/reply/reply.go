// Package reply is the answer of a command on standard output: text as it comes, one
// JSON document, or JSON lines.
package reply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// A Reply is what a command prints on standard output: text as it comes, or one
// JSON document when the exit code is known. The document is an object: the
// result of the command, and the error if there is one. Its methods may be called
// from several goroutines.
type Reply struct {
	Out  io.Writer // standard output
	JSON bool      // the answer is a document

	mu     sync.Mutex
	result any
	stream *streamEnd // the answer is JSON lines, of which this is the last
	ended  bool
}

// A streamEnd is the last of the JSON lines of a command that prints several.
type streamEnd struct {
	Done     bool   `json:"done"` // true
	Rounds   uint64 `json:"rounds"`
	ExitCode int    `json:"exit_code"`
}

// A Failure is an error in a document.
type Failure struct {
	Code    int    `json:"code"` // the exit code
	Kind    string `json:"kind"` // of the exit code, a word
	Message string `json:"message"`
}

// Text reports whether the answer is text, neither a document nor lines.
func (r *Reply) Text() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.JSON && r.stream == nil
}

// Document reports whether the answer is a document, and takes v, which is
// encoded as an object, as the result of the command. The last one counts.
func (r *Reply) Document(v any) bool {
	if !r.JSON {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = v
	return true
}

// Lines makes the answer JSON lines. Add counts a round, and prints its line; after
// End it does nothing.
func (r *Reply) Lines() (add func(v any) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := &streamEnd{Done: true}
	r.stream = end
	return func(v any) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended {
			return nil
		}
		end.Rounds++
		return r.encode(v, nil, "")
	}
}

// End prints the document, or the last line, of a command that ended with failed, or
// well if that is nil. Only the first call does anything, and of text none does. The
// error is that of Out, or of a result that cannot be encoded.
func (r *Reply) End(failed *Failure) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.JSON && r.stream == nil {
		return nil
	}
	r.ended = true
	if r.stream != nil {
		if failed != nil {
			r.stream.ExitCode = failed.Code
		}
		return r.encode(r.stream, failed, "")
	}
	if r.result == nil {
		r.result = struct{}{}
	}
	return r.encode(r.result, failed, "  ")
}

// encode prints an object, with the error as its last member, indented by step.
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

// compact encodes an object without spaces. It panics if v is none.
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
		panic(fmt.Sprintf("a document of %T, which is no object", v))
	}
	return short.Bytes(), nil
}
