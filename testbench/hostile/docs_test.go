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

// TestDocs: docs/validator.md has each number once, and each test that it names exists.
func TestDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "validator.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| V(\\d\\d) \\| .* \\| (`.*`) \\|$")
	one := regexp.MustCompile("`([a-z0-9/]+) (Test\\w+)(?:/(V\\d\\d))?`")
	var numbers []string
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		numbers = append(numbers, r[1])
		for _, name := range one.FindAllStringSubmatch(r[2], -1) {
			source := sources(t, filepath.Join(root, name[1]))
			assert.Contains(t, source, "func "+name[2]+"(t *testing.T)", "V%s", r[1])
			if name[3] != "" {
				assert.Equal(t, "V"+r[1], name[3])
				item := "{" + strings.TrimPrefix(r[1], "0") + ", []rule{"
				assert.Contains(t, source, item, "%s of %s", name[3], name[2])
			}
		}
	}
	var want []string
	for i := 1; i <= 30; i++ {
		if i != 23 && i != 26 {
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
