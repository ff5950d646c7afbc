package testbench_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/testbench/overlay"
)

// hooked are the packages that tell observers what happens, which the log listens to, and the conditions under which they do.
// The observer of the device's writes is not one of them, since the verifier needs it.
var hooked = map[string]*regexp.Regexp{
	"../runtime/d3d11":   regexp.MustCompile(`\b(?:[\w.]*observer|o) (!=|==) nil\b`),
	"../runtime/dxgkrnl": regexp.MustCompile(`\bk\.observer (!=|==) nil\b`),
	"../runtime/hal":     regexp.MustCompile(`\b(?:[\w.]*observer|m\.refused|m\.read) (!=|==) nil\b`),
}

// TestHooksAreFound: each package has conditions that BenchmarkRecordOff leaves out, and the changed sources can be parsed.
func TestHooksAreFound(t *testing.T) {
	changed, n := withoutHooks(t)
	packages := map[string]bool{}
	for name, src := range changed {
		packages[filepath.Dir(name)] = true
		was, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, bytes.Count(was, []byte("\n")), bytes.Count(src, []byte("\n")), "%s: the profile finds calls by their lines", name)
		_, err = parser.ParseFile(token.NewFileSet(), name, src, 0)
		require.NoError(t, err)
	}
	require.Len(t, packages, len(hooked))
	require.GreaterOrEqual(t, n, 40)
}

// told are the lines that tell an observer something, with what they build for it.
var told = regexp.MustCompile(`(?m)^[ \t]*(?:defer )?[kd]\.(?:observe|observeFailure)\((?:t, )?(?:Event|Access)\{.*\}\)$`)

// withoutHooks returns the sources in which no observer is called, with the number of conditions and calls that are left out. Each
// call stays on its line, since the compiler finds the calls of a profile by their lines in a function.
func withoutHooks(b testing.TB) (map[string][]byte, int) {
	changed, n := map[string][]byte{}, 0
	for dir, condition := range hooked {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(b, err)
		for _, name := range files {
			src, err := os.ReadFile(name)
			require.NoError(b, err)
			if strings.HasSuffix(name, "_test.go") || !strings.Contains(string(src), "observe") && !strings.Contains(string(src), "m.refused") {
				continue
			}
			n += len(told.FindAll(src, -1))
			text := condition.ReplaceAllStringFunc(told.ReplaceAllString(string(src), "if false { $0 }"), func(c string) string {
				n++
				if strings.Contains(c, "==") {
					return "true"
				}
				if strings.HasPrefix(c, "o ") {
					return "false && " + c // the variable is used
				}
				return "false"
			})
			if text != string(src) {
				changed[name] = []byte(text)
			}
		}
	}
	return changed, n
}

// buildFrames builds the program frames, with the profile of hilgpu.
func buildFrames(b testing.TB, dir, name string, flags ...string) string {
	binary := filepath.Join(dir, name)
	args := slices.Concat([]string{"build", "-pgo", "../cmd/hilgpu/default.pgo", "-o", binary}, flags, []string{"./testdata/frames"})
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(b, err, "%s", out)
	return binary
}

// frames runs the program frames. It returns the processor time of n frames and the heap objects of the last one.
func frames(b testing.TB, binary string, n int) (seconds float64, objects int) {
	cmd := exec.Command(binary, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := cmd.Output()
	require.NoError(b, err)
	objects, err = strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(b, err)
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), objects
}

// BenchmarkRecordOff composes without a log, by turns with a program that has the hooks of the log and one that is built without those
// of the runtime, the kernel and the host's accesses. Both have the checks for nil of testbench, the verifier and the boards.
// The target is 1 % of the processor time, the median of the turns.
func BenchmarkRecordOff(b *testing.B) {
	const turns, composed = 31, 5
	changed, n := withoutHooks(b)
	dir := b.TempDir()
	file, err := overlay.Write(dir, changed)
	require.NoError(b, err)
	hooks, bare := buildFrames(b, dir, "hooks"), buildFrames(b, dir, "bare", "-overlay", file)
	var ratios []float64
	var more []int
	for b.Loop() {
		for i := range turns {
			first, second := hooks, bare
			if i%2 == 1 {
				first, second = bare, hooks
			}
			with, objects := frames(b, first, composed)
			without, fewer := frames(b, second, composed)
			if i%2 == 1 {
				with, without, objects, fewer = without, with, fewer, objects
			}
			ratios, more = append(ratios, with/without), append(more, objects-fewer)
		}
	}
	slices.Sort(ratios)
	slices.Sort(more)
	median, objects := ratios[len(ratios)/2], more[len(more)/2]
	b.Logf("%d conditions and calls are left out; the middle half of the ratios is %.3f to %.3f", n, ratios[len(ratios)/4], ratios[len(ratios)*3/4])
	bustest.Figure(b, "a frame with a log that is off", median, "times without hooks", median <= 1.01, "at most 1.01")
	bustest.Figure(b, "heap objects of the hooks in a frame", float64(objects), "more", objects <= 0, "at most 0")
}
