package verilog

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/hilgpu/hilgpu/rtl/verilog/analyzer"
	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// unseen are the cases that need what is computed while translating.
var unseen = map[string]bool{
	"a negative count":                               true, // the loop is not unrolled
	"a nap that is a register":                       true, // no assignment is followed
	"a queue that Reset puts back":                   true, // nor here
	"an instance of another type":                    true, // nor a conversion
	"a module with a queue put back behind its tick": true, // nor what a module has
}

// A report is what the analyzer says of a line.
type report struct {
	code, line string
}

// vet runs the analyzer on a package from its text and returns what it reports.
func vet(t *testing.T, text string) []report {
	t.Helper()
	l, f, pkg := snippetFile(t, text)
	return vetFile(t, l, f, pkg)
}

// vetFile runs the analyzer on a package of one file that l has loaded.
func vetFile(t *testing.T, l *loader, f *ast.File, pkg *types.Package) []report {
	t.Helper()
	var out []report
	analyzer.Check(&analysis.Pass{
		Analyzer: analyzer.Analyzer, Fset: l.fset, Files: []*ast.File{f}, Pkg: pkg, TypesInfo: l.info,
		Report: func(d analysis.Diagnostic) {
			out = append(out, report{d.Category, l.fail(d.Pos, "", "", "").Line})
			assert.Contains(t, d.Message, d.Category+": ")
			assert.Contains(t, d.Message, "; rewrite: ")
		},
		ImportObjectFact: func(types.Object, analysis.Fact) bool { return false },
		ExportObjectFact: func(types.Object, analysis.Fact) {},
	})
	return out
}

// TestVetSample holds the analyzer to say nothing of the samples, which
// TestSample translates.
func TestVetSample(t *testing.T) {
	const name = "testdata/sample/sample.go"
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	l, err := newLoader("../..")
	require.NoError(t, err)
	f, err := parser.ParseFile(l.fset, name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	l.lines[name] = bytes.Split(text, []byte("\n"))
	pkg, err := l.types(l.module+"/rtl/verilog/testdata/sample", []*ast.File{f})
	require.NoError(t, err)
	assert.Empty(t, vetFile(t, l, f, pkg))
}

// TestVet holds the analyzer to say of each rule's bad case what the translator
// says, first and in the same line, and nothing of the good one.
func TestVet(t *testing.T) {
	seen := map[subset.Code]bool{}
	for _, tt := range rules {
		t.Run(string(tt.code)+" "+tt.name, func(t *testing.T) {
			assert.Empty(t, vet(t, tt.good))
			found := vet(t, tt.bad)
			if unseen[tt.name] {
				assert.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			assert.Equal(t, string(tt.code), found[0].code)
			assert.Contains(t, found[0].line, "here")
			seen[tt.code] = true
		})
	}
	for _, tt := range rules {
		assert.True(t, seen[tt.code], "%s is never seen", tt.code)
	}
}
