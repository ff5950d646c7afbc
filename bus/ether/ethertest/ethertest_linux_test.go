package ethertest

import (
	"flag"
	"os"
	"os/exec"
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
