package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// leastLines is the least percentage of lines of the C that its tests on the PC execute.
const leastLines = 90.0

var linesText = regexp.MustCompile(`File '\.\./src/[^']*'\nLines executed:([0-9.]+)% of (\d+)`)

// The C passes its tests on the PC, without undefined behaviour, and they execute its lines.
func TestUnits(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "gcc")
	dir, out := filepath.Join("..", "test"), t.TempDir()
	execute := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, text)
		return string(text)
	}
	program := filepath.Join(out, "units")
	args := []string{"-std=c17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "--coverage", "-fsanitize=undefined", "-fno-sanitize-recover", "-I.", "-I../src", "-I../gen", "-o", program}
	sources, err := filepath.Glob("../src/*.c")
	require.NoError(t, err)
	tests, err := filepath.Glob("../test/*.c")
	require.NoError(t, err)
	execute(dir, "gcc", append(append(args, sources...), tests...)...)
	execute(out, program)
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		found := linesText.FindStringSubmatch(execute(out, "gcov", "-n", "units-"+name+".gcda"))
		require.NotNil(t, found, source)
		percent, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, percent, leastLines, source)
		t.Logf("%s.c: %s%% of %s lines executed", name, found[1], found[2])
	}
	_, err = os.Stat(filepath.Join(dir, "units-boot.gcda"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
