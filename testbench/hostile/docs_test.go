package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDocs: docs/validator.md has each number once. Each test that it names exists, and carries its
// numbers in its comment, or in the names of its subtests.
func TestDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "validator.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| V(\\d\\d) \\| .* \\| (`.*`) \\|$")
	one := regexp.MustCompile("`([a-z0-9/]+) (Test\\w+)(?:/(V\\d\\d))?`")
	carried := regexp.MustCompile(`(?m)^// docs/validator\.md: ((?:V\d\d(?:, )?)+)\.\nfunc (Test\w+)\(`)
	folders, named := map[string]bool{}, map[string]bool{} // named: folder, test and number
	var numbers []string
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		numbers = append(numbers, r[1])
		for _, name := range one.FindAllStringSubmatch(r[2], -1) {
			source := sources(t, filepath.Join(root, name[1]))
			assert.Contains(t, source, "func "+name[2]+"(t *testing.T)", "V%s", r[1])
			folders[name[1]] = true
			if name[3] == "" {
				named[strings.Join([]string{name[1], name[2], "V" + r[1]}, " ")] = true
			} else {
				assert.Equal(t, "V"+r[1], name[3])
				item := "{" + strings.TrimPrefix(r[1], "0") + ", []rule{"
				assert.Contains(t, source, item, "%s of %s", name[3], name[2])
			}
		}
	}
	have := map[string]bool{}
	for folder := range folders {
		for _, c := range carried.FindAllStringSubmatch(sources(t, filepath.Join(root, folder)), -1) {
			for _, number := range strings.Split(c[1], ", ") {
				have[strings.Join([]string{folder, c[2], number}, " ")] = true
			}
		}
	}
	assert.Equal(t, named, have, "the tests of the page, and the numbers in the comments of tests")
	var want []string
	for i := 1; i <= 30; i++ {
		if i != 23 {
			want = append(want, fmt.Sprintf("%02d", i))
		}
	}
	assert.Equal(t, want, numbers)
}

// sources returns the test files of a folder, joined.
func sources(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		all.Write(b)
	}
	return all.String()
}
