package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	execute(dir, "gcc", "-std=c17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "--coverage", "-fsanitize=undefined", "-fno-sanitize-recover",
		"-I.", "-I../src", "-I../gen", "-o", program, "../src/boot.c", "fake.c", "boot_test.c")
	execute(out, program)
	found := linesText.FindAllStringSubmatch(execute(out, "gcov", "-n", "units-boot.gcda"), -1)
	require.Len(t, found, 1)
	percent, err := strconv.ParseFloat(found[0][1], 64)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, percent, leastLines)
	t.Logf("boot.c: %s%% of %s lines executed", found[0][1], found[0][2])
	_, err = os.Stat(filepath.Join(dir, "units-boot.gcda"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
