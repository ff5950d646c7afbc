package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// inModule creates a module from files by path, and makes it the current
// directory of the test.
func inModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	t.Setenv("CI", "")
}

var seconds = regexp.MustCompile(`\d+\.\d+s|\(cached\)`)

// lines returns the sorted lines of an output without times; packages end in
// any order.
func lines(output string) []string {
	all := strings.Split(seconds.ReplaceAllString(strings.TrimSpace(output), "T"), "\n")
	slices.Sort(all)
	return all
}

func inTest(body string) string {
	return "package p\n\nimport \"testing\"\n\n" + body
}

const (
	passes = `func TestA(t *testing.T) { t.Log("quiet"); t.Run("b", func(t *testing.T) { println("stderr") }) }` + "\n"
	fails  = `func TestGood(t *testing.T) { t.Log("quiet") }` + "\n" +
		`func TestBad(t *testing.T) { t.Log("why"); t.Errorf("bad") }` + "\n"
	skips = `func TestTool(t *testing.T) { t.Skip("missing tool: vvp (Debian package iverilog)") }` + "\n" +
		`func TestOther(t *testing.T) { t.Log("first"); t.Skip("no such system: plan9") }` + "\n" +
		`func TestMute(t *testing.T) { t.SkipNow() }` + "\n" +
		`func TestSub(t *testing.T) { t.Run("x", func(t *testing.T) { t.Skip("missing tool: yosys (Debian package yosys)") })` + "\n" +
		`	t.Run("y", func(t *testing.T) { t.Skip("missing tool: yosys (Debian package yosys)") }) }` + "\n"
)

// The output and exit code are those of go test, also when the results are
// cached.
func TestIsGoTest(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name  string
		files map[string]string
		args  []string
	}{
		{"a package that passes", map[string]string{"a/a_test.go": inTest(passes)}, []string{"./..."}},
		{"one without tests", map[string]string{"a/a.go": "package p\n", "b/b_test.go": inTest(passes)}, []string{"./..."}},
		{"one that fails", map[string]string{"a/a_test.go": inTest(fails), "b/b_test.go": inTest(passes)}, []string{"./..."}},
		{"one that does not build", map[string]string{"a/a_test.go": inTest("var x int = true\n"), "b/b_test.go": inTest(passes)}, []string{"./..."}},
		{"one whose vet fails", map[string]string{"a/a_test.go": inTest(`func TestA(t *testing.T) { t.Logf("%d", "x") }` + "\n")}, []string{"./..."}},
		{"one that does not exist", map[string]string{"a/a_test.go": inTest(passes)}, []string{"./b"}},
		{"a bad flag", map[string]string{"a/a_test.go": inTest(passes)}, []string{"-timeout", "x", "./..."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inModule(t, tt.files)
			cmd := exec.Command("go", append([]string{"test"}, tt.args...)...)
			var want, wantErr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &want, &wantErr
			if err := cmd.Run(); err != nil {
				require.IsType(t, new(exec.ExitError), err)
			}
			for range 2 {
				var stdout, stderr bytes.Buffer
				assert.Equal(t, cmd.ProcessState.ExitCode(), run(tt.args, &stdout, &stderr))
				assert.Equal(t, lines(want.String()+wantErr.String()), lines(stdout.String()+stderr.String()))
			}
		})
	}
}

// A test that ends the process, or never ends, is printed with the cause.
func TestProcessThatDies(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct{ name, body, want string }{
		{"a panic", `func TestA(t *testing.T) { panic("boom") }`, "panic: boom"},
		{"an exit", `func TestA(t *testing.T) { println("last words"); os.Exit(3) }`, "last words"},
		{"a time-out", `func TestA(t *testing.T) { select {} }`, "test timed out after 1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := inTest(tt.body + "\n")
			if strings.Contains(text, "os.") {
				text = strings.Replace(text, `import "testing"`, "import (\n\t\"os\"\n\t\"testing\"\n)", 1)
			}
			inModule(t, map[string]string{"a/a_test.go": text})
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 1, run([]string{"-timeout", "1s", "./..."}, &stdout, &stderr))
			assert.Contains(t, stdout.String(), tt.want)
			assert.Contains(t, stdout.String(), "FAIL\tm/a\t")
			assert.True(t, strings.HasSuffix(stdout.String(), "\nFAIL\n"), stdout.String())
		})
	}
}

// A case that is not applicable to a driver is counted and passes, also in CI.
func TestNotAsked(t *testing.T) {
	inModule(t, map[string]string{"a/a_test.go": inTest(`func TestA(t *testing.T) { t.Skip("not applicable: the board has one node") }` + "\n")})
	t.Setenv("CI", "true")
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run([]string{"./..."}, &stdout, &stderr), stderr.String())
	assert.Contains(t, stdout.String(), "\nskipped tests: 1 (the board has one node 1) not applicable to a driver\n")
}

