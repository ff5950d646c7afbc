// Package kernelmutant plants mistakes into the source of package dxgkrnl, to measure
// which of them the tests notice. A mutant changes one place in a file of the scheduler,
// of the memory manager or of the recovery.
//
// [Load] reads the package, [Source.Pick] draws mutants, and [Bench.Judge] runs the tests
// on one. The checkout is never changed: the go command reads the changed file through an
// overlay.
package kernelmutant

import (
	"fmt"
	"path"
	"strings"
)

// Folder is the folder of the package that is changed, from the root of the module.
const Folder = "runtime/dxgkrnl"

// A part of the kernel, and its files.
type part struct {
	name  string
	files []string
}

// parts are the parts of the kernel that get mutants. The other files have the thunks,
// the callbacks, and the calls that answer questions.
var parts = []part{
	{"scheduler", []string{"gate", "idle", "job", "line", "lock", "pick", "preempt", "vidsch", "visit", "wait", "work"}},
	{"VidMm", []string{"allocation", "aperture", "budget", "content", "lent", "make", "move", "offer", "paging", "residency", "segment", "victim"}},
	{"recovery", []string{"bugcheck", "dump", "interrupt", "recover", "reset", "timeout"}},
}

// An Operator is a kind of mistake.
type Operator string

// The operators.
const (
	Negated  Operator = "negated condition"
	Dropped  Operator = "dropped statement"
	Junction Operator = "&& for ||"
	Moved    Operator = "moved comparison"
	Constant Operator = "constant by 1"
	Sign     Operator = "- for +"
	Case     Operator = "dropped case"
	Return   Operator = "dropped early exit"
	Swapped  Operator = "swapped arguments"
)

// A Mutant is one mistake.
type Mutant struct {
	File     string // its base name
	Line     int    // from 1
	Function string // that has the mistake, or "" outside of functions
	Source   string // the line, without the space around it
	Operator Operator
	Old, New string // the text that is replaced, and the replacement

	start, end int // of Old in the file, in bytes
}

// String describes the mistake in a line.
func (m *Mutant) String() string {
	at := fmt.Sprintf("%s:%d: %s: %s", path.Join(Folder, m.File), m.Line, m.Operator, m.Change())
	if strings.Contains(short(m.Old), short(m.Source)) {
		return at
	}
	return at + " in " + short(m.Source)
}

// Change describes the change without its place: long text is shortened in the middle.
func (m *Mutant) Change() string {
	if m.New == "" {
		return "without " + short(m.Old)
	}
	return short(m.Old) + " becomes " + short(m.New)
}

// maxText is the largest length of a text in a description, in bytes.
const maxText = 160

// short returns text in one line of at most about maxText bytes.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxText {
		return text
	}
	return text[:maxText/2] + " … " + text[len(text)-maxText/2:]
}

// apply returns the source of the file with the mistake.
func (m *Mutant) apply(src []byte) []byte {
	return append(append(append([]byte{}, src[:m.start]...), m.New...), src[m.end:]...)
}
