package cpreg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// TestCauses compares the names and descriptions with the constants and their
// comments in the source.
func TestCauses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "cpreg.go", nil, parser.ParseComments)
	require.NoError(t, err)
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Cause") || spec.Comment == nil {
			return true
		}
		i, err := strconv.Atoi(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		name := strings.TrimPrefix(spec.Names[0].Name, "Cause")
		assert.Equal(t, strings.ToUpper(name), strings.ReplaceAll(cpreg.Causes[i], "_", ""))
		assert.Equal(t, strings.TrimSpace(spec.Comment.Text()), cpreg.CauseDocs[i])
		seen++
		return true
	})
	assert.Equal(t, seen, len(cpreg.Causes))
	assert.Equal(t, seen, len(cpreg.CauseDocs))
	assert.LessOrEqual(t, seen-1, cpreg.FaultCause)
}
