package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// install makes a path that contains only the given programs.
func install(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o755))
	}
	t.Setenv("PATH", dir)
}

func TestMissing(t *testing.T) {
	install(t, "iverilog", "make")
	p, missing := tool.Missing("make", "iverilog")
	assert.False(t, missing, p)
	p, missing = tool.Missing("iverilog", "vvp", "verilator")
	assert.True(t, missing)
	assert.Equal(t, "vvp (Debian package iverilog)", p.String())
	assert.PanicsWithValue(t, "tool: no program quartus", func() { tool.Missing("quartus") })
}

// A recorder is a testing.TB that records how Need stopped the test.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Skipf(format string, args ...any)  { r.skipped = fmt.Sprintf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

// A missing program skips a test, or fails it in CI. A present one does neither.
func TestNeed(t *testing.T) {
	install(t, "yosys")
	const why = "missing tool: tshark (Debian package tshark)"
	for _, tt := range []struct {
		ci    string
		names []string
		want  recorder
	}{
		{"", []string{"yosys", "tshark"}, recorder{skipped: why}},
		{"false", []string{"yosys", "tshark"}, recorder{skipped: why}},
		{"true", []string{"yosys", "tshark"}, recorder{failed: why + ": no test may be skipped with CI=true"}},
		{"true", []string{"yosys"}, recorder{}},
		{"", []string{"yosys"}, recorder{}},
	} {
		t.Setenv("CI", tt.ci)
		var r recorder
		tooltest.Need(&r, tt.names...)
		assert.Equal(t, tt.want, r, "CI=%s %v", tt.ci, tt.names)
	}
}

// make tools and .ci/run install every package.
func TestToolsAreInstalled(t *testing.T) {
	for file, form := range map[string]string{
		"Makefile": `(?m)^\tapt-get install .*\s%s(\s|$)`,
		".ci/run":  `(?m)^need \S+ %s$`,
	} {
		script, err := os.ReadFile(filepath.Join("../../..", file))
		require.NoError(t, err)
		for _, p := range tool.Programs() {
			if p.Package == "" {
				continue
			}
			line := regexp.MustCompile(strings.ReplaceAll(form, "%s", regexp.QuoteMeta(p.Package)))
			assert.True(t, line.Match(script), "%s does not install %s", file, p)
		}
	}
}

// No other test checks for a program in another way.
func TestNeedIsTheOnlyWay(t *testing.T) {
	var found []string
	require.NoError(t, filepath.WalkDir("../../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || d.Name() == "tool_test.go" {
			return err
		}
		src, err := os.ReadFile(path)
		if err == nil && (strings.Contains(string(src), "exec.LookPath") || strings.Contains(string(src), `Getenv("CI")`)) {
			found = append(found, path)
		}
		return err
	}))
	slices.Sort(found)
	assert.Empty(t, found, "use tooltest.Need")
}