// The fast set skips long tests and counts them, also in CI. The flag -long runs only these.
func TestLong(t *testing.T) {
	tooltest.Long(t)
	long := "package tooltest\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc Long(t *testing.T) {\n\tif os.Getenv(\"HILGPU_FAST\") == \"1\" {\n\t\tt.Skip(\"" + tool.LongReason + "\")\n\t}\n}\n"
	test := func(name, begin string) string {
		return "package a\n\nimport (\n\t\"testing\"\n\n\t\"m/tooltest\"\n)\n\nfunc Test" + name + "(t *testing.T) {\n\t" + begin + "\n\tt.Fatal(\"it ran\")\n}\n\nvar _ = tooltest.Long\n"
	}
	inModule(t, map[string]string{
		"tooltest/long.go": long,
		"a/a_test.go":      test("A", "tooltest.Long(t)"),
		"b/b_test.go":      strings.Replace(inTest("func TestB(t *testing.T) {}\n"), "package a", "package b", 1),
	})
	t.Setenv("CI", "true")
	var stdout, stderr bytes.Buffer
	t.Setenv("HILGPU_FAST", "1")
	assert.Zero(t, run([]string{"./..."}, &stdout, &stderr), stderr.String())
	assert.Contains(t, stdout.String(), "\nskipped tests: 1 long, which make test-long runs\n")
	stdout.Reset()
	t.Setenv("HILGPU_FAST", "")
	assert.Equal(t, 1, run([]string{"-long"}, &stdout, &stderr))
	assert.Contains(t, stdout.String(), "it ran")
	assert.NotContains(t, stdout.String(), "m/b")

	inModule(t, map[string]string{"a/a_test.go": strings.Replace(test("A", "tooltest.Long(t)"), "func TestA", "func helper", 1)})
	stderr.Reset()
	assert.Equal(t, 1, run([]string{"-long"}, &stdout, &stderr))
	assert.Equal(t, "testsum: a/a_test.go: helper calls tooltest.Long and is no test\n", stderr.String())

	inModule(t, map[string]string{"b/b_test.go": inTest("func TestB(t *testing.T) {}\n")})
	stderr.Reset()
	assert.Equal(t, 1, run([]string{"-long"}, &stdout, &stderr))
	assert.Equal(t, "testsum: no test calls tooltest.Long\n", stderr.String())
}

// Skipped tests are counted in one line at the end, by tool and by reason, also
// when cached, and fail the run in CI.
func TestSkips(t *testing.T) {
	tooltest.Long(t)
	inModule(t, map[string]string{"a/a_test.go": inTest(skips), "b/b_test.go": inTest(passes)})
	const want = "skipped tests: 3 (yosys 2, vvp 1) for missing tools, which make tools installs; " +
		"2 (no reason given 1, no such system: plan9 1) for other reasons"
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		for range 2 {
			var stdout, stderr bytes.Buffer
			code := run([]string{"./..."}, &stdout, &stderr)
			all := strings.Split(strings.TrimSpace(stdout.String()), "\n")
			require.Len(t, all, 3, stdout.String())
			assert.Equal(t, want, all[2])
			if ci == "true" {
				assert.Equal(t, 1, code)
				assert.Equal(t, "testsum: with CI=true no test may be skipped\n", stderr.String())
			} else {
				assert.Zero(t, code)
				assert.Empty(t, stderr.String())
			}
		}
	}
}

// The tests that were skipped for a missing tool, and no others, can be run again.
func TestAgain(t *testing.T) {
	tooltest.Long(t)
	inModule(t, map[string]string{"a/a_test.go": inTest(skips), "b/b_test.go": inTest(passes)})
	list := filepath.Join(t.TempDir(), "skipped")
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-skipped", list, "./..."}, &stdout, &stderr), stderr.String())
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	assert.Equal(t, "m/a TestMute\nm/a TestOther\nm/a TestSub\nm/a TestTool\n", string(text))
	require.NoError(t, os.WriteFile("a/a_test.go", []byte(strings.ReplaceAll(strings.ReplaceAll(inTest(skips+passes), "t.Skip(", "t.Error("), "t.SkipNow(", "t.Fail(")), 0o644))
	stdout.Reset()
	assert.Equal(t, 1, run([]string{"-again", list}, &stdout, &stderr))
	for _, name := range []string{"TestTool", "TestOther", "TestMute", "TestSub", "TestSub/x"} {
		assert.Contains(t, stdout.String(), "--- FAIL: "+name+" (")
	}
	assert.NotContains(t, stdout.String(), "stderr", "TestA was not skipped")
	assert.NotContains(t, stdout.String(), "m/b")

	for content, want := range map[string]string{"": " has no test\n", "m/a\n": ": want lines of a package and a test\n"} {
		require.NoError(t, os.WriteFile(list, []byte(content), 0o644))
		stderr.Reset()
		assert.Equal(t, 1, run([]string{"-again", list}, &stdout, &stderr))
		assert.Equal(t, "testsum: "+list+want, stderr.String())
	}
	stderr.Reset()
	assert.Equal(t, 1, run([]string{"-again", "no-such-file"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "no-such-file")
}

func TestNoGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 1, run([]string{"./..."}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), `testsum: exec: "go"`)
	assert.Empty(t, stdout.String())
}
