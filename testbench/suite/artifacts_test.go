package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// Only failed cases leave files, each in a folder of its own.
func TestSaveOfAReport(t *testing.T) {
	results := []Result{
		{Name: "one", Outcome: Failed, Messages: []string{"wrong"}}, {Name: "two", Outcome: Passed, Messages: []string{"right"}},
		{Name: "three", Outcome: Skipped}, {Name: "four/7", Outcome: Failed},
	}
	r := NewReport("emu", results)
	dir := filepath.Join(t.TempDir(), "artifacts")
	got, err := r.Save(dir)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{
		"one":    {filepath.Join(dir, "one", "README.txt"), filepath.Join(dir, "one", "report.html"), filepath.Join(dir, "one", "messages.txt")},
		"four/7": {filepath.Join(dir, "four_7", "README.txt"), filepath.Join(dir, "four_7", "report.html")},
	}, got)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 4, "two folders, index.html and summary.md")
	index, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	for _, want := range []string{"1 passed, 2 failed, 1 skipped on emu", `<a href="four_7/report.html">four/7</a>`, `<td>two</td><td class="passed">`, "wrong"} {
		assert.Contains(t, string(index), want)
	}
	summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
	require.NoError(t, err)
	assert.Contains(t, string(summary), "# 1 passed, 2 failed, 1 skipped on emu\n\n## Failed\n\n- **one**: wrong\n  [report](one/report.html)\n")
	assert.NotContains(t, string(summary), "two")

	_, err = r.Save(got["one"][0])
	assert.ErrorIs(t, err, output.ErrWrite, "a file is no folder")
	got, err = r.Save("")
	require.NoError(t, err)
	assert.Empty(t, got, "without a folder")
}
