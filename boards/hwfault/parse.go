package hwfault

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// ErrFault is returned, wrapped with what is legal, for a text that names no
// fault.
var ErrFault = errors.New("hwfault: bad fault")

// A Kind is a kind of fault.
type Kind uint8

// The kinds.
const (
	StuckAddress  Kind = iota + 1 // an address line of VRAM has one level
	ShortAddress                  // two address lines of VRAM have one level
	DeadLane                      // a byte lane of VRAM keeps nothing and reads as 0xff
	StuckEnable                   // a byte lane of VRAM is written by every write
	StuckData                     // a data line of VRAM has one level
	ShortData                     // two data lines of VRAM have one level
	BitFlip                       // words written to VRAM lose a bit at random
	StuckRegister                 // a data line of register reads has one level
)

// A Fault is one fault.
type Fault struct {
	Kind  Kind
	Line  int     // address line, lane or data line
	Other int     // the line that Line is shorted with
	High  bool    // the level of a stuck line, or of two shorted ones that are driven apart
	Rate  float64 // of bit flips, per word written, 0 to 1
	Seed  uint64  // of bit flips
}

// Limits of the lines. A word of VRAM has 8 bytes, so its lowest address line
// is A3.
const (
	minAddress = 3
	lanes      = 8
	dataLines  = 64
	regLines   = 32
)

// A Form is how a fault is written, and what it does.
type Form struct {
	Name string // what stands before the colon
	Text string // the whole, parameters in angle brackets
	Doc  string
	kind Kind
}

// Forms returns the forms of all faults, in an order that does not change.
func Forms() []Form {
	return []Form{
		{"stuck-address", "stuck-address:A<n>=<0|1>", "address line n of VRAM, from A3 on, has one level", StuckAddress},
		{"short-address", "short-address:A<n>-A<m>[=<0|1>]", "two address lines of VRAM have one level, 0 if driven apart, or 1", ShortAddress},
		{"dead-lane", "dead-lane:<n>", "byte lane n of VRAM, 0 to 7, keeps nothing and reads as 0xff", DeadLane},
		{"stuck-enable", "stuck-enable:<n>", "byte lane n of VRAM, 0 to 7, is written by every write of its word", StuckEnable},
		{"stuck-data", "stuck-data:D<n>=<0|1>", "data line n of VRAM, D0 to D63, has one level", StuckData},
		{"short-data", "short-data:D<n>-D<m>[=<0|1>]", "two data lines of VRAM, D0 to D63, have one level, 0 if driven apart, or 1", ShortData},
		{"bit-flip", "bit-flip:<rate>[@<seed>]", "a word written to VRAM loses a random bit, at a rate from 0 to 1", BitFlip},
		{"stuck-register", "stuck-register:D<n>=<0|1>", "data line n of register reads, D0 to D31, has one level", StuckRegister},
	}
}

// An Error is that of a text that names no fault. It wraps ErrFault.
type Error struct {
	Text  string
	Known bool   // the name before the colon is that of a Form
	Want  string // what is legal
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%v: %q, want %s", ErrFault, e.Text, e.Want) }

// Unwrap returns ErrFault.
func (e *Error) Unwrap() error { return ErrFault }

// Parse returns the fault that text names, for a VRAM of the given size in bytes, a
// power of two. It fails with *Error.
func Parse(text string, vramBytes uint64) (Fault, error) {
	name, arg, _ := strings.Cut(text, ":")
	i := slices.IndexFunc(Forms(), func(f Form) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, &Error{Text: text, Want: "one of " + texts()}
	}
	form := Forms()[i]
	top := bits.Len64(vramBytes) - 2
	f := Fault{Kind: form.kind}
	ok, limits := false, ""
	switch f.Kind {
	case StuckAddress:
		ok = level(&arg, &f.High) && number(arg, "A", minAddress, top, &f.Line)
		limits = fmt.Sprintf("n from %d to %d", minAddress, top)
	case ShortAddress:
		ok = pair(arg, "A", minAddress, top, &f)
		limits = fmt.Sprintf("n and m from %d to %d, not the same", minAddress, top)
	case DeadLane, StuckEnable:
		ok = number(arg, "", 0, lanes-1, &f.Line)
		limits = fmt.Sprintf("n from 0 to %d", lanes-1)
	case StuckData:
		ok = level(&arg, &f.High) && number(arg, "D", 0, dataLines-1, &f.Line)
		limits = fmt.Sprintf("n from 0 to %d", dataLines-1)
	case ShortData:
		ok = pair(arg, "D", 0, dataLines-1, &f)
		limits = fmt.Sprintf("n and m from 0 to %d, not the same", dataLines-1)
	case StuckRegister:
		ok = level(&arg, &f.High) && number(arg, "D", 0, regLines-1, &f.Line)
		limits = fmt.Sprintf("n from 0 to %d", regLines-1)
	case BitFlip:
		ok = rate(arg, &f)
		limits = "the rate from 0 to 1"
	}
	if !ok {
		return Fault{}, &Error{Text: text, Known: true, Want: form.Text + ", " + limits}
	}
	return f, nil
}

func texts() string {
	var all []string
	for _, f := range Forms() {
		all = append(all, f.Text)
	}
	return strings.Join(all, ", ")
}

// level cuts "=0" or "=1" off the end of text.
func level(text *string, high *bool) bool {
	rest, at, ok := strings.Cut(*text, "=")
	*text, *high = rest, at == "1"
	return ok && (at == "0" || at == "1")
}

// number reads a decimal number from lo to hi behind a prefix.
func number(text, prefix string, lo, hi int, v *int) bool {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.ParseUint(digits, 10, 16)
	*v = int(n)
	return ok && err == nil && *v >= lo && *v <= hi
}

// pair reads two different numbers from lo to hi behind a prefix each, and the
// level that they may have.
func pair(text, prefix string, lo, hi int, f *Fault) bool {
	a, b, two := strings.Cut(text, "-")
	if strings.Contains(b, "=") && !level(&b, &f.High) {
		return false
	}
	return two && number(a, prefix, lo, hi, &f.Line) && number(b, prefix, lo, hi, &f.Other) && f.Line != f.Other
}

func rate(text string, f *Fault) bool {
	r, seed, seeded := strings.Cut(text, "@")
	var err, serr error
	f.Rate, err = strconv.ParseFloat(r, 64)
	if seeded {
		f.Seed, serr = strconv.ParseUint(seed, 10, 64)
	}
	return err == nil && serr == nil && f.Rate >= 0 && f.Rate <= 1
}
