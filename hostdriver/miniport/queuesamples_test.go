package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The firmware is asked for samples at each start. The DPC and the end of the program pass them to the observer, each one
// once and in order. A ring that is broken has none.
func TestQueuesSamples(t *testing.T) {
	k, f := unstarted(t, 1, kmddi.Setting{Name: "FirmwareTelemetry", Value: 5000})
	var all []log.Sample
	k.table = miniport.WithObserver(firmware.Default(), miniport.Observer{Samples: func(more []log.Sample) { all = append(all, more...) }})
	require.Equal(t, ddi.StatusSuccess, k.table.AddDevice(k.thread, k.adapter))
	_, s := k.start()
	require.Equal(t, ddi.StatusSuccess, s)
	assert.Contains(t, f.requests, request{5, []uint32{5000}}, "TELEMETRY")
	assert.NotZero(t, k.gpu.regs[mcuBlocks]&(1<<2), "the firmware may write PERF")
	samples := func(from, to uint32) {
		for i := from; i < to; i++ {
			at := 0x4000 + 64*(i%64)
			f.set(at, i)
			f.set(at+24, 1000+i)
		}
		f.set(0x50, to)
	}
	samples(0, 3)
	assert.Empty(t, all)
	k.gpu.regs[intcStatus] = 1
	k.interrupted(t)
	require.Len(t, all, 3)
	samples(3, 5)
	require.Equal(t, ddi.StatusSuccess, k.table.ResetFromTimeout(k.thread, k.adapter))
	require.Len(t, all, 5)
	for i, s := range all {
		assert.EqualValues(t, i, s.Number)
		assert.EqualValues(t, 1000+i, s.Busy[0])
	}
	f.requests = nil
	require.Equal(t, ddi.StatusSuccess, k.table.RestartFromTimeout(k.thread, k.adapter))
	assert.Contains(t, f.requests, request{5, []uint32{5000}}, "TELEMETRY after a reset")
	f.set(0x50, 100)
	k.gpu.regs[intcStatus] = 1
	k.interrupted(t)
	assert.Len(t, all, 5, "more samples than the ring has")
}
