package export_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// text returns the map in a format.
func text(t *testing.T, format string) string {
	t.Helper()
	f, err := export.Find(format)
	require.NoError(t, err)
	files := f.Files()
	require.Len(t, files, 1)
	return string(files[0].Data)
}

// words returns the constants that a header or package must have, from the tables.
func words() map[string]uint32 {
	all := map[string]uint32{}
	for _, e := range regmap.New().Entries() {
		name := e.Block.Name + "_" + e.Reg.Name
		all[e.Block.Name+"_BASE"], all[name] = e.Block.Base, e.Off()
		if !e.Reg.Config {
			all[name+"_RESET"] = e.Reg.Reset
		}
		for _, f := range e.Reg.Fields {
			shift := 0
			for f.Mask>>shift&1 == 0 {
				shift++
			}
			all[name+"_"+f.Name+"_MASK"], all[name+"_"+f.Name+"_SHIFT"] = f.Mask, uint32(shift)
			for i, value := range f.Enum {
				all[name+"_"+f.Name+"_IS_"+value] = uint32(i)
			}
		}
	}
	return all
}

// written writes files to a new directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}

// ran runs a program in a directory and returns its output.
func ran(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	c := exec.Command(program, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// The hash of the map is that of the exported JSON.
func TestJSONHasTheMapHash(t *testing.T) {
	sum := sha256.Sum256([]byte(strings.TrimSuffix(text(t, "json"), "\n")))
	assert.Equal(t, regmap.Hash(), binary.BigEndian.Uint32(sum[:]))
	changes, err := regmap.Compare([]byte(text(t, "json")))
	require.NoError(t, err)
	assert.Empty(t, changes)
}

// TestC: a compiler reads each constant of the header with its value, in C and in C++, and the
// header defines nothing else.
func TestC(t *testing.T) {
	tooltest.Need(t, "gcc", "g++")
	var checks strings.Builder
	checks.WriteString("#include \"hilgpu.h\"\n#include \"hilgpu.h\"\n#ifdef __cplusplus\n#define CHECK static_assert\n#else\n#define CHECK _Static_assert\n#endif\n")
	want := words()
	for name, v := range want {
		fmt.Fprintf(&checks, "CHECK(HILGPU_%s == %dull, \"%[1]s\");\n", name, v)
	}
	checks.WriteString("CHECK(HILGPU_GET(0x60u, HILGPU_CP0_STATUS_STATE) == HILGPU_CP0_STATUS_STATE_IS_CLEAR, \"get\");\n")
	checks.WriteString("CHECK(HILGPU_SET(0xffffffffu, HILGPU_CP0_STATUS_STATE, 2u) == 0xffffffafu, \"set\");\n")
	header := text(t, "c")
	dir := written(t, map[string]string{"hilgpu.h": header, "a.c": checks.String(), "a.cc": checks.String()})
	ran(t, dir, "gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "a.c")
	ran(t, dir, "g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-c", "a.cc")
	assert.Len(t, regexp.MustCompile(`(?m)^#define HILGPU_\w+ 0x`).FindAllString(header, -1), len(want))
}

// TestSystemVerilog: Icarus and Verilator read the package, and Icarus prints each constant
// with its value.
func TestSystemVerilog(t *testing.T) {
	tooltest.Need(t, "iverilog", "verilator")
	var top strings.Builder
	top.WriteString("module top;\n\timport hilgpu_registers::*;\n\tinitial begin\n")
	want := words()
	for name := range want {
		fmt.Fprintf(&top, "\t\t$display(\"%s %%0d\", %[1]s);\n", name)
	}
	top.WriteString("\tend\nendmodule\n")
	dir := written(t, map[string]string{"hilgpu.sv": text(t, "sv"), "top.sv": top.String()})
	ran(t, dir, "iverilog", "-g2012", "-Wall", "-o", "top", "hilgpu.sv", "top.sv")
	got := map[string]uint32{}
	for _, line := range strings.Split(strings.TrimSpace(ran(t, dir, "vvp", "top")), "\n") {
		name, value, _ := strings.Cut(line, " ")
		n, err := strconv.ParseUint(value, 10, 32)
		require.NoError(t, err)
		got[name] = uint32(n)
	}
	assert.Equal(t, want, got)
	ran(t, dir, "verilator", "--lint-only", "-Wall", "-Wno-DECLFILENAME", "hilgpu.sv", "top.sv")
}

// TestCSV: the rows have the columns that LiteX reads, and each register its address.
func TestCSV(t *testing.T) {
	r := csv.NewReader(strings.NewReader(text(t, "csv")))
	r.Comment, r.FieldsPerRecord = '#', 5
	rows, err := r.ReadAll()
	require.NoError(t, err)
	got := map[string]string{}
	for _, row := range rows {
		if row[0] == "csr_register" {
			assert.Equal(t, "1", row[3])
			got[row[1]] = row[2] + " " + row[4]
		}
	}
	want := map[string]string{}
	for _, e := range regmap.New().Entries() {
		mode := map[reg.Access]string{reg.RO: "ro", reg.RW: "rw", reg.W1C: "rw", reg.WO: "rw"}[e.Reg.Access]
		want[strings.ToLower(e.Block.Name+"_"+e.Reg.Name)] = fmt.Sprintf("0x%08x %s", e.Off(), mode)
	}
	assert.Equal(t, want, got)
}

func TestUnknownFormat(t *testing.T) {
	_, err := export.Find("ipxact")
	assert.ErrorIs(t, err, export.ErrFormat)
	assert.ErrorContains(t, err, "json, c, sv, svd, svd-safe, rdl, html, csv, gtkw, surfer")
}

// The first file of a format is the one to open.
func TestFiles(t *testing.T) {
	for _, f := range export.Formats() {
		files := f.Files()
		assert.Equal(t, "hilgpu"+f.Suffix, files[0].Name)
		assert.Equal(t, f.Folder(), len(files) > 1, f.Name)
	}
}
