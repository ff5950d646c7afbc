package fwtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// options let the self-test use window 2, at the end of host memory's first 4 GiB.
func options() firmware.Options {
	o := firmware.Options{Blocks: 1, Limit: 1 << 18, Test: true, TestWindow: 2, Clocks: 1 << 21, Polls: 1 << 20}
	o.Windows[2] = firmware.Window{Base: 1<<63 | 0xffff_f800, Bytes: 0x1000, Write: true}
	return o
}

func TestBoot(t *testing.T) {
	m := NewModel(32<<10, Faults{})
	b, err := firmware.Load(m, firmware.Default(), options())
	require.NoError(t, err)
	assert.Equal(t, "LOOP", b.Stage())
	assert.Equal(t, "READY", b.Outcome())
	assert.EqualValues(t, 0x12345678, m.Register(idreg.Base+idreg.Scratch3))
	assert.EqualValues(t, fwabi.ResultReady, b.Result)
	t.Logf("%+v", b)
}
