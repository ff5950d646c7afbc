package testbench

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

// named finds tests in a table, with their packages.
var named = regexp.MustCompile("`([a-z0-9/]+)\\.(Test\\w+)`")

// carried finds the tests that carry letters of docs/properties.md in their comments.
var carried = regexp.MustCompile(`(?m)^// docs/properties\.md: ([FST\d, ]+)\.\n(?://.*\n)*func (Test\w+)\(`)

// exploring is a test of many properties, which the page lists.
const exploring = "TestExplore"

// Each letter of docs/properties.md has a row, and each row a test that exists or a reason. The comment
// of each such test has its letters, and no other test of its package has some.
func TestProperties(t *testing.T) {
	page, err := os.ReadFile("../docs/properties.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| ([FST]\d+) \| [^|]+ \| ([^|]+) \|$`)
	rows, folders, want := map[string]bool{}, map[string]bool{}, map[string]bool{} // want: folder, test and letter
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		rows[r[1]] = true
		tests := named.FindAllStringSubmatch(r[2], -1)
		if len(tests) == 0 {
			assert.Contains(t, r[2], "does not apply: ", r[1])
		}
		for _, n := range tests {
			assert.True(t, declares(t, filepath.Join("..", n[1]), n[2]), "%s names %s of %s", r[1], n[2], n[1])
			folders[n[1]] = true
			if n[2] != exploring {
				want[n[1]+" "+n[2]+" "+r[1]] = true
			}
		}
	}
	assert.Equal(t, want, lettered(t, folders), "the tests of the page, and the letters in the comments of tests")
	for letter, count := range map[string]int{"F": 15, "S": 11, "T": 9} {
		for n := range count {
			assert.True(t, rows[fmt.Sprint(letter, n+1)], "%s%d", letter, n+1)
		}
	}
}

// Each feature of other tools, in docs/design.md, has a test that exists, or none yet.
func TestFeatures(t *testing.T) {
	page, err := os.ReadFile("../docs/design.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| feature | here | test |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	assert.Len(t, rows, 22)
	for _, row := range rows {
		cells := strings.Split(row, " | ")
		require.Len(t, cells, 3, row)
		tests := named.FindAllStringSubmatch(cells[2], -1)
		assert.Equal(t, len(tests) == 0, strings.HasPrefix(cells[1], "none yet"), row)
		for _, n := range tests {
			assert.True(t, declares(t, filepath.Join("..", n[1]), n[2]), "%s names %s of %s", cells[0], n[2], n[1])
		}
	}
}

// lettered returns the tests in folders that carry letters: the folder, the test and a letter of each.
func lettered(t *testing.T, folders map[string]bool) map[string]bool {
	have := map[string]bool{}
	for folder := range folders {
		files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			for _, c := range carried.FindAllStringSubmatch(string(text), -1) {
				for _, letter := range strings.Split(c[1], ", ") {
					have[folder+" "+c[2]+" "+letter] = true
				}
			}
		}
	}
	return have
}

// declares reports whether a test file of a package has a test.
func declares(t *testing.T, folder, test string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
