package main

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/firmware/gdbtest"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// A queuesRun composes with queues of the firmware, while gdb debugs the firmware.
type queuesRun struct {
	t      *testing.T
	link   bus.Link // of the drivers
	resume string   // a file that gdb makes when it has interrupted the firmware
	gdb    chan *os.Process
	ended  atomic.Bool // gdb has ended
	asked  bool        // gdb was interrupted
}

// share keeps the link that gdb shares with the drivers.
func (d *queuesRun) share(s *turns.Server) func(bus.Link, bus.Clock, bool) (bus.Link, bus.Clock, error) {
	return func(l bus.Link, c bus.Clock, virtual bool) (bus.Link, bus.Clock, error) {
		l, c, err := s.Share(l, c, virtual)
		d.link = l
		return l, c, err
	}
}

// interrupt is called between two pieces of work. The first time it types ctrl-C at gdb when the firmware
// sleeps, and lets time pass until gdb has seen the halt.
func (d *queuesRun) interrupt() {
	if d.asked {
		return
	}
	d.asked = true
	r := mcu.Over(d.link)
	for n := 0; ; n++ {
		require.Less(d.t, n, 1_000_000, "the firmware does not sleep")
		v, err := r.Read(mcureg.Base + mcureg.Status)
		require.NoError(d.t, err)
		if v&mcureg.StatusAsleep != 0 {
			break
		}
	}
	time.Sleep(100 * time.Millisecond) // gdb has told the firmware to continue, and now waits for it
	assert.NoError(d.t, (<-d.gdb).Signal(os.Interrupt))
	for !d.ended.Load() {
		if _, err := os.Stat(d.resume); err == nil {
			return
		}
		_, err := r.Read(mcureg.Base + mcureg.Status)
		require.NoError(d.t, err)
		time.Sleep(time.Millisecond)
	}
}

// run composes a frame and compares it.
func (d *queuesRun) run(s *turns.Server, sources []compose.Source) {
	plan, err := compose.NewPlan(compose.Options{Width: 48, Height: 32, Contexts: 2, Seed: 1, Sources: sources})
	if !assert.NoError(d.t, err) {
		return
	}
	plan.Think = d.interrupt
	sys, err := testbench.Open("emu?config=full", testbench.HostDrivers(), testbench.Options{
		Board: boards.Options{Share: d.share(s)}, Queues: testbench.Queues{Use: true},
	})
	if !assert.NoError(d.t, err) {
		return
	}
	frame, err := compose.Run(sys, plan)
	assert.NoError(d.t, err)
	assert.NoError(d.t, sys.Close())
	if frame != nil {
		at, n := compose.Diff(frame, plan.Reference())
		assert.Zero(d.t, n, "pixels differ, the first at %v", at)
	}
}

// gdb debugs the firmware while the drivers use its queues: it stops in the request that creates a queue, and
// interrupts the firmware in its sleep. The frame is complete.
func TestGDBInQueues(t *testing.T) {
	tooltest.Long(t)
	gdbtest.Need(t)
	elf := gdbtest.ELF(t, "../..")
	s, err := turns.Serve("0,wait", func(err error) { t.Errorf("%v", err) })
	require.NoError(t, err)
	source, err := compose.Load(writeImage(t, filepath.Join(t.TempDir(), "a.png"), 20, 16))
	require.NoError(t, err)
	d := &queuesRun{t: t, resume: filepath.Join(t.TempDir(), "resume"), gdb: make(chan *os.Process, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.run(s, []compose.Source{source})
	}()
	const wfi = "0x10500073" // The RISC-V Instruction Set Manual, volume II, 3.3.3
	g := gdbtest.Begin(t, []gdbtest.Step{
		{"break queue_create", "Breakpoint 1 at .*firmware/src/queue.c"},
		{"continue", `Breakpoint 1, queue_create \(in=.*queue.c:\d+`},
		{"backtrace", `^#0  queue_create \([^#]*\n(#\d [^\n]*\n)*#\d [^\n]* message \([^\n]*\n(#\d [^\n]*\n)*#\d [^\n]* boot \([^\n]*\n#\d [^\n]* begin \(\)[^\n]*$`},
		{"set $number = in[0]", "^$"},
		{"print queues[$number]", `= \{state = 0, cause = 0, node = 0, priority = 0, quantum = 0, `},
		{"print nodes[0].state", "= NODE_READY"},
		{"next", `^\d+\s+\w`},
		{"print $pc > (unsigned)&queue_create", "= 1$"},
		{"finish", `at firmware/src/message.c:.*Value returned is \$\d+ = 0$`},
		{"print queues[$number]", `= \{state = 1, cause = 0, node = 0, priority = 3, quantum = 100000, `},
		{"delete", "^$"},
		{"continue", "Program received signal SIGINT, Interrupt"},
		{"print *(unsigned *)$pc == " + wfi + " || *(unsigned *)($pc - 4) == " + wfi, "= 1$"},
		{"backtrace", `^(#\d [^\n]*\n)*#\d [^\n]*boot \([^\n]*\n#\d [^\n]* begin \(\)[^\n]*$`},
		{"print queues[$number].state", "= 1$"},
		{"shell touch " + d.resume, "^$"},
		{"detach", "detached"},
	}, elf, "-ex", "directory ../..", "-ex", "target remote "+s.Addr)
	d.gdb <- g.Process()
	g.End()
	d.ended.Store(true)
	<-done
	assert.True(t, d.asked)
	assert.NoError(t, s.Close())
}
