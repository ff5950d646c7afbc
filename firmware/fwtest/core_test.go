package fwtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/corefile"
	"github.com/hilgpu/hilgpu/firmware/gdbtest"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// hang makes the watchdog halt the firmware in the middle of a request.
func (r *queueRig) hang(clocks uint32) {
	r.t.Helper()
	require.NoError(r.t, r.Write(mcureg.Base+mcureg.Limit, clocks))
	r.send(fwabi.OpPing)
	for n := 0; ; n++ {
		require.Less(r.t, n, 1000)
		v, err := r.Read(mcureg.Base + mcureg.Status)
		require.NoError(r.t, err)
		if v&mcureg.StatusHung != 0 && v&mcureg.StatusHalted != 0 {
			return
		}
	}
}

// gdb opens the core file of a firmware that the watchdog has halted: it shows where it was, its
// variables, its CSRs, its registers and those of the microcontroller.
func TestCoreFile(t *testing.T) {
	tooltest.Long(t)
	gdbtest.Need(t)
	r := newQueueRig(t)
	r.create(3, 1, 2, 5000)
	r.hang(700)
	pc, err := r.Read(mcureg.DebugBase + mcureg.PC)
	require.NoError(t, err)
	s, err := corefile.Take(r, 100)
	require.NoError(t, err)
	assert.Equal(t, mcu.Hung, s.Cause)
	core := filepath.Join(t.TempDir(), "core")
	require.NoError(t, os.WriteFile(core, s.Bytes(), 0o666))
	gdbtest.Begin(t, []gdbtest.Step{
		{"info registers pc", fmt.Sprintf("^pc +0x%x\\s", pc)},
		{"backtrace", `^#0 [^\n]* in [^\n]*\n(#\d [^\n]*\n)*#\d [^\n]* boot \([^\n]*\n#\d [^\n]* begin \(\)[^\n]*$`},
		{"print queues[3]", `state = 1, cause = 0, node = 1, priority = 2, quantum = 5000, `},
		{"print nodes[0].state", "= NODE_READY"},
		{"info registers misa mtvec", `misa +0x40000100\s.*mtvec +0x`},
		{"print/x $mcause", "= 0x80000007$"}, // the timer interrupt of the self-test, the last trap: the loop takes none
		{"info symbol $mepc", "^(selftest|test_timer)"},
		{"print *(unsigned *)0x2000061c", "Cannot access memory"},
		{"print/x *(unsigned *)0x10000044", "= 0x59444552$"},
		{"print *(unsigned *)0x20000608", "= 6$"}, // HALTED, HUNG
		{"print *(unsigned *)0x2000060c", "= 700$"},
		{"print/x *(unsigned *)0x20000620", "= 0x30016$"}, // CP0, CP1, ARB, PERF, INTC
	}, "-iex", "set osabi none", gdbtest.ELF(t, "../.."), core).End()
}
