package gateware

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Each row is complete, and its shell has the pins as ports.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, b := range All() {
		assert.False(t, names[b.Name], b.Name)
		names[b.Name] = true
		assert.NoError(t, b.Part.Target.Check())
		assert.True(t, (b.New == nil) != (b.NewEther == nil) && (len(b.Rates) != 0) == (b.New != nil), b.Name)
		for _, text := range []string{b.Title, b.Config, b.Source, b.Tried, b.Programs, b.Part.Name} {
			assert.NotEmpty(t, text, b.Name)
		}
		assert.Positive(t, b.Seed)
		balls := map[string]bool{}
		for _, p := range b.Pins {
			assert.False(t, balls[p.Ball], "%s twice", p.Ball)
			balls[p.Ball] = true
			port, _, _ := strings.Cut(p.Port, "[")
			assert.Regexp(t, `(?m)^  (input|output) +wire .*\b`+port+`,?$`, string(b.Shell))
		}
		for _, m := range b.Macros {
			assert.Contains(t, string(b.Shell), "`"+m[0], b.Name)
		}
		assert.NotZero(t, b.Build())
		assert.Equal(t, b.Name, ByBuild(b.Build(), Addresses{}))
	}
	assert.Empty(t, ByBuild(0, Addresses{}))
	_, err := Find("vapour")
	assert.ErrorIs(t, err, ErrBoard)
	assert.EqualError(t, err, `gateware: unknown board: "vapour", want ice40-hx8k or ulx3s or ulx3s-mcu or ulx3s-25f or ulx3s-12f or colorlight-i5`)
}

// The hash of the source does not depend on itself, and pins has that of the bitstream. Of
// boards with the same shell the first one is tested; make gen-check compares all hashes. A board
// on Ethernet has other addresses here, which are in its Verilog.
func TestBuild(t *testing.T) {
	tooltest.Long(t)
	seen := map[string]bool{}
	for _, b := range All() {
		if seen[string(b.Shell)] {
			continue
		}
		seen[string(b.Shell)] = true
		if b.NewEther != nil {
			var err error
			b, err = b.At(Addresses{MAC: "02:0a:0b:0c:0d:0e", IP: "192.0.2.33", Port: "700"})
			require.NoError(t, err)
		}
		g, build, err := b.Make("../..")
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%08x", build), fmt.Sprintf("%08x", b.Build()), "boards/gateware/builds.go is of another source: make gen")
		assert.NotEqual(t, build, g.Hash(), "it does not contain itself")
		text := ""
		for _, f := range g.Source.Files {
			text += string(f.Text)
		}
		assert.Contains(t, text, fmt.Sprintf("32'h%x", build))
		if b.NewEther != nil {
			assert.True(t, strings.Contains(text, "'h20a0b0c0d0e"), "the MAC address")
		}
		assert.Equal(t, b.Hz, uint64(g.Source.MHz*1e6))
	}
}

// fake puts a program on the path that prints its name and arguments, and fails on the file
// bad.bin.
func fake(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\necho " + name + " \"$@\"\ncase \"$*\" in *bad.bin) exit 3;; esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	t.Setenv("PATH", dir)
}

func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	b, err := Find("ice40-hx8k")
	require.NoError(t, err)
	dir := t.TempDir()
	assert.Equal(t, filepath.Join(dir, "ice40-hx8k.bin"), b.File(dir))
	good, bad := filepath.Join(dir, "good.bin"), filepath.Join(dir, "bad.bin")
	for _, file := range []string{good, bad} {
		require.NoError(t, os.WriteFile(file, []byte("\xff\x00\x00\xff\x7e\xaa\x99\x7e"), 0o600))
	}
	other := filepath.Join(dir, "other.bin")
	var log bytes.Buffer
	fake(t, "openFPGALoader")
	require.NoError(t, b.Program(good, &log))
	assert.Equal(t, "openFPGALoader -b ice40_generic "+good+"\n", log.String())
	assert.ErrorIs(t, b.Program(bad, &log), ErrProgram)
	assert.ErrorIs(t, b.Program(filepath.Join(dir, "none.bin"), &log), ErrFile)
	assert.ErrorIs(t, b.Program(dir, &log), ErrFile)
	for _, text := range []string{"", "text", "\xff\x00\xff\xff\xff\xff\xbd\xb3"} {
		require.NoError(t, os.WriteFile(other, []byte(text), 0o600))
		assert.ErrorIs(t, b.Program(other, &log), ErrFile, "%q", text)
	}

	log.Reset()
	fake(t, "iceprog")
	require.NoError(t, b.Program(good, &log))
	assert.Equal(t, "iceprog "+good+"\n", log.String())

	t.Setenv("PATH", dir)
	err = b.Program(good, &log)
	assert.ErrorIs(t, err, synth.ErrTool)
	assert.EqualError(t, err, "synth: missing tool: openFPGALoader (Debian package openfpgaloader), or iceprog (Debian package fpga-icestorm)")
	b.Iceprog = false
	assert.EqualError(t, b.Program(good, &log), "synth: missing tool: openFPGALoader (Debian package openfpgaloader)")
}
