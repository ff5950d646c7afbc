package bringup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// An injected is an injected fault and the expected report: the stage, and words of
// its details, derived from the fault's parameters.
type injected struct {
	fault string
	stage string
	says  []string
}

// injectedFaults are faults on every address line of 8 KiB, every lane, and several
// data lines.
func injectedFaults() []injected {
	var all []injected
	for n := 3; n <= 12; n++ {
		for level := range 2 {
			all = append(all, injected{fmt.Sprintf("stuck-address:A%d=%d", n, level), "mem.addr", []string{
				fmt.Sprintf("A%d: 0x00000000 and %#08x are the same cell, and so are %#08x and 0x00001ff8 (stuck, both polarities)",
					n, 1<<n, 0x1ff8-1<<n),
				fmt.Sprintf("A%d is stuck", n),
			}})
		}
		for m := n + 1; m <= 12; m++ {
			all = append(all, injected{fmt.Sprintf("short-address:A%d-A%d", m, n), "mem.addr", []string{
				fmt.Sprintf("A%d and A%d: %#08x and %#08x are the same cell (shorted, both carry the AND)", n, m, 1<<n, 1<<m),
			}}, injected{fmt.Sprintf("short-address:A%d-A%d=1", n, m), "mem.addr", []string{
				fmt.Sprintf("A%d and A%d: %#08x and %#08x are the same cell (shorted, both carry the OR)", n, m, 1<<n, 1<<m),
			}})
		}
	}
	for lane := range 8 {
		all = append(all,
			injected{fmt.Sprintf("dead-lane:%d", lane), "mem.data", []string{
				fmt.Sprintf("byte lane %d (D%d to D%d) always reads 0xff", lane, 8*lane, 8*lane+7),
			}},
			injected{fmt.Sprintf("stuck-enable:%d", lane), "mem.enables", []string{
				fmt.Sprintf("byte lane %d changes when other lanes are written", lane), "byte enable of the lane is stuck on",
			}})
	}
	for n := 0; n < 63; n += 3 {
		m := (n*7+20)%(63-n) + n + 1
		all = append(all, injected{fmt.Sprintf("short-data:D%d-D%d=%d", m, n, n&1), "mem.data", []string{
			fmt.Sprintf("  D%d and D%d always have the same level\n", n, m), "two lines are shorted",
		}})
	}
	for n := range 64 {
		all = append(all, injected{fmt.Sprintf("stuck-data:D%d=%d", n, n&1), "mem.data", []string{
			fmt.Sprintf("D%d always reads %d\n", n, n&1),
		}})
	}
	for n := range 32 {
		for level := range 2 {
			all = append(all, injected{fmt.Sprintf("stuck-register:D%d=%d", n, level), "regs.data", []string{
				fmt.Sprintf("ID.SCRATCH0: D%d always reads %d\n", n, level), fmt.Sprintf("ID.SCRATCH3: D%d always reads %d\n", n, level),
			}})
		}
	}
	return append(all,
		injected{"lost-interrupt", "irq.message", []string{"DONE0, INTC.MASK: no message of vector 0 for 2 s", "FAULT1", "lost between the device and the host"}},
		injected{"lost-doorbell", "cp.start", []string{"CP0.WPTR reads 0x0 after the doorbell 0x4 was written: the doorbell is lost"}},
		injected{"ignore-reset", "cp.start", []string{"CP0.RING_SIZE reads 0x8 after CTL.RESET was set: the reset is ignored"}},
		injected{"dead", "cp.start", []string{"the board stopped answering", "bus: completion time-out"}},
		injected{"dead-request", "ident.id", []string{"the board stopped answering", "bus: completion time-out"}},
	)
}

// TestInjectedFaults checks that each fault fails its stage, by name, and no other
// stage. A stuck line of the register path may fail the identity too.
func TestInjectedFaults(t *testing.T) {
	tooltest.Long(t)
	for i, p := range injectedFaults() {
		board := "emu?config=small&timeout=20000&fault=" + p.fault
		if i%20 == 0 {
			board = "line?config=small&fault=" + p.fault // the same over the link layers
		}
		r := run(t, bringup.Options{Board: board, Seed: 5})
		res := result(t, r, p.stage)
		assert.Equal(t, bringup.Fail, res.Status, p.fault)
		for _, says := range p.says {
			assert.Contains(t, res.Line(), says, p.fault)
		}
		assert.Equal(t, fmt.Sprintf("hilgpu bringup --board '%s' --only %s --seed 5", board, p.stage), res.Replay)
		for _, stage := range failures(r) {
			if stage != p.stage {
				assert.Equal(t, []string{"regs.data", "ident.id"}, []string{p.stage, stage}, p.fault)
				var n, level uint32
				_, err := fmt.Sscanf(p.fault, "stuck-register:D%d=%d", &n, &level)
				require.NoError(t, err)
				if constants := [...]uint32{idreg.MagicValue, idreg.VersionValue, regmap.Hash()}; slices.ContainsFunc(constants[:],
					func(v uint32) bool { return v>>n&1 != level }) {
					assert.Contains(t, result(t, r, stage).Line(), fmt.Sprintf("D%d reads %d", n, level), p.fault)
				}
			}
		}
		assert.False(t, r.LinkFailed(), p.fault)
	}
}

