package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestRegExport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hilgpu.svd")
	for _, f := range export.Formats() {
		if f.Folder() {
			continue
		}
		want := string(f.Files()[0].Data)
		code, stdout, stderr := hilgpu("reg", "export", f.Name)
		assert.Equal(t, exit.OK, code, stderr)
		assert.Equal(t, want, stdout)
		code, stdout, _ = hilgpu("reg", "export", f.Name, "-o", file)
		assert.Equal(t, exit.OK, code)
		assert.Regexp(t, `^\S+: \d+ bytes, map 0x[0-9a-f]{8}\n$`, stdout)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
}

// TestRegExportFolder: a format of several files is a folder, which is made, and other files in it
// stay.
func TestRegExportFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	names := map[string][]string{
		"gtkw":   {"hilgpu.gtkw", "hilgpu-opcode.txt", "hilgpu-format.txt", "hilgpu-cause.txt", "hilgpu-access.txt", "hilgpu-writer.txt"},
		"surfer": {"hilgpu.sucl", ".surfer/mappings/hilgpu_opcode.txt", ".surfer/mappings/hilgpu_format.txt", ".surfer/mappings/hilgpu_cause.txt", ".surfer/mappings/hilgpu_access.txt", ".surfer/mappings/hilgpu_writer.txt"},
	}
	for name, files := range names {
		for range 2 {
			code, stdout, stderr := hilgpu("reg", "export", name, "-o", dir)
			assert.Equal(t, exit.OK, code, stderr)
			assert.Regexp(t, `^\S+: \d+ bytes, map 0x[0-9a-f]{8}\n$`, stdout)
		}
		code, stdout, _ := hilgpu("reg", "export", name, "-o", dir, "--json")
		assert.Equal(t, exit.OK, code)
		var j struct{ Files []string }
		require.NoError(t, json.Unmarshal([]byte(stdout), &j))
		assert.Equal(t, files, j.Files)
	}
	for name := range names {
		f, err := export.Find(name)
		require.NoError(t, err)
		for _, x := range f.Files() {
			text, err := os.ReadFile(filepath.Join(dir, x.Name))
			require.NoError(t, err)
			assert.Equal(t, string(x.Data), string(text))
		}
	}
}

// TestRegExportAgainst: a change that breaks a driver is named, and the exit code is 1.
func TestRegExportAgainst(t *testing.T) {
	dir := t.TempDir()
	old := func(from, to string) string {
		text := strings.Replace(string(regmap.Canonical()), from, to, 1)
		require.NotEqual(t, string(regmap.Canonical()), text)
		file := filepath.Join(dir, "old.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		return file
	}
	code, stdout, stderr := hilgpu("reg", "export", "c", "--against", old(`"name":"SCRATCH3"`, `"name":"SCRAP"`))
	assert.Equal(t, exit.Check, code)
	assert.Equal(t, "breaks  ID.SCRAP: the register is gone\nadds    ID.SCRATCH3: the register is new\n", stdout)
	assert.Equal(t, "hilgpu: check failed: 1 of 2 changes break a driver\n", stderr)

	out := filepath.Join(dir, "hilgpu.h")
	code, stdout, _ = hilgpu("reg", "export", "c", "-o", out, "--against", old(`"NONE","OPCODE"`, `"NONE"`))
	assert.Equal(t, exit.Check, code)
	assert.Contains(t, stdout, "breaks  CP0.FAULT_INFO.CAUSE: the value 1 was RESERVED, is OPCODE\n")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Contains(t, string(text), "#define HILGPU_CP0_CTL 0x00001000u\n")

	same := filepath.Join(dir, "same.json")
	code, _, _ = hilgpu("reg", "export", "json", "-o", same)
	require.Equal(t, exit.OK, code)
	code, stdout, stderr = hilgpu("reg", "export", "json", "--against", same)
	assert.Equal(t, exit.OK, code)
	assert.Empty(t, stdout+stderr)
	code, stdout, stderr = hilgpu("reg", "export", "gtkw", "--against", same)
	assert.Equal(t, exit.OK, code, "no folder is needed")
	assert.Empty(t, stdout+stderr)
	code, stdout, _ = hilgpu("reg", "export", "json", "--json", "--against", same)
	assert.Equal(t, exit.OK, code)
	assert.JSONEq(t, `{"changes":[]}`, stdout)
}

func TestRegExportRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("<device/>"), 0o666))
	out := filepath.Join(dir, "out")
	for _, tt := range []struct {
		args []string
		text string
	}{
		{nil, `want "hilgpu reg export FORMAT", got 0 arguments`},
		{[]string{"ipxact"}, `unknown format "ipxact", want one of json, c, sv`},
		{[]string{"c", "--board", "emu"}, "for every board"},
		{[]string{"c", "--against", filepath.Join(dir, "missing")}, "no such file"},
		{[]string{"c", "--against", bad}, "bad.json: regmap: not a map in JSON"},
		{[]string{"c", "-o", filepath.Join(dir, "no", "out")}, "no such file"},
		{[]string{"gtkw", "-o", ""}, "bad input: gtkw has several files, want a folder with -o\n"},
		{[]string{"surfer", "-o", bad}, "bad.json: not a directory"},
	} {
		code, stdout, stderr := hilgpu(append([]string{"reg", "export", "-o", out}, tt.args...)...)
		assert.Equal(t, exit.Usage, code, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.text)
		assert.NoFileExists(t, out)
	}
}
