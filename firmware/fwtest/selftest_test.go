package fwtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// begun returns a client of a program that was started with options and a message area.
func begun(t *testing.T, m machine, o firmware.Options) *message.Client {
	t.Helper()
	require.NoError(t, message.Init(m.At(area), 2))
	o.Windows[fwabi.WindowMessages] = firmware.Window{Base: area, Bytes: fwabi.AreaBytes, Write: true}
	_, err := firmware.Load(m, firmware.Default(), o)
	require.NoError(t, err)
	c, err := message.Open(m, m.At(area), message.Options{Polls: 1000})
	require.NoError(t, err)
	_, err = c.Hello(5)
	require.NoError(t, err)
	return c
}

// A fault that appears after the boot is found by SELFTEST, with the stage, the result and the details
// of the boot. The data memory is not tested again. When the fault is gone, SELFTEST finds none, and
// the program works as before.
func TestSelftest(t *testing.T) {
	for _, tt := range plantedFaults() {
		if tt.stage == "MEMORY" {
			continue
		}
		for _, kind := range machines {
			if kind.name == "RTL" && !tt.RTL {
				continue
			}
			t.Run(kind.name+"/"+tt.name, func(t *testing.T) {
				m := kind.make(memory, Faults{})
				c := begun(t, m, tt.options)
				m.Break(tt.faults)
				f, err := c.Selftest(0)
				require.NoError(t, err)
				tt.check(t, f.StageName(), f.ResultName(), f.Detail)
				m.Break(Faults{})
				f, err = c.Selftest(0)
				require.NoError(t, err)
				assert.Equal(t, message.Finding{Stage: fwabi.StageLoop, Result: fwabi.ResultReady}, f)
				assert.EqualValues(t, 0x12345678, m.Register(scratch), "restored")
				stage, err := m.Read(mcureg.Base + mcureg.Mail)
				require.NoError(t, err)
				assert.EqualValues(t, fwabi.StageLoop, stage)
				_, answer, err := c.Call(fwabi.OpPing, []byte("next"))
				require.NoError(t, err)
				assert.Equal(t, "next", string(answer))
				assert.True(t, asleep(t, m))
			})
		}
	}
}

// The request may have another window than the boot, but not one of the nodes or the messages.
func TestSelftestWindow(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		o := options()
		o.Test = false
		o.Windows[4] = firmware.Window{Base: 0x8000, Bytes: 256, Write: true}
		c := begun(t, m, o)
		f, err := c.Selftest(4<<29 | 256)
		require.NoError(t, err, kind.name)
		assert.Equal(t, "READY", f.ResultName(), kind.name)
		assert.NotZero(t, m.Memory()[0x8000+252], "the last word")
		assert.NotContains(t, m.Memory(), o.Windows[2].Base, "the window that options has")
		f, err = c.Selftest(4<<29 | 128)
		require.NoError(t, err)
		assert.Equal(t, message.Finding{Stage: fwabi.StageWindow, Result: fwabi.ResultWindowEnd,
			Detail: [3]uint32{0xc000_0080, m.Memory()[0x8080], 0}}, f, "the window is larger")
		for _, bad := range []uint32{1, 2, 64, 1<<29 | 64} {
			_, err := c.Selftest(bad)
			assert.EqualError(t, err, "message: request refused: SELFTEST: ARGUMENT")
		}
		_, _, err = c.Call(fwabi.OpSelftest, binary.LittleEndian.AppendUint64(nil, 0))
		assert.EqualError(t, err, "message: request refused: SELFTEST: LONG")
	}
}

// A self-test that never ends is a program that hangs, and CHECKPOINT has the stage.
func TestSelftestHangs(t *testing.T) {
	for _, kind := range machines {
		m := kind.make(memory, Faults{})
		o := options()
		c := begun(t, m, o)
		require.NoError(t, m.Write(mcureg.Base+mcureg.Limit, 20_000))
		m.Break(Faults{Bus: func(off, v uint32, ok bool) (uint32, bool) {
			if off == scratch {
				m.Break(Faults{Silent: true})
			}
			return v, ok
		}})
		_, err := c.Selftest(0)
		require.ErrorIs(t, err, message.ErrHung, kind.name)
		stage, err := m.Read(mcureg.Base + mcureg.Mail)
		require.NoError(t, err)
		assert.EqualValues(t, fwabi.StageWindow, stage)
	}
}
