package hostile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	itemRow   = regexp.MustCompile("(?m)^\\| V(\\d\\d) \\| .* \\| (`.*`) \\|$")
	itemTest  = regexp.MustCompile("`([a-z0-9/]+) (Test\\w+)(?:/(V\\d\\d))?`")
	itemsLine = regexp.MustCompile(`(?m)^docs/validator\.md: ((?:V\d\d(?:, )?)+)\.$`)
)

// TestDocs: docs/validator.md has each number once. Each test that it names exists, and carries its
// numbers in its comment, or in the names of its subtests. The first test of each number has the
// number in its name, and subtests of what is refused and of what is accepted.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "validator.md"))
	require.NoError(t, err)
	folders := map[string]map[string]*ast.FuncDecl{}
	named := map[string]bool{} // folder, test and number
	var numbers, want []string
	for _, row := range itemRow.FindAllStringSubmatch(string(page), -1) {
		number := "V" + row[1]
		numbers = append(numbers, number)
		for i, m := range itemTest.FindAllStringSubmatch(row[2], -1) {
			folder, name := m[1], m[2]
			if folders[folder] == nil {
				folders[folder] = tests(t, folder)
			}
			test := folders[folder][name]
			require.NotNil(t, test, "%s of %s", name, number)
			if m[3] == "" {
				named[strings.Join([]string{folder, name, number}, " ")] = true
			} else {
				assert.Equal(t, number, m[3])
			}
			if i == 0 {
				assert.True(t, name == "Test"+number || m[3] != "", "%s, the first test of %s, does not have it in its name", name, number)
				checkVerdicts(t, folders[folder], test, number)
			}
		}
	}
	assert.Equal(t, named, commented(folders), "the tests of the page, and the numbers in the comments of tests")
	for i := 1; i <= 30; i++ {
		if i != 23 {
			want = append(want, fmt.Sprintf("V%02d", i))
		}
	}
	assert.Equal(t, want, numbers)
}

// commented returns the tests with numbers in their comments: the folder, the test and a number
// of each.
func commented(folders map[string]map[string]*ast.FuncDecl) map[string]bool {
	have := map[string]bool{}
	for folder, all := range folders {
		for name, test := range all {
			for _, line := range itemsLine.FindAllStringSubmatch(test.Doc.Text(), -1) {
				for _, number := range strings.Split(line[1], ", ") {
					have[strings.Join([]string{folder, name, number}, " ")] = true
				}
			}
		}
	}
	return have
}

// checkVerdicts checks the names of the subtests of a test. In TestV05 they begin with refused and
// accepted. In another test they begin with V05/refused and V05/accepted. TestChecklist makes such
// names of the numbers in its tables.
func checkVerdicts(t *testing.T, all map[string]*ast.FuncDecl, test *ast.FuncDecl, number string) {
	prefix := number + "/"
	switch test.Name.Name {
	case "Test" + number:
		prefix = ""
	case "TestChecklist":
		prefix = "V%02d/"
		assert.True(t, tabled(all, number), "%s in the tables of TestChecklist", number)
	}
	for _, verdict := range []string{"refused", "accepted"} {
		assert.Regexp(t, `(?m)^`+prefix+verdict+`\b`, subtests(t, test), "%s of %s", test.Name.Name, number)
	}
}

// tabled reports whether a table of a package has an item: its number, and two lists of rules that
// are not empty.
func tabled(all map[string]*ast.FuncDecl, number string) (found bool) {
	rules := func(e ast.Expr) bool {
		l, ok := e.(*ast.CompositeLit)
		return ok && len(l.Elts) > 0
	}
	for _, f := range all {
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok && len(l.Elts) == 3 && rules(l.Elts[1]) && rules(l.Elts[2]) {
				v, ok := l.Elts[0].(*ast.BasicLit)
				found = found || ok && v.Value == strings.TrimLeft(number, "V0")
			}
			return true
		})
	}
	return found
}

// subtests returns the strings in the names of a test's subtests, one in each line.
func subtests(t *testing.T, test *ast.FuncDecl) string {
	var names strings.Builder
	literal := func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			s, err := strconv.Unquote(l.Value)
			require.NoError(t, err)
			names.WriteString(s + "\n")
		}
		return true
	}
	ast.Inspect(test, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 2 {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" {
				ast.Inspect(call.Args[0], literal)
			}
		}
		return true
	})
	return names.String()
}

// tests returns the tests of a package, by name.
func tests(t *testing.T, folder string) map[string]*ast.FuncDecl {
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	require.NoError(t, err)
	all := map[string]*ast.FuncDecl{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				all[f.Name.Name] = f
			}
		}
	}
	return all
}
