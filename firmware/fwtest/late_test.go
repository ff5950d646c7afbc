package fwtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// spoilArea changes each nth read of the message area.
func (r *queueRig) spoilArea(nth int, spoil func(d *hostbfm.Read)) {
	reads := 0
	r.Reading = func(d *hostbfm.Read) {
		if d.Req.Addr-memBase < fwabi.AreaBytes {
			if reads++; reads%nth == 0 {
				spoil(d)
			}
		}
	}
}

// The message area answers late, or some of its reads have no answer and end by the time-out. Requests are answered, all
// entries complete once, and the watchdog reports nothing.
func TestMessageAreaIsSlow(t *testing.T) {
	for name, tt := range map[string]struct {
		nth     int
		due     func(r *queueRig) uint64
		timeout uint32 // READ_TIMEOUT.RANGE
		failed  bool
	}{
		"late":                     {1, func(r *queueRig) uint64 { return r.Clocks + 1500 }, 0, false},
		"never, with a time-out":   {23, func(*queueRig) uint64 { return math.MaxUint64 }, 1, true},
		"after its time-out ended": {23, func(r *queueRig) uint64 { return r.Clocks + 3000 }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newQueueRig(t)
			r.guardVRAM()
			require.NoError(t, r.Write(idreg.Base+idreg.ReadTimeout, tt.timeout))
			require.NoError(t, r.Write(mcureg.Base+mcureg.Limit, 60_000))
			r.spoilArea(tt.nth, func(d *hostbfm.Read) { d.Due = tt.due(r) })
			r.create(neighbour, 1, 1, 20_000)
			r.create(stranger, 0, 1, 20_000)
			r.post(4, neighbour, stranger)
			r.must(fwabi.OpPreempt, neighbour)
			r.must(fwabi.OpResume, neighbour)
			r.until(func() bool { return r.progress == 8 })
			r.Reading = nil
			r.quiesce()
			assert.Equal(t, tt.failed, r.must(fwabi.OpCounters)[11] != 0, "accesses that failed")
			assert.Empty(t, r.notices)
			v, err := r.Read(intcreg.Base + intcreg.Status)
			require.NoError(t, err)
			assert.Zero(t, v&intcreg.Hung)
		})
	}
}

// A function reset while a node waits for a read that is not answered, and in its reset, ends both. Nothing is written after it,
// the answer that comes later is dropped, and all works after the next boot.
func TestFunctionResetOfStuckNode(t *testing.T) {
	r := newStuckRig(t)
	r.step(10_000)
	r.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	r.until(func() bool {
		command := uint32(pcicfg.CommandMemory)
		r.GetConfig(pcicfg.Command, func(v uint32) { command = v })
		r.end()
		return command&pcicfg.CommandMemory == 0
	})
	r.Reading, r.Reads[0].Due = nil, r.Clocks+30_000
	r.SetConfig(pcicfg.BAR0, bar0)
	r.SetConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
	r.end()
	before := string(r.Mem)
	r.step(50_000)
	assert.True(t, before == string(r.Mem), "a write after the reset")
	r.take()
	for i := range r.q {
		r.q[i] = queued{next: r.q[i].next}
	}
	r.resets, r.notices = 0, nil
	r.restart()
	progress := r.progress
	r.post(3, victim, neighbour, stranger)
	r.quiesce()
	assert.Equal(t, progress+9, r.progress)
	assert.Empty(t, r.notices)
}