// Without an aperture, packets test VRAM once they have been tested themselves.
func TestInjectedFaultsWithoutAperture(t *testing.T) {
	for fault, want := range map[string][2]string{
		"stuck-address:A12=1": {"mem.addr", "A12: 0x00000000 and 0x00001000 are the same cell"},
		"dead-lane:2":         {"mem.data", "byte lane 2 (D16 to D23) always reads 0xff"},
		"stuck-data:D33=0":    {"mem.data", "D33 always reads 0"},
		"lost-doorbell":       {"cp.start", "the doorbell is lost"},
	} {
		r := run(t, bringup.Options{Board: "emu?config=small&aperture=0&fault=" + fault, Seed: 5})
		assert.Equal(t, []string{want[0]}, failures(r), fault)
		assert.Contains(t, result(t, r, want[0]).Line(), want[1], fault)
		if want[0] == "cp.start" {
			assert.Equal(t, "not run: needs cp.start, which failed", result(t, r, "mem.data").Summary)
		}
	}
}

// Several faults at once are each named.
func TestSeveralFaults(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=small&fault=stuck-data:D7=1,stuck-data:D33=0,dead-lane:6,lost-interrupt"})
	assert.Equal(t, []string{"mem.data", "irq.message"}, failures(r))
	assert.Equal(t, []string{"byte lane 6 (D48 to D55) always reads 0xff", "D7 always reads 1", "D33 always reads 0"},
		result(t, r, "mem.data").Details)

	r = run(t, bringup.Options{Board: "emu?config=small&fault=stuck-address:A4=0,stuck-address:A11=1,short-address:A6-A9"})
	require.Equal(t, []string{"mem.addr"}, failures(r))
	details := strings.Join(result(t, r, "mem.addr").Details, "\n")
	for _, says := range []string{"A4: 0x00000000", "A11: 0x00000000", "A6 and A9: ", "usable without a gap from 0: 16 bytes of 8 KiB"} {
		assert.Contains(t, details, says)
	}
}

// The patterns count bit flips. They write the 1024 words of 8 KiB 12 times: 5
// elements of each march, and 2 random fills.
func TestBitFlips(t *testing.T) {
	const rate, words = 0.005, 12 * 1024
	total := 0
	for seed := range 8 {
		r := run(t, bringup.Options{Board: fmt.Sprintf("emu?config=small&fault=bit-flip:%g@%d", rate, seed), Only: []string{"mem.patterns"}})
		res := result(t, r, "mem.patterns")
		require.Equal(t, bringup.Fail, res.Status)
		require.Len(t, res.Bits, 64)
		n := 0
		for _, count := range res.Bits {
			n += count
		}
		assert.True(t, strings.HasPrefix(res.Summary, fmt.Sprintf("%d of 12288 words wrong", n)), "one bit a word: %s", res.Summary)
		assert.Contains(t, res.Likely, "flip at random")
		total += n
	}
	assert.InDelta(t, 8*rate*words, total, 5*22.2, "five standard deviations")
}

// A memory with bit flips is not reported as stuck or shorted lines.
func TestBitFlipsAreNotLines(t *testing.T) {
	for seed := range 4 {
		o := bringup.Options{Board: fmt.Sprintf("emu?config=small&fault=bit-flip:0.2@%d", seed), Only: []string{"mem.data"}}
		res := run(t, o).Results[0]
		require.Equal(t, bringup.Fail, res.Status)
		for _, d := range res.Details {
			assert.Regexp(t, `^D[0-9]+ was wrong in [0-9]+ of 256 words, not every time$|^and [0-9]+ more$|^relies on `, d)
		}
		o.Only = []string{"mem.addr"}
		res = run(t, o).Results[0]
		require.Equal(t, bringup.Fail, res.Status)
		for _, d := range res.Details {
			assert.Regexp(t, `^0x[0-9a-f]+ holds 0x[0-9a-f]{16}, which was never written; D[0-9]+ differs from|^and [0-9]+ more$|^relies on `, d)
		}
	}
}
