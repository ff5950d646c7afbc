package ethertest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var given = flag.String("given", "nothing", "`text` that TestGiven expects in the variable GIVEN")

// A flag reaches the process in the namespace, however it is written on the command line.
func TestFlagsReachTheNamespace(t *testing.T) {
	for _, args := range [][]string{
		{"-test.run", "^TestGiven$", "-given", "text"},
		{"-test.run=^TestGiven$", "-given=text"},
		{"--test.run=^TestGiven$", "--given", "text"},
	} {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), "GIVEN=text")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
}

func TestGiven(t *testing.T) {
	want := os.Getenv("GIVEN")
	if want == "" {
		want = "nothing"
	}
	Run(t, func(t *testing.T, _ *Net) { assert.Equal(t, want, *given) })
}

// TestForbidden: a system that allows the namespaces, but nothing in them, has the test
// skipped with the reason, or failed with CI.
func TestForbidden(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^TestGiven$", "-test.v")
	c.Env = append(os.Environ(), variable+"=TestGiven")
	c.SysProcAttr = &syscall.SysProcAttr{ // a user other than 0 has no capabilities, see user_namespaces(7)
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
	text, err := c.CombinedOutput()
	if c.ProcessState == nil {
		missing(t, err.Error())
	}
	require.Error(t, err)
	for ci, want := range map[string]string{
		"":     "skip: this system allows no network namespace: operation not permitted",
		"true": "fail: no network namespace: operation not permitted",
	} {
		t.Setenv("CI", ci)
		var r recorder
		judge(&r, string(text), err)
		assert.Equal(t, recorder{want}, r, "CI=%s: %s", ci, text)
	}
}

// A recorder keeps how tests end.
type recorder []string

func (*recorder) Helper() {}
func (r *recorder) Skipf(format string, args ...any) {
	*r = append(*r, "skip: "+fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	*r = append(*r, "fail: "+fmt.Sprintf(format, args...))
}

// TestSkipInTheNamespace: a test that skips there fails, also if a subtest does.
func TestSkipInTheNamespace(t *testing.T) {
	for _, where := range []string{"test", "subtest"} {
		c := exec.Command(os.Args[0], "-test.run=^TestSkips$")
		c.Env = append(os.Environ(), "SKIPS="+where, "CI=true")
		out, err := c.CombinedOutput()
		assert.Error(t, err, where)
		assert.Contains(t, string(out), "a test is skipped in a network namespace", where)
		assert.Contains(t, string(out), "the reason", where)
	}
}

func TestSkips(t *testing.T) {
	Run(t, func(t *testing.T, _ *Net) {
		switch os.Getenv("SKIPS") {
		case "test":
			t.Skip("the reason")
		case "subtest":
			t.Run("part", func(t *testing.T) { t.Skip("the reason") })
		}
	})
}
