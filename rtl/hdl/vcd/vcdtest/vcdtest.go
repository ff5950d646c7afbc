// Package vcdtest reads value change dumps in tests, and is strict about them.
package vcdtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by the error of a dump that is not one.
var ErrFormat = errors.New("vcdtest: bad dump")

// A Var is a declared variable.
type Var struct {
	Kind  string // reg or string
	Width int
}

// A Dump is what one says. Changes has what changed at each of Times.
type Dump struct {
	Vars    map[string]Var // by scope and name, with dots between
	Times   []uint64
	Changes []map[string]string
}

// At returns the values of all variables at a time.
func (d *Dump) At(t uint64) map[string]string {
	now := map[string]string{}
	for i, at := range d.Times {
		if at > t {
			break
		}
		maps.Copy(now, d.Changes[i])
	}
	return now
}

// Parse reads a dump.
func Parse(r io.Reader) (*Dump, error) {
	p := parser{d: &Dump{Vars: map[string]Var{}}, ids: map[string]string{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		do := p.declaration
		if p.body {
			do = p.change
		}
		if err := do(lines.Text()); err != nil {
			return nil, fmt.Errorf("%w: line %d: %q: %w", ErrFormat, n, lines.Text(), err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !p.body {
		return nil, fmt.Errorf("%w: no $enddefinitions", ErrFormat)
	}
	return p.d, nil
}

type parser struct {
	d     *Dump
	scope []string
	ids   map[string]string // of variables by their codes
	body  bool
}

var errUnknown = errors.New("not understood")

func (p *parser) declaration(line string) error {
	f := strings.Fields(line)
	switch {
	case line == "$timescale 1 ns $end":
		return nil
	case line == "$enddefinitions $end" && len(p.scope) == 0:
		p.body = true
		return nil
	case line == "$upscope $end" && len(p.scope) > 0:
		p.scope = p.scope[:len(p.scope)-1]
		return nil
	case len(f) == 4 && f[0] == "$scope" && f[1] == "module" && f[3] == "$end":
		p.scope = append(p.scope, f[2])
		return nil
	case len(f) == 6 && f[0] == "$var" && f[5] == "$end":
		return p.declare(f[1], f[2], f[3], f[4])
	}
	return errUnknown
}

func (p *parser) declare(kind, width, id, name string) error {
	name = strings.Join(append(p.scope[:len(p.scope):len(p.scope)], name), ".")
	n, err := strconv.Atoi(width)
	if _, twice := p.ids[id]; err != nil || n < 1 || n > 64 || twice || kind != "reg" && kind != "string" {
		return errUnknown
	}
	if _, twice := p.d.Vars[name]; twice {
		return errors.New("declared twice")
	}
	p.ids[id] = name
	p.d.Vars[name] = Var{kind, n}
	return nil
}

func (p *parser) change(line string) error {
	if t, ok := strings.CutPrefix(line, "#"); ok {
		at, err := strconv.ParseUint(t, 10, 64)
		if n := len(p.d.Times); err != nil || n > 0 && p.d.Times[n-1] >= at {
			return errors.New("time does not rise")
		}
		p.d.Times = append(p.d.Times, at)
		p.d.Changes = append(p.d.Changes, map[string]string{})
		return nil
	}
	value, id, ok := strings.Cut(line, " ")
	if !ok && line != "" {
		value, id = line[:1], line[1:]
	}
	name, known := p.ids[id]
	if !known || len(p.d.Times) == 0 {
		return errUnknown
	}
	return p.set(name, value)
}

// set takes a value as it stands there.
func (p *parser) set(name, value string) error {
	v := p.d.Vars[name]
	rest, text := strings.CutPrefix(value, "s")
	if !text && v.Width > 1 {
		var ok bool
		if rest, ok = strings.CutPrefix(value, "b"); !ok {
			return errUnknown
		}
	}
	if text != (v.Kind == "string") || !text && (rest == "" || len(rest) > v.Width || strings.Trim(rest, "01x") != "") {
		return errUnknown
	}
	now := p.d.Changes[len(p.d.Changes)-1]
	if _, twice := now[name]; twice {
		return errors.New("changes twice")
	}
	now[name] = rest
	return nil
}
