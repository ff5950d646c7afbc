package fwtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
)

// Samples follow at the period while a node works. Then the timer is off until a doorbell.
func TestTelemetry(t *testing.T) {
	const period = 20_000
	for _, kind := range machines {
		works, busy := true, uint32(0)
		m := kind.make(memory, Faults{Bus: func(off, v uint32, ok bool) (uint32, bool) {
			if off == perfreg.Base+perfreg.Node+perfreg.Busy && works {
				busy += 1000
			}
			if off == perfreg.Base+perfreg.Node+perfreg.Busy {
				return busy, true
			}
			return v, ok
		}})
		require.NoError(t, message.Init(m.At(area), 2))
		o := withArea(area)
		o.Blocks |= 1 << (perfreg.Base / mcureg.BlockBytes)
		_, err := firmware.Load(m, firmware.Default(), o)
		require.NoError(t, err)
		c, err := message.Open(m, m.At(area), message.Options{Polls: 1000})
		require.NoError(t, err)
		_, err = c.Hello(1)
		require.NoError(t, err)
		_, _, err = c.Call(fwabi.OpTelemetry, binary.LittleEndian.AppendUint32(nil, period))
		require.NoError(t, err, kind.name)
		pass := func(periods int) []log.Sample {
			for range periods * period / hostClocks {
				_, err := m.Read(mcureg.Base + mcureg.Status)
				require.NoError(t, err)
			}
			all, lost, err := log.Samples(m.At(area))
			require.NoError(t, err)
			require.Zero(t, lost)
			return all
		}
		got := pass(5)
		require.InDelta(t, 5, len(got), 1, kind.name)
		for i, s := range got {
			assert.EqualValues(t, i, s.Number)
			assert.EqualValues(t, 1000*(i+1), s.Busy[0], kind.name)
			assert.Zero(t, s.Busy[1])
			if i > 0 {
				assert.InDelta(t, period, s.Clocks-got[i-1].Clocks, 1000, kind.name)
			}
		}
		works = false
		assert.LessOrEqual(t, len(pass(5)), 2, "%s: the last work, and none", kind.name)
		assert.Empty(t, pass(5), "%s: the timer is off", kind.name)
		works = true
		assert.Empty(t, pass(5), "%s: no doorbell", kind.name)
		require.NoError(t, m.Write(mcureg.Base+mcureg.Doorbell, 1))
		assert.InDelta(t, 5, len(pass(5)), 1, kind.name)
		_, _, err = c.Call(fwabi.OpTelemetry, make([]byte, 4))
		require.NoError(t, err)
		pass(1)
		assert.Empty(t, pass(3), "%s: off", kind.name)
	}
}

// Without the block PERF among those that the host allows, there are no samples.
func TestTelemetryRefused(t *testing.T) {
	for _, kind := range machines {
		c := serving(t, kind.make(memory, Faults{}), 2)
		_, err := c.Hello(1)
		require.NoError(t, err)
		_, _, err = c.Call(fwabi.OpTelemetry, []byte{0, 0, 1, 0})
		assert.EqualError(t, err, "message: request refused: TELEMETRY: REFUSED", kind.name)
		_, _, err = c.Call(fwabi.OpTelemetry, []byte{0xff, 3, 0, 0})
		assert.EqualError(t, err, "message: request refused: TELEMETRY: ARGUMENT", kind.name)
	}
}
