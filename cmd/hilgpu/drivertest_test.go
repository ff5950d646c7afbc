package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestDrivertestNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	code, stdout, stderr := hilgpu("drivertest", "new", dir)
	assert.Equal(t, exit.Usage, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "hilgpu: bad input: this hilgpu is a development build, which go.mod cannot require: want --source with the directory of its source tree\n", stderr)
	assert.NoDirExists(t, dir)

	code, stdout, stderr = hilgpu("drivertest", "new", dir, "--source", "../..", "--module", "example.org/x")
	require.Zero(t, code, stderr)
	source, err := filepath.Abs("../..")
	require.NoError(t, err)
	assert.Equal(t, dir+": module example.org/x, 12 files, with hilgpu from the source in "+source+"\nnext: make -C "+dir+" test build\n", stdout)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	assert.Contains(t, string(mod), "module example.org/x\n")

	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{dir, "--source", "../.."}, "hilgpu: drivertest: bad input: " + dir + " is not empty, it has .github; want a new or an empty folder\n"},
		{[]string{dir + "2", "--source", "/"}, "is not the root of github.com/hilgpu/hilgpu's source tree"},
		{[]string{dir + "2", "--source", "../..", "--module", "x y"}, `module "x y"`},
		{[]string{dir + "/no/such", "--source", "../.."}, "cannot write "},
		{[]string{}, `", got 0 arguments`},
		{[]string{dir, dir}, `", got 2 arguments`},
	} {
		code, stdout, stderr := hilgpu(append([]string{"drivertest", "new"}, tt.args...)...)
		assert.Equal(t, exit.Usage, code, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.says)
		assert.NoDirExists(t, dir+"2")
	}
	again, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	assert.Equal(t, string(mod), string(again))
}
