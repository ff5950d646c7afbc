package verilog

import (
	"errors"
	"fmt"
	"go/token"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// ErrSubset is wrapped by every Error.
var ErrSubset = errors.New("verilog: outside the subset")

// An Error is a refused construct.
type Error struct {
	Code    subset.Code
	Pos     token.Position // file relative to the module root
	Line    string         // the source line, tabs as one space each
	Reason  string         // what is wrong
	Rewrite string         // what to write instead
}

// Error returns the position, code and reason, the source line with a caret
// below the construct, and the rewrite.
func (e *Error) Error() string {
	caret := strings.Repeat(" ", max(e.Pos.Column-1, 0)) + "^"
	return fmt.Sprintf("%s: %s: %s\n\t%s\n\t%s\n\trewrite: %s", e.Pos, e.Code, e.Reason, e.Line, caret, e.Rewrite)
}

// Unwrap returns ErrSubset.
func (e *Error) Unwrap() error { return ErrSubset }
