package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/pflag"
)

// A reply is what a command prints on standard output: text as it comes, or one
// JSON document when the exit code is known. The document is an object: the
// result of the command, and the error if there is one.
type reply struct {
	stdout io.Writer
	json   bool // the answer is a document

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

// failure is an error in a document.
type failure struct {
	Code    int    `json:"code"` // the exit code
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// addJSON adds the flag.
func (r *reply) addJSON(fl *pflag.FlagSet) {
	fl.BoolVar(&r.json, "json", false, "print one JSON document, with the error in it if there is one")
}

// document reports whether the answer is a document, and takes v, which is
// encoded as an object, as the result of the command.
func (r *reply) document(v any) bool {
	if !r.json {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = v
	return true
}

// lines makes the answer JSON lines. Add counts a round, and prints its line.
func (r *reply) lines() (add func(v any) error) {
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

// end prints the document, or the last line, of a command that ended with err.
// Only the first call does anything.
func (r *reply) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.json && r.stream == nil {
		return nil
	}
	r.ended = true
	var failed *failure
	if err != nil {
		code := exitCode(err)
		failed = &failure{code, kindOf(code), err.Error()}
	}
	if r.stream != nil {
		r.stream.ExitCode = exitCode(err)
		return r.encode(r.stream, failed, "")
	}
	if r.result == nil {
		r.result = struct{}{}
	}
	return r.encode(r.result, failed, "  ")
}

// encode prints an object, with the error as its last member, indented by step.
func (r *reply) encode(v any, failed *failure, step string) error {
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
	_, err = r.stdout.Write(out.Bytes())
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

// answers is standard output, which may be the terminal that the screen is. An
// error of it is one of what it was given for.
type answers struct {
	w      io.Writer
	screen *screen
}

// Write implements io.Writer.
func (a answers) Write(p []byte) (int, error) {
	n, err := a.screen.through(a.w, p)
	if err != nil {
		err = fmt.Errorf("%w: cannot write standard output: %w", errInput, err)
	}
	return n, err
}
