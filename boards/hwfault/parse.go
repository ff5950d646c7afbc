package hwfault

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// ErrFault is returned, wrapped with the valid choices, for a text that names
// no fault.
var ErrFault = errors.New("hwfault: bad fault")

// A Kind is a kind of injected fault.
type Kind uint8

// The kinds.
const (
	StuckAddress  Kind = iota + 1 // an address line of VRAM is stuck at one level
	ShortAddress                  // two address lines of VRAM are shorted
	DeadLane                      // a byte lane of VRAM stores nothing and reads as 0xff
	StuckEnable                   // a byte lane of VRAM is written by every write
	StuckData                     // a data line of VRAM is stuck at one level
	ShortData                     // two data lines of VRAM are shorted
	BitFlip                       // words written to VRAM lose random bits
	StuckRegister                 // a data line of register reads is stuck at one level
	StuckMCU                      // a bit of the memory of the microcontroller is stuck at one level
)

// A Fault is one injected fault.
type Fault struct {
	Kind  Kind
	Line  int     // address line, lane or data line
	Word  int     // of the memory of the microcontroller
	Other int     // line shorted with Line
	High  bool    // level of a stuck line, or of two shorted lines driven apart
	Rate  float64 // fraction of written words with a bit flip, 0 to 1
	Seed  uint64  // seed of bit flips
}

// Limits of the lines. A word of VRAM has 8 bytes, so its lowest address line
// is A3.
const (
	minAddress = 3
	lanes      = 8
	dataLines  = 64
	regLines   = 32
)

// A Form is the text form of a fault and its effect.
type Form struct {
	Name string // the part before the colon
	Text string // complete text, with parameters in angle brackets
	Doc  string
	kind Kind
}

// Forms returns the forms of all faults, in a fixed order.
func Forms() []Form {
	return []Form{
		{"stuck-address", "stuck-address:A<n>=<0|1>", "address line n of VRAM, from A3 on, is stuck at one level", StuckAddress},
		{"short-address", "short-address:A<n>-A<m>[=<0|1>]", "two address lines of VRAM are shorted; driven apart they are 0, or 1 with =1", ShortAddress},
		{"dead-lane", "dead-lane:<n>", "byte lane n of VRAM, 0 to 7, stores nothing and reads as 0xff", DeadLane},
		{"stuck-enable", "stuck-enable:<n>", "byte lane n of VRAM, 0 to 7, is written by every write of its word", StuckEnable},
		{"stuck-data", "stuck-data:D<n>=<0|1>", "data line n of VRAM, D0 to D63, is stuck at one level", StuckData},
		{"short-data", "short-data:D<n>-D<m>[=<0|1>]", "two data lines of VRAM, D0 to D63, are shorted; driven apart they are 0, or 1 with =1", ShortData},
		{"bit-flip", "bit-flip:<rate>[@<seed>]", "a word written to VRAM loses a random bit, at a rate from 0 to 1", BitFlip},
		{"stuck-register", "stuck-register:D<n>=<0|1>", "data line n of register reads, D0 to D31, is stuck at one level", StuckRegister},
		{"stuck-mcu", "stuck-mcu:W<n>.D<m>=<0|1>", "bit m of word n of the memory of the microcontroller is stuck at one level", StuckMCU},
	}
}

// An Error describes a text that names no fault. It wraps ErrFault.
type Error struct {
	Text  string
	Known bool   // the name before the colon is that of a Form
	Want  string // valid choices
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%v: %q, want %s", ErrFault, e.Text, e.Want) }

// Unwrap returns ErrFault.
func (e *Error) Unwrap() error { return ErrFault }

// Parse returns the fault that text names, for a VRAM and a memory of the microcontroller of the given
// sizes in bytes. That of VRAM is a power of two; 0: no microcontroller. It fails with *Error.
func Parse(text string, vramBytes uint64, mcuBytes int) (Fault, error) {
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
	case StuckMCU:
		word, bit, two := strings.Cut(arg, ".")
		ok = level(&bit, &f.High) && two && number(word, "W", 0, mcuBytes/4-1, &f.Word) && number(bit, "D", 0, regLines-1, &f.Line)
		limits = fmt.Sprintf("n from 0 to %d, m from 0 to %d", mcuBytes/4-1, regLines-1)
		if mcuBytes == 0 {
			limits = "and a microcontroller"
		}
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

// number parses a prefix followed by a decimal number from lo to hi.
func number(text, prefix string, lo, hi int, v *int) bool {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.ParseUint(digits, 10, 16)
	*v = int(n)
	return ok && err == nil && *v >= lo && *v <= hi
}

// pair parses two different numbers from lo to hi, each after a prefix, and the
// optional level.
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
