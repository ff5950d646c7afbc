package ddi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mirror is a structure described in testdata/wdk.txt.
type mirror struct {
	wdk      string
	fields   []string // fields of the Go structure, in order
	members  []string // members of the WDK structure, in order
	mirrored []string // fields that mirror members, in the order of the members
	own      []string // fields that mirror no member
	order    bool     // the table states that the two orders differ
}

// parseTable reads the table, whose format is described at its top. It returns the mirrors
// and the structures that mirror none, both by name.
func parseTable(t *testing.T, text string) (mirrors map[string]*mirror, own map[string]bool) {
	mirrors, own = map[string]*mirror{}, map[string]bool{}
	var m *mirror
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		left, why, left0 := strings.Cut(line, " : ")
		require.True(t, !left0 || strings.TrimSpace(why) != "", "missing reason: %s", line)
		switch {
		case words[0] == "struct":
			name, wdk, ok := strings.Cut(line[len("struct "):], " = ")
			require.True(t, ok && mirrors[name] == nil && strings.Contains(wdk, ", "), line)
			m = &mirror{wdk: wdk}
			mirrors[name] = m
		case words[0] == "own":
			require.True(t, left0 && !own[words[1]], line)
			own[words[1]] = true
		case words[0] == "go":
			m.fields = words[1:]
		case words[0] == "order":
			m.order = left0
		case words[0] == "+":
			require.True(t, left0, line)
			m.own = append(m.own, strings.Fields(left)[1:]...)
		case left0:
			m.members = append(m.members, strings.Fields(left)...)
		default:
			require.True(t, len(words) > 2 && words[1] == "=", line)
			m.members = append(m.members, words[0])
			for _, f := range words[2:] {
				if !slices.Contains(m.mirrored, f) {
					m.mirrored = append(m.mirrored, f)
				}
			}
		}
	}
	return mirrors, own
}

// structs returns the fields of every structure in a package, by name of the structure.
func structs(t *testing.T, pkg string) map[string][]string {
	all := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
				all[pkg+"."+spec.Name.Name] = fieldNames(s)
			}
			return false
		})
	}
	return all
}

// fieldNames returns the names of a structure's fields; an embedded field has its type's name.
func fieldNames(s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
		if len(f.Names) == 0 {
			x := f.Type
			if star, ok := x.(*ast.StarExpr); ok {
				x = star.X
			}
			names = append(names, x.(*ast.SelectorExpr).Sel.Name)
		}
	}
	return names
}

// check returns the errors in a mirror of a structure with the given fields.
func (m *mirror) check(fields []string) (wrong []string) {
	check := func(text string, ok bool) {
		if !ok {
			wrong = append(wrong, text)
		}
	}
	check("the fields are "+strings.Join(fields, " ")+", the table has "+strings.Join(m.fields, " "), slices.Equal(m.fields, fields))
	for _, f := range m.fields {
		mirrored, own := slices.Contains(m.mirrored, f), slices.Contains(m.own, f)
		check(f+" mirrors no member and has no reason in the table", mirrored || own)
		check(f+" mirrors a member and is also listed as an own field", !mirrored || !own)
	}
	for _, f := range slices.Concat(m.mirrored, m.own) {
		check("the table names a missing field "+f, slices.Contains(m.fields, f))
	}
	sorted := slices.Sorted(slices.Values(m.members))
	check("the table lists a member twice", len(slices.Compact(sorted)) == len(m.members))
	inOrder := slices.DeleteFunc(slices.Clone(m.fields), func(f string) bool { return slices.Contains(m.own, f) })
	check("the order of the fields differs from the table", slices.Equal(inOrder, m.mirrored) != m.order)
	return wrong
}

// Each structure of the DDI mirrors a structure of the WDK, member by member, as
// testdata/wdk.txt describes, or is listed there as one that mirrors none.
func TestMirrors(t *testing.T) {
	text, err := os.ReadFile("testdata/wdk.txt")
	require.NoError(t, err)
	mirrors, own := parseTable(t, string(text))
	seen := map[string]bool{}
	for _, pkg := range []string{"umddi", "kmddi", "kmt", "dxgi"} {
		for name, fields := range structs(t, pkg) {
			seen[name] = true
			m := mirrors[name]
			assert.True(t, (m != nil) != own[name], "%s must have exactly one row in testdata/wdk.txt", name)
			if m != nil {
				assert.Empty(t, m.check(fields), "%s, which mirrors %s", name, m.wdk)
			}
		}
	}
	for name := range mirrors {
		assert.True(t, seen[name], "the table names a missing structure %s", name)
	}
	for name := range own {
		assert.True(t, seen[name], "the table names a missing structure %s", name)
	}
	assert.Greater(t, len(mirrors), 50)
}

// An added, removed or moved field that the table does not reflect is detected, and so is a
// missing reason.
func TestMirrorsFindChanges(t *testing.T) {
	const table = `
		struct p.S = WDK_S, wdk.h
		go A B C
		a = A
		b b2 : why
		c = B
		+ C : ours`
	mirrors, _ := parseTable(t, table)
	m := mirrors["p.S"]
	assert.Equal(t, []string{"a", "b", "b2", "c"}, m.members)
	for _, tt := range []struct {
		fields []string
		wrong  bool
	}{
		{[]string{"A", "B", "C"}, false}, {[]string{"A", "B"}, true}, {[]string{"A", "B", "C", "D"}, true}, {[]string{"B", "A", "C"}, true},
	} {
		assert.Equal(t, tt.wrong, len(m.check(tt.fields)) > 0, "%v", tt.fields)
	}
	for old, bad := range map[string]string{
		"go A B C":     "go B A C",               // an order that the table does not declare
		"+ C : ours":   "",                       // a field without a member
		"c = B":        "a = B",                  // a member twice
		"b b2 : why":   "b b2 : why\n order : x", // an order reason for equal orders
		"a = A":        "a = X",                  // no such field
		"WDK_S, wdk.h": "WDK_S, wdk.h\n d = C",   // a member and an own field
	} {
		mirrors, _ := parseTable(t, strings.Replace(table, old, bad, 1))
		assert.NotEmpty(t, mirrors["p.S"].check(mirrors["p.S"].fields), bad)
	}
}
