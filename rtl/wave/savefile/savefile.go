// Package savefile writes save files for viewers of waves: they show the signals that matter
// of a dump of package wave, in groups, with names for the values of numbers that are codes.
// States and kinds of request are texts in a dump and need no names.
package savefile

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// A File is a file of a folder. Name is its path in the folder, separated by slashes.
type File struct {
	Name string
	Data []byte
}

// name is the name of the file that a viewer opens, without the suffix.
const name = "hilgpu"

// A view is how the values of a signal are shown.
type view uint8

const (
	bits    view = iota // one bit, or a text
	hex                 // a number, hexadecimal
	decimal             // a number, decimal
	coded               // a number whose values have names
)

// A shown is a signal with its view. codes is nil if it is not coded.
type shown struct {
	hdl.Signal
	view  view
	codes *codes
}

// A section is a group of signals. Its title is one word.
type section struct {
	title   string
	signals []shown
}

// sections returns all groups with the signals that wave declares. It panics if a group has a
// signal or a view that does not exist.
func sections() []section {
	signals := map[string]hdl.Signal{}
	for _, s := range wave.Signals() {
		signals[s.Name] = s
	}
	views := allCodes()
	var all []section
	for _, g := range groups() {
		next := section{title: g.title}
		for _, n := range g.names {
			local, kind, _ := strings.Cut(n, "/")
			s, ok := signals[g.at+local]
			if !ok {
				panic(fmt.Sprintf("savefile: %s: no signal %s", g.title, g.at+local))
			}
			next.signals = append(next.signals, showing(s, kind, views))
		}
		all = append(all, next)
	}
	return all
}

// showing returns a signal with the view of a kind: "" for the usual one, "dec", or the name of
// codes.
func showing(s hdl.Signal, kind string, all []codes) shown {
	switch {
	case kind == "dec":
		return shown{s, decimal, nil}
	case kind != "":
		for i, c := range all {
			if c.name == kind && c.width == s.Width {
				return shown{s, coded, &all[i]}
			}
		}
		panic(fmt.Sprintf("savefile: %s: no codes %s of %d bits", s.Name, kind, s.Width))
	case s.Names != nil || s.Width == 1:
		return shown{s, bits, nil}
	}
	return shown{s, hex, nil}
}
