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
		"one":    {filepath.Join(dir, "one", "README.txt"), filepath.Join(dir, "one", "messages.txt")},
		"four/7": {filepath.Join(dir, "four_7", "README.txt")},
	}, got)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2)

	_, err = r.Save(got["one"][0])
	assert.ErrorIs(t, err, output.ErrWrite, "a file is no folder")
	got, err = r.Save("")
	require.NoError(t, err)
	assert.Empty(t, got, "without a folder")
}
