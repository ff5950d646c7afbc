// Package tooltest skips tests that need a missing program, and long tests in the fast set.
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
	if p, missing := tool.Missing(names...); missing {
		skip(t, p)
	}
}

// NeedVersion does the same if err is not nil: a program is there in another version.
func NeedVersion(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		skip(t, err)
	}
}

// Long skips a test that takes more than a few seconds, if the environment has HILGPU_FAST=1, as in make test. A test
// function calls it by itself, so that make test-long finds it (cmd/testsum). The flag -short is not used, since with it
// random tests of other packages make fewer checks.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(tool.FastSet) == "1" {
		t.Skip(tool.LongReason)
	}
}

func skip(t testing.TB, reason any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s%v: no test may be skipped with CI=true", tool.SkipReason, reason)
	} else {
		t.Skipf("%s%v", tool.SkipReason, reason)
	}
}
