package testbench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
)

// The samples of a run count what the nodes have done: the last one has the busy times and the bytes that PERF has. Without a
// period there are none.
func TestSamplesOfQueues(t *testing.T) {
	for _, period := range []uint32{2000, 0} {
		o := inQueues(t)
		var all []log.Sample
		o.Queues.Period = period
		o.Observer.Samples = func(more []log.Sample) { all = append(all, more...) }
		s, err := Open("emu?config=full", HostDrivers(), o)
		require.NoError(t, err)
		composes(t, s, smallPlan(t, 1))
		for end := s.clock.Now() + 10_000; s.clock.Now() < end; {
			_, err := s.clock.Wait(end)
			require.NoError(t, err)
		}
		if period == 0 {
			require.NoError(t, s.Close())
			assert.Empty(t, all)
			continue
		}
		perf := func(off uint32) uint64 {
			v, err := s.device.Read32(s.thread, 0, perfreg.Base+uint64(off))
			require.NoError(t, err)
			return uint64(v)
		}
		require.NoError(t, s.device.Write32(s.thread, 0, perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlSnapshot))
		busy, bytes := perf(perfreg.Node+perfreg.Busy), perf(perfreg.Node+perfreg.Bytes)
		require.NoError(t, s.Close())
		require.Greater(t, len(all), 5)
		last := all[len(all)-1]
		assert.Equal(t, busy, last.Busy[0])
		assert.Equal(t, bytes, last.Bytes[0])
		assert.Positive(t, bytes)
		for i, sample := range all {
			assert.EqualValues(t, i, sample.Number)
		}
	}
}
