package core

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// The limit of clocks an instruction in Dhrystone.
const mostClocks = 4.0

// compiled returns the memory of a program in C.
func compiled(t *testing.T, source string, options ...string) []uint32 {
	t.Helper()
	dir := t.TempDir()
	elf, image := filepath.Join(dir, "a.elf"), filepath.Join(dir, "a.bin")
	args := append([]string{"-march=rv32i", "-misa-spec=2.2", "-mabi=ilp32", "-nostdlib", "-nostartfiles", "-ffreestanding",
		"-Wall", "-Wextra", "-Werror", "-T", "testdata/program.ld", "-Wl,--no-warn-rwx-segments", "-I", "testdata", "-o", elf}, options...)
	run(t, "riscv64-unknown-elf-gcc", append(args, "testdata/start.S", filepath.Join("testdata", source), "-lgcc")...)
	run(t, "riscv64-unknown-elf-objcopy", "-O", "binary", elf, image)
	data, err := os.ReadFile(image)
	require.NoError(t, err)
	words := make([]uint32, (len(data)+3)/4)
	for i, b := range data {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	return words
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}

// An output is what a program gives to its bus.
type output struct {
	words  []uint32
	clock  []uint64 // of each word
	done   []uint32 // minstret at each word
	result uint32
}

// execute runs a program in C to its end.
func execute(t *testing.T, words []uint32) output {
	t.Helper()
	r := newRig(t, Config{Bytes: 16 << 10, Counters: true}, words...)
	var out output
	ends := false
	r.slave = func(q Request) Answer {
		if q.Addr == 0x40000004 {
			out.result, ends = q.Data, true
			return Answer{Done: true}
		}
		out.words = append(out.words, q.Data)
		out.clock = append(out.clock, r.clock)
		out.done = append(out.done, r.m.instret)
		return Answer{Done: true}
	}
	for range 20_000_000 {
		if ends {
			return out
		}
		r.tick()
		require.False(t, r.m.state == stateCause, "an exception: %d at %#x, %#x", r.m.cause, r.m.pc, r.m.acc)
	}
	require.Fail(t, "the program does not end")
	return out
}

// Programs that gcc makes print on the core what they print on the PC.
func TestPrograms(t *testing.T) {
	tooltest.Need(t, "riscv64-unknown-elf-gcc", "gcc")
	native := filepath.Join(t.TempDir(), "mixed")
	run(t, "gcc", "-O1", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-I", "testdata", "-o", native, "testdata/mixed.c")
	want := strings.Fields(run(t, native))
	require.Len(t, want, 12+12+10+4+15)
	for _, level := range []string{"-O0", "-O2", "-Os"} {
		out := execute(t, compiled(t, "mixed.c", level, "-fwrapv"))
		var got []string
		for _, w := range out.words {
			got = append(got, fmt.Sprintf("%08x", w))
		}
		assert.Equal(t, want, got, level)
		assert.Zero(t, out.result)
	}
}

// Dhrystone ends with the right values, and takes at most 4.0 clocks an instruction.
func TestDhrystone(t *testing.T) {
	tooltest.Need(t, "riscv64-unknown-elf-gcc")
	for _, level := range []string{"-O0", "-O2", "-Os"} {
		out := execute(t, compiled(t, "dhrystone.c", level, "-DRUNS=100", "-fno-tree-loop-distribute-patterns"))
		require.EqualValues(t, 1, out.result, level)
		clocks, instructions := out.clock[1]-out.clock[0], out.done[1]-out.done[0]
		each := float64(clocks) / float64(instructions)
		t.Logf("%s: %d clocks and %d instructions in 100 runs, %.2f clocks an instruction", level, clocks, instructions, each)
		assert.LessOrEqual(t, each, mostClocks, level)
	}
}
