package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// goVet builds the tool and runs it through go vet on a pattern relative to the
// module's root.
func goVet(t *testing.T, pattern string) (string, error) {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "rtlvet")
	out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	vet := exec.Command("go", "vet", "-vettool="+tool, pattern)
	vet.Dir = "../.."
	out, err = vet.CombinedOutput()
	return string(out), err
}

func TestRTL(t *testing.T) {
	tooltest.Long(t)
	out, err := goVet(t, "./rtl/...")
	require.NoError(t, err, "%s", out)
}

func TestBadInput(t *testing.T) {
	tooltest.Long(t)
	out, err := goVet(t, "./rtl/verilog/analyzer/testdata/top")
	require.Error(t, err)
	assert.Contains(t, out, "top.go:12:2: RTL001: hardware has no []string; rewrite: use bool, uint8 to uint64, structs and small arrays of them")
	assert.Contains(t, out, "RTL010: Third cannot be translated: ")
}
