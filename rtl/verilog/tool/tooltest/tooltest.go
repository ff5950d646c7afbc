// Package tooltest skips tests that need a missing program.
package tooltest

import (
	"os"
	"testing"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// Need skips the test if a program of tool.Programs is missing, and fails it if
// the environment has CI=true. Tests must not look for a program in another way,
// since make test counts the skips by their reason.
func Need(t testing.TB, names ...string) {
	t.Helper()
	p, missing := tool.Missing(names...)
	switch {
	case !missing:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s%s: no test may be skipped with CI=true", tool.SkipReason, p)
	default:
		t.Skipf("%s%s", tool.SkipReason, p)
	}
}
