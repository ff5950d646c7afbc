package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// savedBytes is what SAVE_STATE writes: 6 words of surfaces, 8 of windows, and PROGRESS.
const savedBytes = (6 + 8 + 1) * 8

// An areaOf is the message area of a rig, for the readers of its rings.
type areaOf struct{ *queueRig }

// ReadHost implements log.Memory.
func (a areaOf) ReadHost(off uint32, b []byte) error { copy(b, a.Mem[off:]); return nil }

// WriteHost implements log.Memory.
func (a areaOf) WriteHost(off uint32, b []byte) error { copy(a.Mem[off:], b); return nil }

// The samples of a firmware whose queues work are those of the nodes: the bytes are what the queues of each node have
// written, by the writes that the host sees, and the busy times are those that the host reads from PERF. A node without
// work has none. A ring that nobody empties loses samples and counts them, and the queues go on.
func TestQueueTelemetry(t *testing.T) {
	tooltest.Long(t)
	const period = 5000
	r := newQueueRig(t)
	r.must(fwabi.OpTelemetry, period)
	r.create(0, 0, 1, 20_000)
	r.create(1, 0, 1, 20_000)
	r.create(2, 1, 1, 20_000)
	work := func(n int, of ...uint32) {
		for _, i := range of {
			for range n {
				r.write(i, r.fills(i, 3, rows), 0)
			}
			r.ring(i)
		}
		r.quiesce()
	}
	work(4, 0, 1)
	all, lost, err := log.Samples(areaOf{r})
	require.NoError(t, err)
	require.Zero(t, lost)
	require.Greater(t, len(all), 4)
	saves := r.check(all, 0)
	work(2, 2)
	more, lost, err := log.Samples(areaOf{r})
	require.NoError(t, err)
	require.Zero(t, lost)
	assert.EqualValues(t, len(all), more[0].Number)
	assert.Equal(t, saves, r.check(append(all, more...), 1), "node 0 has no more work")

	for range 16 {
		work(8, 0, 2)
	}
	more, lost, err = log.Samples(areaOf{r})
	require.NoError(t, err)
	assert.Len(t, more, fwabi.TelemetryEntries)
	assert.Positive(t, lost)
	assert.Equal(t, 8+2+16*16, r.progress)
}

// check checks the order of samples, and compares the last one with what the nodes have done. It returns the bytes of
// node 0 that are not those of the targets: the ones of SAVE_STATE.
func (r *queueRig) check(all []log.Sample, busy int) int64 {
	r.t.Helper()
	for i, s := range all[1:] {
		was := all[i]
		require.Equal(r.t, was.Number+1, s.Number)
		for n := range s.Busy {
			require.GreaterOrEqual(r.t, s.Busy[n], was.Busy[n])
			require.GreaterOrEqual(r.t, s.Bytes[n], was.Bytes[n])
			require.LessOrEqual(r.t, s.Busy[n]-was.Busy[n], s.Cycles-was.Cycles)
			require.LessOrEqual(r.t, s.Bytes[n]-was.Bytes[n], 8*(s.Cycles-was.Cycles), "8 bytes a clock")
		}
		require.InDelta(r.t, s.Clocks-was.Clocks, s.Cycles-was.Cycles, 500)
	}
	last := all[len(all)-1]
	require.NoError(r.t, r.Write(perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlSnapshot))
	for n, b := range last.Busy {
		v, err := r.Read(perfreg.Base + perfreg.Node + perfreg.Stride*uint32(n) + perfreg.Busy)
		require.NoError(r.t, err)
		require.EqualValues(r.t, v, b, "busy time of node %d", n)
		require.Equal(r.t, n <= busy, b != 0)
	}
	require.EqualValues(r.t, r.service[2], last.Bytes[1])
	saves := int64(last.Bytes[0]) - r.service[0] - r.service[1]
	require.True(r.t, saves > 0 && saves%savedBytes == 0, "%d bytes of SAVE_STATE", saves)
	return saves
}
