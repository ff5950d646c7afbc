package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// Each command listed in the help has a page, with the given date.
func TestMan(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1748779200") // 1 June 2025, 12:00 UTC
	dir := filepath.Join(t.TempDir(), "man1")
	code, stdout, stderr := hilgpu("man", dir)
	require.Zero(t, code, stderr)
	assert.Empty(t, stdout)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	pages := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		pages[e.Name()] = string(text)
	}
	_, help, _ := hilgpu("--help")
	_, help, _ = strings.Cut(help, "Available Commands:\n")
	help, _, _ = strings.Cut(help, "\n\n")
	for line := range strings.Lines(help) {
		if name := strings.Fields(line)[0]; name != "help" {
			assert.Contains(t, pages, "hilgpu-"+name+".1")
		}
	}
	assert.NotContains(t, help, "man ")
	assert.NotContains(t, pages, "hilgpu-man.1")
	page := pages["hilgpu-run-compose.1"]
	assert.Contains(t, page, `.TH "HILGPU-RUN-COMPOSE" "1" "Jun 2025" "hilgpu `)
	assert.NotContains(t, page, "Auto generated")
	page = pages["hilgpu-selectors.1"]
	assert.Contains(t, page, `.TH "HILGPU-SELECTORS" "1" "Jun 2025" "hilgpu `)
	assert.Contains(t, page, "\n  vram         VRAM, a power of two", "a table is kept")
	assert.Contains(t, pages["hilgpu-exit-codes.1"], "\n  7  contract ")
}

func TestManBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, args := range [][]string{{"man"}, {"man", file}, {"man", file + "/man1"}} {
		code, _, stderr := hilgpu(args...)
		assert.Equal(t, exit.Usage, code, args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
