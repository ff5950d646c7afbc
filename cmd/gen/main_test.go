package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// fake returns an output with fixed text.
func fake(path, text string) output {
	return output{path, func() ([]byte, error) { return []byte(text), nil }}
}

func TestRun(t *testing.T) {
	broken := output{"broken", func() ([]byte, error) { return nil, errors.New("no table") }}
	for _, tt := range []struct {
		name   string
		outs   []output
		files  map[string]string // before
		args   []string
		code   int
		stdout string
		stderr string
		after  map[string]string
	}{
		{name: "writes missing files and their directories", outs: []output{fake("d/e/a", "A")},
			stdout: "d/e/a\n", after: map[string]string{"d/e/a": "A"}},
		{name: "writes only files that differ", outs: []output{fake("a", "A"), fake("b", "B")}, files: map[string]string{"a": "A", "b": "X"},
			stdout: "b\n", after: map[string]string{"a": "A", "b": "B"}},
		{name: "check accepts current files", outs: []output{fake("a", "A")}, files: map[string]string{"a": "A"}, args: []string{"-check"},
			after: map[string]string{"a": "A"}},
		{name: "check names files that differ or are missing", outs: []output{fake("a", "A"), fake("b", "B"), fake("c", "C")}, files: map[string]string{"a": "X", "b": "B"}, args: []string{"-check"},
			code: 1, stdout: "a\nc\n", after: map[string]string{"a": "X", "b": "B"}},
		{name: "check sees a missing last byte", outs: []output{fake("a", "A\n")}, files: map[string]string{"a": "A"}, args: []string{"-check"},
			code: 1, stdout: "a\n", after: map[string]string{"a": "A"}},
		{name: "a failure does not stop the other outputs", outs: []output{broken, fake("a", "A")},
			code: 1, stdout: "a\n", stderr: "gen: broken: no table\n", after: map[string]string{"a": "A"}},
		{name: "check fails on a failure", outs: []output{broken}, args: []string{"-check"},
			code: 1, stderr: "gen: broken: no table\n"},
		{name: "an argument is bad usage", outs: []output{fake("a", "A")}, args: []string{"a"},
			code: 2, stderr: "gen: argument \"a\", want only flags\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o666))
			}
			var stdout, stderr bytes.Buffer
			outs := func(dir string) []output {
				assert.Equal(t, root, dir)
				return tt.outs
			}
			code := run(outs, append([]string{"-root", root}, tt.args...), &stdout, &stderr)
			assert.Equal(t, tt.code, code)
			assert.Equal(t, tt.stdout, stdout.String())
			assert.Equal(t, tt.stderr, stderr.String())
			for name, want := range tt.after {
				got, err := os.ReadFile(filepath.Join(root, name))
				require.NoError(t, err)
				assert.Equal(t, want, string(got))
			}
			for _, o := range tt.outs {
				_, err := os.Stat(filepath.Join(root, o.path))
				_, want := tt.after[o.path]
				assert.Equal(t, want, err == nil, o.path)
			}
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o777))
	var stdout, stderr bytes.Buffer
	code := run(func(string) []output { return []output{fake("a", "A")} }, []string{"-root", root, "-check"}, &stdout, &stderr)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr.String(), "gen: a: ")
}

func TestUnknownFlag(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 2, run(outputs, []string{"-nonsense"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-nonsense")
}

// TestOutputsAreCurrent generates every file and compares it with the one in the tree.
func TestOutputsAreCurrent(t *testing.T) {
	tooltest.Long(t)
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(outputs, []string{"-root", "../..", "-check"}, &stdout, &stderr))
	assert.Empty(t, stdout.String())
	assert.Empty(t, stderr.String())
}
