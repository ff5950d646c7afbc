package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// What keeps a build or a board from being written is one line and bad input.
func TestBoardBuildRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		name, args, says string
	}{
		{"an unknown board", "build vapour", `gateware: unknown board: "vapour", want ice40-hx8k`},
		{"no board", "build", `want "hilgpu board build NAME", got 0 arguments`},
		{"a missing tool", "build ice40-hx8k --source ../.. -o " + dir, "synth: missing tool: yosys (Debian package yosys)"},
		{"a directory that cannot be made", "build ice40-hx8k --source ../.. -o " + file + "/x", "synth: bad directory: mkdir "},
		{"a directory that is a file", "build ice40-hx8k --source ../.. -o " + file, "synth: bad directory: mkdir "},
		{"a directory that cannot be written", "build ice40-hx8k --source ../.. -o " + sealed(t), "synth: bad directory: open "},
		{"no source", "build ice40-hx8k --source /", "run there, or give --source DIR"},
		{"a MAC address of a group", "build colorlight-i5 --mac 03:00:00:00:00:01", "gateware: bad address: mac=03:00:00:00:00:01, want that of one station"},
		{"no MAC address", "build colorlight-i5 --mac 00:00:00:00:00:00", "mac=00:00:00:00:00:00"},
		{"an IP address of a group", "build colorlight-i5 --ip 224.0.0.1", "ip=224.0.0.1, want an IPv4 address of one host"},
		{"port 0", "build colorlight-i5 --port 0", "port=0, want a number from 1 to 65535"},
		{"an address without an Ethernet", "build ulx3s --ip 10.0.0.9", "ip=10.0.0.9, want a board on Ethernet"},
		{"a board to flash that is unknown", "flash vapour", `gateware: unknown board: "vapour", want ice40-hx8k`},
		{"no bitstream", "flash ice40-hx8k -o " + dir, "ice40-hx8k.bin: build it with: hilgpu board build ice40-hx8k"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir())
			code, stdout, stderr := hilgpu(append([]string{"board"}, strings.Fields(tt.args)...)...)
			assert.Equal(t, exit.Usage, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tt.says)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

// sealed returns a directory in which nothing can be written. /proc refuses root too.
func sealed(t *testing.T) string {
	if runtime.GOOS == "linux" {
		return "/proc"
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	return dir
}

func TestBoardFlash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ice40-hx8k.bin")
	require.NoError(t, os.WriteFile(file, []byte("\xff\x00\x00\xff\x7e\xaa\x99\x7e"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openFPGALoader"), []byte("#!/bin/sh\necho loads \"$@\"\n"), 0o755))
	t.Setenv("PATH", dir)
	code, stdout, stderr := hilgpu("board", "flash", "ice40-hx8k", "-o", dir)
	assert.Zero(t, code, stderr)
	assert.Equal(t, "loads -b ice40_generic "+file+"\n", stderr)
	assert.Equal(t, "ice40-hx8k has "+file+"\n", stdout)
}
