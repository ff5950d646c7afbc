package dirty_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// full has a microcontroller, and little VRAM.
func full() gpu.Config {
	c := gpu.Full()
	c.VRAMBytes = 64 << 10
	return c
}

// Over the seeds, the microcontroller is in reset, runs, sleeps, hangs, is halted by a debugger, at a
// breakpoint and at the watchpoint, and has the firmware. Its limits have been used.
func TestProcessor(t *testing.T) {
	const seeds = 40
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		link := connect(t, left(t, full(), seed))
		for _, w := range [][2]uint32{{pcicfg.Command, 0}, {pcicfg.BAR0, 0xe0000000}, {pcicfg.Command, pcicfg.CommandMemory}} {
			require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
		}
		read := func(off uint32) uint32 {
			var p [4]byte
			require.NoError(t, link.Read(0, uint64(off), p[:]))
			return binary.LittleEndian.Uint32(p[:])
		}
		status := read(mcureg.Base + mcureg.Status)
		see := func(name string, ok bool) {
			if ok {
				seen[name]++
			}
		}
		runs := read(mcureg.Base+mcureg.Ctl) != 0
		halted := status&mcureg.StatusHalted != 0 && runs
		cause := read(mcureg.DebugBase+mcureg.DebugStatus) & mcureg.DebugCause >> 4
		before := read(mcureg.Base + mcureg.Mail)
		_, err := link.Wait(link.Now() + 200)
		require.NoError(t, err)
		see("reset", !runs)
		see("asleep", runs && status&mcureg.StatusAsleep != 0)
		see("hung", runs && status&mcureg.StatusHung != 0)
		see("halted", halted && cause == mcureg.CauseHalt && status&mcureg.StatusHung == 0)
		see("point", halted && cause == mcureg.CausePoint)
		see("works", runs && read(mcureg.Base+mcureg.Mail) != before)
		see("firmware", runs && read(mcureg.Base+mcureg.Mail+4*fwabi.MailResult) == fwabi.ResultReady)
		see("breakpoint", read(mcureg.DebugBase+mcureg.Break)&mcureg.PointEnable != 0)
		see("watchpoint", read(mcureg.DebugBase+mcureg.Watch)&mcureg.PointEnable != 0)
		see("BLOCKS", read(mcureg.Base+mcureg.Blocks) != 0)
		see("LIMIT", read(mcureg.Base+mcureg.Limit) != 0)
		see("window", read(mcureg.Base+mcureg.Window+mcureg.WindowSize) != 0)
	}
	for _, name := range []string{"reset", "asleep", "hung", "halted", "point", "works", "firmware", "breakpoint", "watchpoint", "BLOCKS", "LIMIT", "window"} {
		assert.NotZero(t, seen[name], name)
	}
	t.Logf("of %d seeds: %v", seeds, seen)
}
