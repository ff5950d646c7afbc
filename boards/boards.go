// Package boards opens the device that a selector names, so that nothing above
// knows what kind it is.
//
// A selector is written like a URL: a scheme, and options after a question mark.
//
//	emu
//	emu?nodes=1&vram=8KiB&latency=64
//	verilated?config=small
//
// Help lists the schemes and their options.
package boards

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/hilgpu/hilgpu/bus"
)

// ErrSelector is returned, wrapped with the part that is wrong and what is
// known instead, for a selector that names no board.
var ErrSelector = errors.New("boards: bad selector")

// A Counter is one number that a board keeps of itself.
type Counter struct {
	Name  string // lower case, words joined by underscores
	Value uint64
}

// Counters is implemented by links of boards that count what they do. The
// counters are in an order that does not change. Counters may be called at any
// time, also after Close.
type Counters interface {
	Counters() []Counter
}

// A scheme is one kind of board.
type scheme struct {
	name    string
	doc     string
	options []option
	open    func(values url.Values, host bus.Host) (bus.Link, bus.Clock, error)
}

// An option is one that a scheme takes.
type option struct {
	name, doc string
	values    []option // those that have a line of their own in Help
}

func schemes() []scheme { return []scheme{emulator(), verilator()} }

// Schemes returns the names of the schemes.
func Schemes() []string {
	var names []string
	for _, s := range schemes() {
		names = append(names, s.name)
	}
	return names
}

// Help returns a description of every scheme and option, and of every fault
// that can be planted, a line each.
func Help() string {
	var b strings.Builder
	for _, s := range schemes() {
		fmt.Fprintf(&b, "%-12s %s\n", s.name, s.doc)
		for _, o := range s.options {
			fmt.Fprintf(&b, "  %-10s %s\n", o.name, o.doc)
			for _, v := range o.values {
				fmt.Fprintf(&b, "    %-24s %s\n", v.name, v.doc)
			}
		}
	}
	return b.String()
}

// Open connects host to the board that selector names. It fails with
// ErrSelector, or with an error of the connection. The link may implement
// Counters.
func Open(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
	name, query, _ := strings.Cut(selector, "?")
	for _, s := range schemes() {
		if s.name != name {
			continue
		}
		values, err := s.parse(query)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
		}
		link, clock, err := s.open(values, host)
		if errors.Is(err, errOption) {
			err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
		}
		return link, clock, err
	}
	return nil, nil, fmt.Errorf("%w: %q: unknown scheme %q, want one of %s", ErrSelector, selector, name, strings.Join(Schemes(), ", "))
}

// errOption marks errors of an option's value.
var errOption = errors.New("bad option")

// parse splits the query; each option is known and given once.
func (s scheme) parse(query string) (url.Values, error) {
	values := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("%w: %q has no value", errOption, part)
		}
		if !s.takes(name) {
			return nil, fmt.Errorf("%w: unknown %q, want one of %s", errOption, name, s.names())
		}
		if values.Has(name) {
			return nil, fmt.Errorf("%w: %q is given twice", errOption, name)
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errOption, part, err)
		}
		values.Set(name, value)
	}
	return values, nil
}

func (s scheme) takes(name string) bool {
	for _, o := range s.options {
		if o.name == name {
			return true
		}
	}
	return false
}

func (s scheme) names() string {
	var names []string
	for _, o := range s.options {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}
