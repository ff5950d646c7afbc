package link

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var programFlag = flag.Int("link.mistakes", 5, "mistakes of TestProgramMutants")

// sequencerTests are the tests that run each mutant of the program, the fast ones first.
var sequencerTests = [][]string{
	{"-test.run", "^Test(Packets)?Sequencer", "-test.skip", slowTests},
	{"-test.run", "^Test(Model|Hostile)Sequencer|" + slowTests},
}

const slowTests = "TestSequencer(ReadExpires|Rates)$"

// rateCount is the least number of mutants of which TestProgramMutants checks the rate.
const rateCount = 60

// failed finds the test that fails.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: .*`)

// TestProgramMutants plants single mistakes in the program of the sequencer, and runs its tests on each in a
// process of its own, which may end in a panic or not at all. Of many, less those that are
// known to be equivalent, 95 % are caught, of a few of them half: of each hundred there are a few more that are equivalent.
func TestProgramMutants(t *testing.T) {
	tooltest.Long(t)
	if *changeFlag != "" {
		t.Skip("this is the test of a mutant")
	}
	p, err := seq.Program(seq.Options{Replay: 8})
	require.NoError(t, err)
	all := picked(p, *seedFlag, *programFlag)
	require.Len(t, all, *programFlag)
	caught := 0
	for i, m := range all {
		by := judge(t, m)
		t.Logf("%4d %-40s %v", i, by, m)
		if by != survived {
			caught++
		}
	}
	t.Logf("seed %d: %d of %d caught", *seedFlag, caught, len(all))
	want := 0.5
	if len(all) >= rateCount {
		want = 0.95
	}
	assert.GreaterOrEqual(t, float64(caught), want*float64(len(all)))
}

const survived = "SURVIVED"

// judge returns the test that catches a mistake, or survived.
func judge(t *testing.T, m *mistake) string {
	binary, err := os.Executable()
	require.NoError(t, err)
	change := fmt.Sprintf("%#x^%#x", m.at, m.bits)
	var out []byte
	for _, tests := range sequencerTests {
		out, err = exec.Command(binary, append([]string{"-test.failfast", "-test.timeout", "3m", "-link.change", change}, tests...)...).CombinedOutput()
		if err != nil {
			break
		}
		require.Contains(t, string(out), "PASS")
	}
	if err == nil {
		return survived
	}
	all := failed.FindAllStringSubmatch(string(out), -1)
	require.NotEmpty(t, all, "%s", out)
	if last := all[len(all)-1]; last[1] != "" {
		return last[1]
	}
	return strings.TrimSpace(all[0][0])
}
