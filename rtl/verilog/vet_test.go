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

// translatorOnly are the cases that need values computed during translation.
var translatorOnly = map[string]bool{
	"a negative count":                              true, // the analyzer does not unroll loops
	"a nap that is a register":                      true, // the analyzer does not follow assignments
	"a queue that Reset restores":                   true, // the analyzer does not follow assignments
	"a word of a ROM without a mask":                true, // the analyzer does not know the contents of a module
	"an instance of another type":                   true, // the analyzer does not follow conversions
	"a module with a queue restored after its tick": true, // the analyzer does not know the contents of a module
}

// A report is one report of the analyzer on a line.
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

// TestVetSample checks that the analyzer reports nothing for the samples, which
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

// TestVet checks that for each rule's bad case the analyzer's first report has
// the translator's code and line, and that it reports nothing for the good case.
func TestVet(t *testing.T) {
	seen := map[subset.Code]bool{}
	for _, tt := range rules {
		t.Run(string(tt.code)+" "+tt.name, func(t *testing.T) {
			assert.Empty(t, vet(t, tt.good))
			found := vet(t, tt.bad)
			if translatorOnly[tt.name] {
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
		assert.True(t, seen[tt.code], "%s is never reported", tt.code)
	}
}
