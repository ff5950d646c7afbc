package main

import (
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
		code, stdout, stderr := hilgpu("reg", "export", f.Name)
		assert.Equal(t, exit.OK, code, stderr)
		assert.Equal(t, string(f.Bytes()), stdout)
		code, stdout, _ = hilgpu("reg", "export", f.Name, "-o", file)
		assert.Equal(t, exit.OK, code)
		assert.Regexp(t, `^\S+: \d+ bytes, map 0x[0-9a-f]{8}\n$`, stdout)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(f.Bytes()), string(text))
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
		{nil, "accepts 1 arg(s), received 0"},
		{[]string{"ipxact"}, `unknown format "ipxact", want one of json, c, sv`},
		{[]string{"c", "--board", "emu"}, "for every board"},
		{[]string{"c", "--against", filepath.Join(dir, "missing")}, "no such file"},
		{[]string{"c", "--against", bad}, "bad.json: regmap: not a map in JSON"},
		{[]string{"c", "-o", filepath.Join(dir, "no", "out")}, "no such file"},
	} {
		code, stdout, stderr := hilgpu(append([]string{"reg", "export", "-o", out}, tt.args...)...)
		assert.Equal(t, exit.Usage, code, stderr)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.text)
		assert.NoFileExists(t, out)
	}
}
