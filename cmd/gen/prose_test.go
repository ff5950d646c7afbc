package main

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longest is the number of words that a sentence of the pages may have.
const longest = 35

var (
	ends = regexp.MustCompile(`[.!?][)*"]*(\s|$)`)
	item = regexp.MustCompile(`^\s*([-*]|[0-9]+\.) `)
)

// sentences returns the sentences of a page, without code blocks, headings and tables.
// An item of a list is a paragraph, and a paragraph is at least one sentence.
func sentences(page string) []string {
	var all []string
	paragraph, code := "", false
	flush := func() {
		for paragraph != "" {
			end := len(paragraph)
			if at := ends.FindStringIndex(paragraph); at != nil {
				end = at[1]
			}
			if s := strings.TrimSpace(paragraph[:end]); s != "" {
				all = append(all, s)
			}
			paragraph = paragraph[end:]
		}
	}
	for l := range strings.Lines(page) {
		l = strings.TrimRight(l, "\n")
		switch {
		case strings.HasPrefix(l, "```"):
			flush()
			code = !code
		case code:
		case l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "|") || strings.HasPrefix(l, "<"):
			flush()
		case item.MatchString(l):
			flush()
			paragraph = item.ReplaceAllString(l, "")
		default:
			paragraph += " " + strings.TrimSpace(l)
		}
	}
	flush()
	return all
}

func TestSentences(t *testing.T) {
	assert.Equal(t, []string{"One two.", "Three `a.b` 4.5 (five).", "**Six.**", "Seven: eight", "Nine.", "Ten", "Eleven?", "Twelve"},
		sentences("# T\n\nOne two. Three `a.b`\n4.5 (five). **Six.** Seven: eight\n```\nno. no.\n```\n- Nine.\n- Ten\n1. Eleven? Twelve\n\n| no | no. |\n"))
}

// Newcomers read these pages, so their sentences are short.
func TestSentencesAreShort(t *testing.T) {
	for _, name := range []string{"docs/design.md", "docs/tour.md", "docs/howto.md", "docs/drivers.md", "CONTRIBUTING.md"} {
		page, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		all := sentences(string(page))
		assert.Greater(t, len(all), 20, name)
		for _, s := range all {
			assert.LessOrEqual(t, len(strings.Fields(s)), longest, "%s: %s", name, s)
		}
	}
}

// The documents name tests, which exist.
func TestTestsOfTheDocumentsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	declared := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(src), -1) {
			declared[m[1]] = true
		}
		return nil
	}))
	named := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/design.md", "docs/howto.md", "docs/rtl.md", "docs/tour.md", "docs/style.md"} {
		page, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for _, test := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1) {
			assert.True(t, declared[test], "%s: there is no %s", name, test)
			named++
		}
	}
	assert.Greater(t, named, 20)
}

// The table of packages has every package.
func TestDesignHasEveryPackage(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "\n## Packages\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n## ")
	n := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || name == "out" || strings.HasPrefix(name, ".") && path != root {
			return filepath.SkipDir
		}
		if p, err := build.ImportDir(path, 0); err != nil || len(p.GoFiles) == 0 {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		assert.Contains(t, table, "`"+filepath.ToSlash(rel)+"`")
		n++
		return nil
	}))
	assert.Greater(t, n, 50)
}
