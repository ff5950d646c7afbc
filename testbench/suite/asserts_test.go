package suite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// arguments are the arguments of each function of testify before the message.
var arguments = map[string]int{
	"NoError": 2, "Nil": 2, "NotNil": 2, "Zero": 2, "True": 2, "False": 2, "Empty": 2, "NotEmpty": 2, "Fail": 1,
	"Equal": 3, "ErrorIs": 3, "EqualValues": 3, "Less": 3, "LessOrEqual": 3, "NotZero": 2, "Contains": 3, "InDelta": 4,
}

// A failure tells a driver's author the requirement in words: each check of a case
// has a message.
func TestChecksHaveMessages(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	checks := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if x, isName := operand(f).(*ast.Ident); ok && isName && (x.Name == "assert" || x.Name == "require") {
				checks++
				least, known := arguments[f.Sel.Name]
				require.True(t, known, "%s is not in the table", f.Sel.Name)
				assert.Greater(t, len(call.Args), least, "%v: %s.%s has no message", set.Position(call.Pos()), x.Name, f.Sel.Name)
			}
			return true
		})
	}
	assert.Greater(t, checks, 80)
}

// operand returns the operand of a selector, or nil.
func operand(f *ast.SelectorExpr) ast.Expr {
	if f == nil {
		return nil
	}
	return f.X
}

// Each case has a source of its requirement.
func TestCasesHaveSources(t *testing.T) {
	for _, c := range Cases() {
		assert.NotEmpty(t, c.Source, c.Name)
	}
}
