// Package vcdtest is a strict reader of value change dumps, for tests.
package vcdtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by the error for a malformed dump.
var ErrFormat = errors.New("vcdtest: bad dump")

// A Var is a declared variable.
type Var struct {
	Kind  string // reg or string
	Width int
}

// A Dump is a parsed dump. Changes has the changes at each of Times.
type Dump struct {
	Unit    uint64         // of time, in femtoseconds
	Vars    map[string]Var // by scope and name, separated by dots
	Times   []uint64
	Changes []map[string]string
}

// At returns the values of all variables at time t.
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
	if !p.body || p.d.Unit == 0 {
		return nil, fmt.Errorf("%w: no $enddefinitions or no $timescale", ErrFormat)
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
	case len(f) == 4 && f[0] == "$timescale" && f[3] == "$end" && p.d.Unit == 0:
		return p.timescale(f[1], f[2])
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

// timescale parses a unit of IEEE 1364-2001 §18.2.3.6: 1, 10 or 100 of s to fs.
func (p *parser) timescale(number, unit string) error {
	n, known := map[string]uint64{"1": 1, "10": 10, "100": 100}[number]
	fs, ok := map[string]uint64{"fs": 1, "ps": 1e3, "ns": 1e6, "us": 1e9, "ms": 1e12, "s": 1e15}[unit]
	if !known || !ok {
		return errUnknown
	}
	p.d.Unit = n * fs
	return nil
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

// set records a value as it is in the dump.
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

// Clocks returns the dump of a device with hz clocks in a second. Its times are
// in clocks, and its clock, the variable clk, is removed. Clocks checks that clk
// rises at each clock and falls half a period later, within half a unit of the
// exact time, and that it is unknown while clocks are left out.
func (d *Dump) Clocks(clk string, hz uint64) (*Dump, error) {
	c := &Dump{Vars: maps.Clone(d.Vars)}
	delete(c.Vars, clk)
	half := big.NewRat(1e15, int64(2*hz))
	half.Quo(half, new(big.Rat).SetUint64(d.Unit))
	last := uint64(0) // edge
	for i, t := range d.Times {
		at := new(big.Rat).SetUint64(t)
		edge, exact := nearest(at, half)
		if !exact {
			return nil, fmt.Errorf("%w: the clock does not change at %d", ErrFormat, t)
		}
		level, changes := d.Changes[i][clk], maps.Clone(d.Changes[i])
		delete(changes, clk)
		end := i == len(d.Times)-1 && len(changes) == 0
		if err := clocked(level, edge, last, i == 0, end, len(changes)); err != nil {
			return nil, fmt.Errorf("%w: at %d: %w", ErrFormat, t, err)
		}
		last = edge
		if level == "1" || end && edge%2 == 0 {
			c.Times, c.Changes = append(c.Times, edge/2), append(c.Changes, changes)
		}
	}
	return c, nil
}

// nearest returns the multiple of half that is nearest to at, and whether at is
// that multiple rounded to an integer.
func nearest(at, half *big.Rat) (uint64, bool) {
	n := new(big.Rat).Quo(at, half)
	n.Add(n, big.NewRat(1, 2))
	edge := new(big.Int).Quo(n.Num(), n.Denom())
	off := new(big.Rat).Sub(at, new(big.Rat).Mul(new(big.Rat).SetInt(edge), half))
	return edge.Uint64(), off.Abs(off).Cmp(big.NewRat(1, 2)) <= 0
}

// clocked checks the clock at an edge. last is the previous edge.
func clocked(level string, edge, last uint64, first, end bool, others int) error {
	rises, follows := edge%2 == 0, edge == last+1
	switch {
	case level == "1" && rises && (first || follows || last%2 == 0):
	case level == "0" && !rises && follows && others == 0:
	case level == "x" && rises && follows && others == 0:
	case level == "" && end && rises:
	default:
		return fmt.Errorf("the clock becomes %q at edge %d, after edge %d, with %d other changes", level, edge, last, others)
	}
	return nil
}
