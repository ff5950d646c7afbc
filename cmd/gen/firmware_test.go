package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

func TestBlockOfHeader(t *testing.T) {
	h := newHeader("Doc.")
	h.block(reg.Block{Name: "A", Base: 0x100, Size: 0x100, Doc: "a block", Regs: []reg.Reg{
		{Off: 4, Name: "R", Reset: 3, Fields: []reg.Field{{Mask: 0x30, Name: "F", Enum: []string{"X", "Y"}}, {Mask: 1 << 31, Name: "G"}}},
		{Off: 8, Name: "S", Reset: 1, Config: true},
	}}, 0x2000_0000)
	got, err := h.bytes()
	require.NoError(t, err)
	assert.Equal(t, headerNote+`
/* Doc. */
#pragma once

/* A: a block */
#define A                                    0x20000100
#define A_R                                  0x20000104
#define A_R_RESET                            0x00000003
#define A_R_F                                0x00000030
#define A_R_F_SHIFT                          4
#define A_R_F_X                              0
#define A_R_F_Y                              1
#define A_R_G                                0x80000000
#define A_R_G_SHIFT                          31
#define A_S                                  0x20000108
`, string(got))
}

func TestNameDefinedTwice(t *testing.T) {
	h := newHeader("Doc.")
	h.block(reg.Block{Name: "A", Size: 8, Regs: []reg.Reg{{Name: "B_C"}, {Off: 4, Name: "B", Fields: []reg.Field{{Mask: 1, Name: "C"}}}}}, 0)
	_, err := h.bytes()
	assert.ErrorIs(t, err, errHeader)
	assert.EqualError(t, err, "gen: bad C header: A_B_C is defined twice")
}

// A compiler reads the headers as the tables have them: addresses as the program sees them, and
// the structure of the header of an image.
func TestHeadersCompile(t *testing.T) {
	tooltest.Need(t, "gcc")
	dir := t.TempDir()
	for name, generate := range map[string]func() ([]byte, error){"registers.h": registersH, "boot_abi.h": bootH} {
		data, err := generate()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	values := map[string]uint32{
		"ID_MAGIC": 0x2000_0000, "ID_MAGIC_RESET": 0x4750_4c48, "ID_ERR_INFO_CAUSE_OWNER": 4, "ID_ERR_INFO_BAR": 0x700,
		"CP1_CTL": 0x2000_1100, "MCU_INFO": 0x2000_0600, "MCU_WINDOW6_SIZE_WRITE": 1, "MCUDBG_CTL": 0x2000_0700, "MSIX_ADDR_LO0": 0x2000_8000,
		"ARB_EVENTS": 0x2000_0400, "LOCAL_TIME_LO": 0x1000_0000, "LOCAL_FREE_HI": 0x1000_0024, "MCU_THROUGH": 0x8000_0000,
		"MAIL_CHECKPOINT": 0x1000_0040, "MAIL_BUILD": 0x1000_005c, "MAIL_TEST_WINDOW_SHIFT": 29, "RESULT_READY": 0x5944_4552,
		"HEADER_BUILD": 12, "offsetof(struct image_header, crc)": 40, "sizeof(struct image_header)": 48, "FIRMWARE_LAYOUT": fwabi.LayoutHash(),
		"FIRMWARE_MAGIC": 0x5746_4c48, "STAGE_TIMER": 6,
	}
	var c strings.Builder
	c.WriteString("#include \"registers.h\"\n#include \"boot_abi.h\"\n")
	for name, value := range values {
		fmt.Fprintf(&c, "_Static_assert((unsigned)%s == %#xu, \"%s\");\n", name, value, name)
	}
	source := filepath.Join(dir, "a.c")
	require.NoError(t, os.WriteFile(source, []byte(c.String()), 0o666))
	out, err := exec.Command("gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source).CombinedOutput()
	assert.NoError(t, err, "%s", out)
	for _, name := range []string{"registers.h", "boot_abi.h"} {
		out, err := exec.Command("gcc", "-E", "-x", "assembler-with-cpp", filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), "struct", name)
	}
}
