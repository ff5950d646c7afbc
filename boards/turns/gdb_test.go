package turns_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/gdbtest"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// line returns the place of the only line of selftest.c that has a text.
func line(t *testing.T, text string) string {
	t.Helper()
	source, err := os.ReadFile("../../firmware/src/selftest.c")
	require.NoError(t, err)
	before, _, found := strings.Cut(string(source), text)
	require.True(t, found && strings.Count(string(source), text) == 1, "one line of selftest.c has %q", text)
	return fmt.Sprintf("selftest.c:%d", strings.Count(before, "\n")+1)
}

// gdb runs gdb at a server.
func gdb(t *testing.T, elf, addr string, steps []gdbtest.Step) {
	t.Helper()
	gdbtest.Begin(t, steps, elf, "-ex", "directory ../..", "-ex", "target remote "+addr).End()
}

// options let the firmware boot with a window in VRAM.
func options() firmware.Options {
	o := firmware.Options{Blocks: 1 << 2, Limit: 1 << 20, Test: true, TestWindow: 2, Clocks: 1 << 20}
	o.Windows[2] = firmware.Window{Base: 0x1000, Bytes: 0x1000, Write: true}
	return o
}

// gdb debugs the boot of the firmware while a command loads it. TestGDBInQueues of cmd/hilgpu debugs its loop.
func TestGDB(t *testing.T) {
	tooltest.Long(t)
	gdbtest.Need(t)
	path := gdbtest.ELF(t, "../..")
	s, err := turns.Serve("0,wait", func(err error) { t.Errorf("%v", err) })
	require.NoError(t, err)
	loaded := make(chan firmware.Boot, 1)
	go func() {
		defer close(loaded)
		link, _, err := boards.OpenWith("emu?config=full", regs.NoMemory{}, boards.Options{Share: s.Share})
		if !assert.NoError(t, err) {
			return
		}
		f, err := regs.Open(link, regs.Options{})
		assert.NoError(t, err)
		b, err := firmware.Load(mcu.Over(link), firmware.Default(), options())
		assert.NoError(t, err)
		assert.NoError(t, f.Close())
		assert.NoError(t, link.Close())
		loaded <- b
	}()
	gdb(t, path, s.Addr, []gdbtest.Step{
		{"print $pc", `= \(void \(\*\)\(\)\) 0x0 <_start>`},
		{"break " + line(t, "due = now() + TIMER_CLOCKS;"), "Breakpoint 1"},
		{"continue", `Breakpoint 1, test_timer \(\) at .*selftest.c:\d+\s+\d+\s+due = now\(\) \+ TIMER_CLOCKS;`},
		{"backtrace", `^#0  test_timer \(\) .*\n(#\d .* selftest \([^#]*\) [^#]*\n)+#\d .* boot \([^#]*\) [^#]*\n#\d .* begin \(\)[^#]*$`},
		{"print finding", `= \{stage = ` + fmt.Sprint(fwabi.StageTimer) + `, result = 0, `},
		{"set $time = *(unsigned *)0x10000000", "^$"},
		{"shell sleep 0.2", "^$"},
		{"print *(unsigned *)0x10000000 - $time < 1000", "= 1$"},
		{"next", `^\d+\s+\w.*;$`},
		{"print fired", "= false"},
		{fmt.Sprintf("print *(unsigned *)0x10000040 == %d", fwabi.StageTimer), "= 1$"},
		{"break interrupt", "Breakpoint 2"},
		{"continue", `Breakpoint 2, interrupt \(cause=2147483655\)`},
		{"backtrace", `^#0  interrupt \(cause=2147483655\) [^#]*\n#1  <signal handler called>\n#2 .* test_timer \(\) [^#]*\n(#\d .* selftest \([^#]*\) [^#]*\n)+#\d .* boot \([^#]*\) [^#]*\n#\d .* begin \(\)[^#]*$`},
		{"print $mcause", "= -?2147483641|= 2147483655"},
		{"stepi", `^0x[0-9a-f]+\s+\d+\s`},
		{"finish", "Run till exit|<signal handler called>"},
		{"delete", "^$"},
		{fmt.Sprintf("print *(unsigned *)0x20000000 == %d", uint32(idreg.MagicValue)), "= 1$"},
		{"detach", "detached"},
	})
	b := <-loaded
	assert.Equal(t, "READY", b.Outcome())
	assert.NoError(t, s.Close())
}

// An exception shows the instruction that caused it.
func TestGDBTrap(t *testing.T) {
	tooltest.Long(t)
	gdbtest.Need(t)
	path := gdbtest.ELF(t, "../..")
	s, err := turns.Serve("127.0.0.1:0,wait", func(err error) { t.Errorf("%v", err) })
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		done <- boards.WithRegisters("emu?config=full", boards.Options{Share: s.Share}, regs.Options{}, func(f *regs.Function) error {
			_, err := firmware.Load(mcu.Over(f.Link()), firmware.Default(), options())
			return err
		})
	}()
	gdb(t, path, s.Addr, []gdbtest.Step{
		{"break " + line(t, "due = now() + TIMER_CLOCKS;"), "Breakpoint 1"},
		{"continue", "Breakpoint 1, .*test_timer"},
		{"break *&trapped", "Breakpoint 2"},
		{"set variable *(unsigned *)$pc = 0x3003", "^$"}, // LD, which RV32I does not have
		{"set $at = $pc", "^$"},
		{"continue", "Breakpoint 2, <signal handler called>"},
		{"backtrace", `^#0  <signal handler called>\n#1 .* test_timer \(\) [^#]*\n(#\d .* selftest \([^#]*\) [^#]*\n)+#\d .* boot \([^#]*\) [^#]*`},
		{"print $mepc == $at && $mcause == 2", "= 1$"},
		{"detach", "detached"},
	})
	require.ErrorIs(t, <-done, firmware.ErrTrap)
	assert.NoError(t, s.Close())
}
