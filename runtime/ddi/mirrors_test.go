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

// A mirror is a structure in testdata/wdk.txt.
type mirror struct {
	wdk      string
	fields   []string // of the Go structure, in order
	members  []string // of the WDK's, in order
	mirrored []string // fields that mirror members, in the order of those
	own      []string // fields that mirror none
	order    bool     // the table says that the two orders differ
}

// parseTable reads the table, whose format is told at its beginning. It returns
// the mirrors and the structures that mirror none, both by name.
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
		require.True(t, !left0 || strings.TrimSpace(why) != "", "no reason: %s", line)
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

// structs returns the fields of every structure of a package, by its name.
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

// fieldNames returns those of a structure, an embedded type by its name.
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

// check returns what is wrong with a mirror of a structure with these fields.
func (m *mirror) check(fields []string) (wrong []string) {
	say := func(text string, ok bool) {
		if !ok {
			wrong = append(wrong, text)
		}
	}
	say("the fields are "+strings.Join(fields, " ")+", and in the table "+strings.Join(m.fields, " "), slices.Equal(m.fields, fields))
	for _, f := range m.fields {
		mirrored, own := slices.Contains(m.mirrored, f), slices.Contains(m.own, f)
		say(f+" mirrors no member, and the table does not say why", mirrored || own)
		say(f+" is a member and is none", !mirrored || !own)
	}
	for _, f := range slices.Concat(m.mirrored, m.own) {
		say("there is no field "+f, slices.Contains(m.fields, f))
	}
	sorted := slices.Sorted(slices.Values(m.members))
	say("a member is there twice", len(slices.Compact(sorted)) == len(m.members))
	inOrder := slices.DeleteFunc(slices.Clone(m.fields), func(f string) bool { return slices.Contains(m.own, f) })
	say("the order of the fields is not as the table says", slices.Equal(inOrder, m.mirrored) != m.order)
	return wrong
}

// Every structure of the DDI mirrors one of the WDK as testdata/wdk.txt says,
// member by member, or is there as one that mirrors none.
func TestMirrors(t *testing.T) {
	text, err := os.ReadFile("testdata/wdk.txt")
	require.NoError(t, err)
	mirrors, own := parseTable(t, string(text))
	seen := map[string]bool{}
	for _, pkg := range []string{"umddi", "kmddi", "kmt", "dxgi"} {
		for name, fields := range structs(t, pkg) {
			seen[name] = true
			m := mirrors[name]
			assert.True(t, (m != nil) != own[name], "%s has no row in testdata/wdk.txt, or two", name)
			if m != nil {
				assert.Empty(t, m.check(fields), "%s, which mirrors %s", name, m.wdk)
			}
		}
	}
	for name := range mirrors {
		assert.True(t, seen[name], "there is no structure %s", name)
	}
	for name := range own {
		assert.True(t, seen[name], "there is no structure %s", name)
	}
	assert.Greater(t, len(mirrors), 50)
}

// A field that comes, goes or moves without the table is found, and so is a
// reason that is missing.
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
		"go A B C":     "go B A C",               // an order that the table does not tell
		"+ C : ours":   "",                       // a field without a member
		"c = B":        "a = B",                  // a member twice
		"b b2 : why":   "b b2 : why\n order : x", // an order that is the same
		"a = A":        "a = X",                  // no such field
		"WDK_S, wdk.h": "WDK_S, wdk.h\n d = C",   // a member, and ours
	} {
		mirrors, _ := parseTable(t, strings.Replace(table, old, bad, 1))
		assert.NotEmpty(t, mirrors["p.S"].check(mirrors["p.S"].fields), bad)
	}
}
