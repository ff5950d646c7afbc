package gdbserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/mcu"
	"github.com/hilgpu/hilgpu/boards/mcu/mcutest"
	"github.com/hilgpu/hilgpu/rtl/mcu/core"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// compile returns the ELF file and the memory of the program of testdata.
func compile(t *testing.T) (elf string, image []byte) {
	t.Helper()
	dir := t.TempDir()
	elf, bin := filepath.Join(dir, "a.elf"), filepath.Join(dir, "a.bin")
	run(t, "riscv64-unknown-elf-gcc", "-march=rv32i", "-misa-spec=2.2", "-mabi=ilp32", "-g", "-Og", "-fno-inline", "-nostdlib",
		"-nostartfiles", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-T", "testdata/program.ld",
		"-Wl,--no-warn-rwx-segments", "-o", elf, "testdata/start.S", "testdata/program.c")
	run(t, "riscv64-unknown-elf-objcopy", "-O", "binary", elf, bin)
	image, err := os.ReadFile(bin)
	require.NoError(t, err)
	return elf, image
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}

func TestGDB(t *testing.T) {
	tooltest.Need(t, "riscv64-unknown-elf-gcc", "gdb-multiarch")
	elf, image := compile(t)
	r := mcutest.New()
	r.Slave = func(q core.Request) core.Answer {
		r.IRQ.Software = q.Enable != 0 && q.Data != 0
		return core.Answer{Done: true}
	}
	require.NoError(t, mcu.Load(r, 0, image))
	require.NoError(t, mcu.Run(r))
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte(os.Getenv("GDBSCRIPT")), 0o644))
	t.Log(run(t, "gdb-multiarch", "-nx", "-batch", "-ex", "target remote "+serve(t, r, r.Tick).addr, "-x", script, elf))
}
