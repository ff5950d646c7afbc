package testbench

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A usual is what an answer must say of a planted fault with the checks and the recovery of nodes that a user has, if that differs: a rule tells
// of it, the checks call DxgkDdiPatch twice, so that the change is at another address, or the kernel stops the node first.
type usual struct {
	missing, word string                                // "": as without them
	ask           func(r *why.Run) (*why.Answer, error) // of a run that recovers
}

const (
	firstDoorbell = "the doorbell CP1.WPTR = 0x9 of submission 1 at clock 2251 was lost: node 1 had nothing else to do"
	noFence       = "call-failed (driver or device): DxgkDdiQueryCurrentFence: returned STATUS_UNSUCCESSFUL"
)

var usuals = map[string]usual{
	"doorbell lost":                     {word: firstDoorbell},
	"second doorbell lost":              {word: "the doorbell CP0.WPTR = 0x12 of submission 6 at clock 200009301 was lost: node 0 had nothing else to do"},
	"doorbell is lost on the way":       {word: firstDoorbell, ask: fence(1, 1)},
	"submit does not ring":              {missing: why.MissingRule, word: "submit-ignored (driver): DxgkDdiSubmitCommand: node 1: fence 1 timed out, and the driver has written no register"},
	"submit of the wrong bytes":         {word: "the INDIRECT of the ring has 1008 dwords at HOST+0x104004, want 1009 at HOST+0x104000"},
	"forbidden register":                {word: "in WRITE_REG off="},
	"wait in a buffer":                  {word: "PRIVILEGE in WAIT_FENCE node=1"},
	"ISR reports nothing":               {missing: why.MissingRule, word: noFence},
	"the kernel holds interrupts":       {missing: why.MissingRule, word: noFence},
	"read is not answered, no time-out": {word: "node 1 has not begun it, and waits for a read of its ring; CP1 has STATUS 0x0, RPTR 0x0, WPTR 0x9"},
}

// withoutEffect are the faults of which nothing comes with the checks and the recovery: those of the first DxgkDdiPatch of a buffer, which the
// checks call again, and time-outs that end in a preemption.
var withoutEffect = []string{
	"address without memory", "a row of the present comes from elsewhere", "the kernel gives up too early, emu?vram=16KiB", "the kernel gives up too early, line?baud=3000000",
}

// The faults are named too with the checks and the recovery of nodes that a user has. A run that recovers is asked about the fence.
func TestPlantedFaultsWithDefaults(t *testing.T) {
	tooltest.Long(t)
	failed, recovered, missed := 0, 0, 0
	for _, p := range slices.Concat(boardFaults(), linkFaults(), minidriverFaults(), droppedFaults(), hastyFaults(), otherFaults()) {
		t.Run(p.name, func(t *testing.T) {
			log, err := plantedIn(t, p, p.options, func(d Drivers) Drivers { return d })
			if slices.Contains(withoutEffect, p.name) {
				require.NoError(t, err, "it has an effect")
				missed++
				return
			}
			u := usuals[p.name]
			if err == nil {
				recovered++
				require.True(t, p.ask != nil || u.ask != nil, "the run recovers, and nothing is asked")
			} else {
				failed++
			}
			if u.ask == nil {
				u.ask = asks(p.ask)
			}
			a, qerr := u.ask(runIn(t, bytes.NewReader(log)))
			require.NoError(t, qerr)
			if err != nil || p.ask != nil {
				assert.Equal(t, cmp.Or(u.missing, p.missing), a.Missing, "%s", a.Text())
			}
			assert.Contains(t, a.Verdict+"; "+a.Cause, cmp.Or(u.word, p.word), "%s", a.Text())
		})
	}
	assert.GreaterOrEqual(t, failed, 27)
	t.Logf("%d failed and %d recovered, all named; nothing came of %d", failed, recovered, missed)
}
