package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// An error that only one system has is found, in a package and in its tests.
func TestOneSystem(t *testing.T) {
	tooltest.Long(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module m\n\ngo 1.24\n",
		"m.go":         "package m\n",
		"m_windows.go": "package m\n\nvar x int = \"x\"\n",
		"m_test.go":    "package m\n\nvar _ = sinceLinux\n",
		"m_linux.go":   "package m\n\nconst sinceLinux = 1\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for system, want := range map[string][]string{
		"linux/amd64":   nil,
		"windows/amd64": {"m_windows.go:3:13", "undefined: sinceLinux"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(dir, []string{system}, &stdout, &stderr)
		assert.Equal(t, len(want) != 0, code == 1, system)
		assert.Empty(t, stderr.String())
		for _, text := range want {
			assert.Contains(t, stdout.String(), text, system)
		}
		assert.Equal(t, len(want), strings.Count(stdout.String(), "\n"), "each once")
		if want == nil {
			assert.Empty(t, stdout.String())
		}
	}
}

func TestUsage(t *testing.T) {
	for _, systems := range [][]string{nil, {"linux"}, {"plan10/amd64"}} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 2, run(t.TempDir(), systems, &stdout, &stderr), systems)
		assert.Empty(t, stdout.String())
		assert.NotEmpty(t, stderr.String())
	}
}
