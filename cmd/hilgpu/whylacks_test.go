package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// Without submissions why names the step that is missing from the accesses: its clock is that of the write which asked for it.
func TestWhyNamesWhatIsMissingFromAccesses(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		words []string
		fault string
		want  string // a clock in it
	}{
		{[]string{"copy", "--size", "4096"}, "lost-doorbell", `missing: doorbell\nbecause the doorbell was lost: CP0.WPTR was written with 0x65 at clock (\d+), and read back as 0x0 at clock \d+\n`},
		{[]string{"copy", "--size", "4096"}, "lost-interrupt", `missing: message\nbecause no interrupt message arrived: FENCE at HOST\+0x100180 is executed at clock (\d+), and no message followed it, if it asks for one\n`},
		{[]string{"copy", "--size", "4096"}, "ignore-reset", `missing: reset\nbecause the reset of node 0 was ignored: CP0.CTL.RESET was written at clock (\d+), and CP0.RING_SIZE is still 0xc at clock \d+\n`},
		{[]string{"copy", "--size", "4096"}, "lost-answer", `missing: fetch\nbecause node 0 is at the packet in dword 0x0 of its ring, and waits for a read of it, which was not answered: WPTR was written with 0x65 at clock (\d+), and CP0.RPTR is still 0x0 at clock \d+, with STATUS 0x0 \(STATE=NEXT\)\n`},
		{[]string{"storm"}, "lost-answer", `missing: packet\nbecause node 0 is at the packet in dword 0x1 of its ring, and has not ended it: WPTR was written with 0x3b at clock (\d+), and CP0.RPTR is still 0x1 at clock \d+, with STATUS 0x300040 \(STATE=EXEC SYNC=ANSWER\)\n`},
		{[]string{"compose", "--size", "32x16", "--verify=false"}, "ignore-reset", `missing: reset\nbecause the reset of the device was ignored: ID.RESET was written at clock (\d+), and ID.SCRATCH0 is still 0x7e5e7001 at clock \d+\n`},
		{[]string{"compose", "--firmware-queues"}, "lost-answer&after=140&count=1&config=full", `missing: fetch\nbecause the firmware, which gives node 0 its work, hung: MCU.STATUS was 0x6 at clock (\d+); `},
		{[]string{"storm", "--cycles", "300000"}, "lost-interrupt&after=15&count=1", `missing: message\nbecause no interrupt message of vector 1 arrived: INTC.STATUS was 0x102 at clock (\d+), and INTC.MASK is 0x387\n`},
		{[]string{"fill", "--size", "4096"}, "lost-doorbell", `missing: doorbell\nbecause the doorbell was lost: CP0.WPTR was written with 0x65 at clock (\d+), `},
		{[]string{"storm"}, "lost-doorbell", `missing: doorbell\nbecause the doorbell was lost: CP0.WPTR was written with 0x3b at clock (\d+), and read back as 0x0 at clock \d+\n`},
		{[]string{"storm"}, "lost-interrupt", `missing: message\nbecause no interrupt message of vector 0 arrived: INTC.STATUS was 0x201 at clock (\d+), and INTC.MASK is 0x387\n`},
		{[]string{"storm"}, "ignore-reset", `missing: reset\nbecause the reset of node 1 was ignored: CP1.CTL.RESET was written at clock (\d+), and CP1.RING_SIZE is still 0xc at clock \d+\n`},
		{[]string{"storm"}, "ignore-preempt", `missing: preempt\nbecause the preemption of node 0 did not end: CP0.PREEMPT was written with 0x\w+ at clock (\d+), and CP0.PREEMPTED is still 0x0 at clock \d+\n`},
	} {
		t.Run(tt.words[0]+" "+tt.fault, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.log")
			code, _, _ := hilgpu(append(append([]string{"run"}, tt.words...), "--board", "emu?fault="+tt.fault, "--record", path)...)
			require.NotZero(t, code)
			answer := whyOf(t, path, "fault")
			assert.Regexp(t, tt.want, answer)
			if m := regexp.MustCompile(tt.want).FindStringSubmatch(answer); m != nil {
				clock, err := strconv.ParseUint(m[1], 10, 64)
				require.NoError(t, err)
				n := 0
				for _, l := range logLines(t, path, "write,executed,read") {
					if l.Time == clock {
						n++
					}
				}
				assert.Positive(t, n, "an event at clock %d", clock)
			}
		})
	}
}

// A log that has nothing but the error names the link if that is the error.
func TestWhyOfALogWithoutAccesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, _ := hilgpu("run", "compose", "--size", "32x16", "--board", "emu?fault=dead-request", "--record", path)
	require.NotZero(t, code)
	assert.Contains(t, whyOf(t, path, "fault"), "missing: link\nbecause the device did not answer: hal: enumeration: MSI-X vector 0: bus: completion time-out: no completion for ")
}

// A board that does not tell its packets has the same answer as one that does: the packet that the dwords left in the buffer tell.
func TestWhyWithoutTrace(t *testing.T) {
	for _, option := range []string{"", "&trace=0"} {
		path := filepath.Join(t.TempDir(), "run.log")
		code, _, _ := hilgpu("run", "compose", "--size", "64x48", "--board", "emu?readtimeout=0&fault=lost-answer&after=45&count=1"+option, "--record", path)
		require.NotZero(t, code)
		assert.Regexp(t, `missing: packet\nbecause COPY .* at IB\+0x0 of submission 2, .* has not ended`, whyOf(t, path, "fault"), option)
	}
}

// If the miniport does not start the device, the answer is what it said.
func TestWhyOfADeviceThatDoesNotStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, _ := hilgpu("run", "compose", "--size", "32x16", "--board", "emu?config=full&fault=dead-lane:3", "--firmware-queues", "--record", path)
	require.NotZero(t, code)
	answer := whyOf(t, path, "fault")
	assert.Contains(t, answer, "DxgkDdiStartDevice")
	assert.Contains(t, answer, "; the miniport said last: miniport: firmware not running: firmware: self-test failed in stage WINDOW: ")
}

// VRAM that does not keep its values shows in no step: the answers about the run and the pixel say where to look.
func TestWhyOfAWrongFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	code, _, _ := hilgpu("run", "compose", "--check", "--size", "64x48", "--board", "emu?fault=stuck-address:A10=0", "--record", path)
	require.NotZero(t, code)
	assert.Contains(t, whyOf(t, path, "fault"), "note: the frame is wrong: ask for pixel 0,0\n")
	assert.Contains(t, whyOf(t, path, "pixel", "0,0"), "note: the command read a wrong frame back, ")
}
