package kernelmutant

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// selected is the variable of the environment that selects a mistake in a binary of many.
const selected = "HILGPU_KERNEL_MUTANT"

// selection is the file that [switchable] adds to the kernel. Number 0 is no mistake.
const selection = `package dxgkrnl

import (
	"os"
	"strconv"
)

var selectedMutant, _ = strconv.Atoi(os.Getenv("` + selected + `"))
`

// inBody returns the function whose body has a mutant, or nil if it needs its own build:
// a constant of the package cannot be selected while the tests run.
func (s *Source) inBody(m *Mutant) *ast.FuncDecl {
	for _, d := range s.files[m.File].Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && s.offset(fn.Body.Lbrace) < m.start && m.end <= s.offset(fn.Body.Rbrace) {
			return fn
		}
	}
	return nil
}

// switchable returns the source of the kernel with many mutants, by the names of the
// files. A function with mutants has a body for each of them and its own one, and its
// first statement selects the body by the number of the mutant: its index plus 1.
func (s *Source) switchable(all []*Mutant) map[string][]byte {
	bodies := map[*ast.FuncDecl]*strings.Builder{}
	for i, m := range all {
		fn := s.inBody(m)
		if fn == nil {
			continue
		}
		if bodies[fn] == nil {
			bodies[fn] = &strings.Builder{}
		}
		src := s.texts[m.File]
		fmt.Fprintf(bodies[fn], "case %d:%s%s%s\n", i+1, src[s.offset(fn.Body.Lbrace)+1:m.start], m.New, src[m.end:s.offset(fn.Body.Rbrace)])
	}
	out := map[string][]byte{s.path("selectedmutant.go"): []byte(selection)}
	for name, src := range s.texts {
		for _, d := range slices.Backward(s.files[name].Decls) {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || bodies[fn] == nil {
				continue
			}
			from, to := s.offset(fn.Body.Lbrace)+1, s.offset(fn.Body.Rbrace)
			text := fmt.Sprintf("switch selectedMutant {\n%sdefault:%s\n}", bodies[fn], src[from:to])
			src = slices.Concat(src[:from], []byte(text), src[to:])
		}
		out[s.path(name)] = src
	}
	return out
}
