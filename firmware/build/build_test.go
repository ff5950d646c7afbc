package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

const root = "../.."

// need skips the test without the pinned compiler, and fails it in CI.
func need(t *testing.T) {
	t.Helper()
	tooltest.Need(t, compiler)
	tooltest.NeedVersion(t, checkCompiler(compiler))
}

// tree returns a copy of the sources of the firmware and its image.
func tree(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	for _, dir := range []string{"src", "target", "gen"} {
		require.NoError(t, os.CopyFS(filepath.Join(to, "firmware", dir), os.DirFS(filepath.Join(root, "firmware", dir))))
	}
	for _, name := range []string{"firmware.bin", "log.table", "elf.sha256"} {
		data, err := os.ReadFile(filepath.Join(root, "firmware", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to, "firmware", name), data, 0o666))
	}
	return to
}

// edit replaces a text in a file below dir.
func edit(t *testing.T, dir, name, old, with string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o666))
}

// The checked-in image and the hash of its ELF are those of the sources, in any directory. A
// change of a register that the firmware does not use changes neither.
func TestImageIsOfTheSources(t *testing.T) {
	tooltest.Long(t)
	need(t)
	dir := tree(t)
	edit(t, dir, "firmware/gen/registers.h", "#define ID_VERSION ", "#define ID_OTHER 7\n#define ID_VERSION ")
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run([]string{"-root", dir, "-o", filepath.Join(dir, "out"), "-check"}, &stdout, &stderr), "make firmware builds another image:\n%s%s", &stdout, &stderr)
	assert.Regexp(t, `^firmware: build [0-9a-f]{32}, program of \d+ bytes, stack of \d+, memory of \d+\n$`, stdout.String())
	assert.Empty(t, stderr.String())
}

// A change of the sources is another image, which -check names and otherwise writes.
func TestChange(t *testing.T) {
	tooltest.Long(t)
	need(t)
	dir := tree(t)
	edit(t, dir, "firmware/src/selftest.c", "#define TIMER_CLOCKS 400", "#define TIMER_CLOCKS 401")
	for _, tt := range []struct {
		args  []string
		code  int
		names bool
	}{{[]string{"-check"}, 1, true}, {nil, 0, true}, {[]string{"-check"}, 0, false}} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, tt.code, run(append(tt.args, "-root", dir, "-o", filepath.Join(dir, "out")), &stdout, &stderr))
		assert.Equal(t, tt.names, strings.Contains(stdout.String(), "firmware/firmware.bin\nfirmware/log.table\nfirmware/elf.sha256\n"))
		assert.Empty(t, stderr.String())
	}
}

// The build refuses a program that breaks the rules of the firmware.
func TestRefused(t *testing.T) {
	tooltest.Long(t)
	need(t)
	const (
		loop  = "_Noreturn static void loop(uint32_t memory)\n"
		again = "__attribute__((noinline)) static void again(uint32_t n) { if (n) again(n - 1); write32(LOCAL_KICK, n); }\n"
	)
	for _, tt := range []struct{ name, file, old, with, want string }{
		{"a variable with a value", "src/selftest.c", "static volatile bool fired;", "static volatile bool fired = true;", "a variable has an initial value"},
		{"a large variable", "src/selftest.c", "static volatile uint32_t lanes;", "static volatile uint32_t lanes; volatile uint32_t large[8000];", "the memory has no room for variables and stack"},
		{"a division", "src/selftest.c", "due = now() + TIMER_CLOCKS", "due = now() / (fired_lo + 1)", "selftest -> __udivdi3, whose stack is not known"},
		{"a call through a pointer", "src/boot.c", "	write32(LOCAL_KICK, 0);\n", "	write32(LOCAL_KICK, 0); ((void (*)(void))read32(LOCAL_KICK))();\n", "boot -> __indirect_call, whose stack is not known"},
		{"recursion", "src/boot.c", loop + "{", again + loop + "{ again(read32(LOCAL_KICK));", "recursion boot -> boot.c:again -> boot.c:again"},
		{"a warning", "src/selftest.c", "uint64_t due;", "uint64_t due, unused;", "unused variable"},
		{"a null pointer", "src/boot.c", "	write32(LOCAL_KICK, 0);\n", "	write32(LOCAL_KICK, 0); { uint32_t *p = 0; *p = 1; }\n", "-Werror=analyzer-null-dereference"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t)
			edit(t, dir, "firmware/"+tt.file, tt.old, tt.with)
			var stdout, stderr bytes.Buffer
			code := run([]string{"-root", dir, "-o", filepath.Join(dir, "out")}, &stdout, &stderr)
			assert.Equal(t, 1, code)
			assert.Contains(t, stderr.String(), tt.want)
		})
	}
}

// Another compiler, or none, is one line.
func TestCompiler(t *testing.T) {
	dir := t.TempDir()
	assert.EqualError(t, checkCompiler(filepath.Join(dir, "cc")), "firmware: no compiler: "+filepath.Join(dir, "cc")+
		" is missing, want version 12.2.0 (Debian package gcc-riscv64-unknown-elf)")
	tooltest.Need(t, "bash")
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\necho 13.1.0\n"), 0o777))
	assert.EqualError(t, checkCompiler(other), "firmware: no compiler: "+other+" has version 13.1.0, want 12.2.0")
}

func TestUsage(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 2, run([]string{"x"}, &stdout, &stderr))
	assert.Equal(t, "build: argument \"x\", want only flags\n", stderr.String())
	assert.Equal(t, 2, run([]string{"-nothing"}, &stdout, &stderr))
}

// The registers of BAR0 that the sources name are those of the hash of the layouts.
func TestUses(t *testing.T) {
	blocks := map[string]bool{"MCU": true, "MCUDBG": true}
	for _, b := range regmap.New().Blocks() {
		blocks[b.Name] = true
	}
	used := map[string]bool{}
	for _, pattern := range []string{"src/*.[chS]", "target/*.h"} {
		names, err := filepath.Glob(filepath.Join(root, "firmware", pattern))
		require.NoError(t, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`\b([A-Z]+[01]?)_([A-Z][A-Z0-9_]*)\b`).FindAllStringSubmatch(string(data), -1) {
				if blocks[m[1]] {
					used[register(t, m[1], m[2])] = true
				}
			}
		}
	}
	delete(used, "")
	var got []string
	for name := range used {
		got = append(got, name)
	}
	slices.Sort(got)
	assert.Equal(t, fwabi.Uses(), got)
}

// register returns the register that a name in C belongs to, as in "ID.MAGIC", and "" for a name
// of the memory map.
func register(t *testing.T, block, name string) string {
	t.Helper()
	header, err := os.ReadFile(filepath.Join(root, "firmware", "gen", "registers.h"))
	require.NoError(t, err)
	_, memoryMap, ok := strings.Cut(string(header), "/* Memory map */")
	require.True(t, ok)
	memoryMap, registers, ok := strings.Cut(memoryMap, "\n/*")
	require.True(t, ok)
	if strings.Contains(memoryMap, "#define "+block+"_"+name+" ") {
		return ""
	}
	for short := name; short != ""; short = short[:max(strings.LastIndex(short, "_"), 0)] {
		if regexp.MustCompile(`(?m)^#define ` + block + "_" + short + ` +0x20`).MatchString(registers) {
			return block + "." + short
		}
	}
	require.Fail(t, "no register", "%s_%s", block, name)
	return ""
}
