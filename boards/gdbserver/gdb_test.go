package gdbserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/gdbtest"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/mcu/mcutest"
)

// compile returns the ELF file and the memory of the program of testdata.
func compile(t *testing.T) (elf string, image []byte) {
	t.Helper()
	dir := t.TempDir()
	elf, bin := filepath.Join(dir, "a.elf"), filepath.Join(dir, "a.bin")
	run(t, "riscv64-unknown-elf-gcc", "-march=rv32i", "-misa-spec=2.2", "-mabi=ilp32", "-g", "-O0", "-nostdlib",
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

// debug runs gdb with the program of testdata on a rig, and compares what each command prints.
// pause is called while the program runs, with the process of gdb in a channel.
func debug(t *testing.T, steps []gdbtest.Step, pause func(gdb <-chan *os.Process)) *service {
	t.Helper()
	gdbtest.Need(t)
	elf, image := compile(t)
	r := mcutest.New()
	require.NoError(t, mcu.Load(r, 0, image))
	require.NoError(t, mcu.Run(r))
	started := make(chan *os.Process, 1)
	s := serve(t, r, func() {
		r.Clock()
		if pause != nil {
			pause(started)
		}
	})
	gdb := gdbtest.Begin(t, steps, elf, "-ex", "target remote "+s.addr)
	started <- gdb.Process()
	gdb.End()
	return s
}

// gdb debugs a program in C.
func TestGDB(t *testing.T) {
	s := debug(t, []gdbtest.Step{
		{"info registers misa", `misa +0x40000100\s+RV32I`},
		{"monitor reset", "halted before the instruction at address 0"},
		{"maintenance flush register-cache", ""},
		{"print $pc", `= \(void \(\*\)\(\)\) 0x0 <_start>`},
		{"break program.c:28", `Breakpoint 1 at 0x[0-9a-f]+: file testdata/program.c, line 28`},
		{"continue", `Breakpoint 1, add \(a=0, b=1\) at testdata/program.c:28`},
		{"backtrace", `^#0  add .*\n#1 .* in work \(n=1\) .*\n#2 .* in main \(\)[^#]*$`},
		{"print corner", `= \{x = -3, y = 7, name = "top", color = \{r = 1 .*, g = 2 .*, b = 3 .*, a = 255 .*\}\}`},
		{"set variable corner.color.g = 77", "^$"},
		{"set variable corner.y = -2", "^$"},
		{"print corner", `= \{x = -3, y = -2, name = "top", color = \{r = 1 .*, g = 77 .*, b = 3 .*, a = 255 .*\}\}`},
		{"set variable sum = 1000", "^$"},
		{"finish", `in work \(n=1\) .*Value returned is \$\d+ = 1000$`},
		{"next", `34\s+RAISE;`},
		{"next", `35\s+rounds\+\+;`},
		{"print total", "= 1000$"},
		{"delete", ""},
		{"watch total", "Hardware watchpoint 2: total"},
		{"continue", `Hardware watchpoint 2: total\s+Old value = 1000\s+New value = 1001\s.*work \(n=1\) at testdata/program.c:34`},
		{"continue", `Old value = 1001\s+New value = 1002\s`},
		{"rwatch rounds", ""},
		{"continue", "Could not insert hardware watchpoint"},
		{"delete", ""},
		{"break *&trap", ""},
		{"continue", "Breakpoint 4, <signal handler called>"},
		{"backtrace", `^#0  <signal handler called>\n#1 .*work \(n=1\) at testdata/program.c:35\n#2 .* in main \(\)[^#]*$`},
		{"set $stack = $sp", "^$"}, {"set $link = $ra", "^$"}, {"set $argument = $a5", "^$"},
		{"hbreak program.c:20", "Hardware assisted breakpoint"},
		{"continue", `handle \(cause=2147483655\) at testdata/program.c:20`},
		{"backtrace", `^#0  handle .*\n#1  <signal handler called>\n#2  .*work \(n=1\) at testdata/program.c:35\n#3 .* in main \(\)[^#]*$`},
		{"up 2", `#2 .*work \(n=1\)`},
		{"print n", "= 1$"},
		{"print $sp == $stack && $ra == $link && $a5 == $argument", "= 1$"},
		{"print $pc == $mepc", "= 1$"},
		{"print total - interrupts", "= 1000$"},
		{"info registers mcause mstatus mie", `mcause +0x80000007\s.*mstatus +0x1880\s.*mie +0x80\s+128$`},
		{"set $mscratch = 0x12345678", "^$"},
		{"print/x $mscratch", "= 0x12345678$"},
		{"print *(unsigned *)0x4000", "Cannot access memory at address 0x4000"},
		{"delete", ""},
		{"stepi", ""},
		{"detach", "detached"},
	}, nil)
	s.stop()
	before := s.Accesses
	running(t, s)
	assert.NotEqual(t, before, s.Accesses)
}

// A fifth breakpoint is refused, and gdb says so.
func TestGDBFiveBreakpoints(t *testing.T) {
	debug(t, []gdbtest.Step{
		{"break handle", "Breakpoint 1"}, {"break add", "Breakpoint 2"}, {"break work", "Breakpoint 3"},
		{"break main", "Breakpoint 4"}, {"break *0", "Breakpoint 5"},
		{"continue", "Cannot insert breakpoint [1-5]"},
		{"delete 5", ""},
		{"continue", "Breakpoint 4, main"},
		{"continue", "Breakpoint 3, work"},
	}, nil)
}

// ctrl-C stops the program that runs.
func TestGDBInterrupt(t *testing.T) {
	pauses := 0
	debug(t, []gdbtest.Step{
		{"continue", "Program received signal SIGINT, Interrupt"},
		{"print rounds > 0", "= 1$"},
		{"kill", "killed"},
	}, func(gdb <-chan *os.Process) {
		if pauses++; pauses == 1000 {
			assert.NoError(t, (<-gdb).Signal(os.Interrupt))
		}
	})
}

// A watchpoint of more than a word is refused, unless gdb knows the limit and steps.
func TestGDBLargeWatchpoint(t *testing.T) {
	debug(t, []gdbtest.Step{
		{"watch *(long long *)&corner", "Hardware watchpoint 1"},
		{"continue", "Could not insert hardware watchpoint 1"},
		{"delete", ""},
		{"set remote hardware-watchpoint-length-limit 4", "^$"},
		{"watch corner", "^Watchpoint 2: corner"},
		{"continue", "Watchpoint 2: corner.*Old value = .*r = 1 .*New value = .*r = 2 "},
	}, nil)
}
