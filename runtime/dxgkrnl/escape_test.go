package dxgkrnl

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
)

// escapes gives the miniport a function that inverts the data, and returns what it got.
func (r *rig) escapes(s ddi.Status) *[]kmddi.Escape {
	var got []kmddi.Escape
	r.kernel.driver.Escape = func(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.Escape) ddi.Status {
		assert.Equal(r, ddi.PassiveLevel, t.IRQL())
		seen := arg
		seen.PrivateDriverData = bytes.Clone(arg.PrivateDriverData)
		got = append(got, seen)
		for i := range arg.PrivateDriverData {
			arg.PrivateDriverData[i] ^= 0xff
		}
		return s
	}
	return &got
}

// The miniport gets a copy of the data, with the device and the context. What it changes comes
// back if it succeeds.
func TestEscape(t *testing.T) {
	r := newRig(t, options{})
	got := r.escapes(ddi.StatusSuccess)
	data := []byte{1, 2, 3}
	r.ok(r.thunks.Escape(r.thread, &kmt.Escape{Device: r.dev, Context: r.ctx.Context, PrivateDriverData: data}))
	assert.Equal(t, []byte{0xfe, 0xfd, 0xfc}, data)
	d := r.kernel.handles.get(r.dev).(*device)
	assert.Equal(t, []kmddi.Escape{{Device: d.driver, Context: d.contexts[0].driver, PrivateDriverData: []byte{1, 2, 3}}}, *got)
	r.ok(r.thunks.Escape(r.thread, &kmt.Escape{}))
	assert.Equal(t, kmddi.Escape{}, (*got)[1])

	r.escapes(ddi.StatusInvalidParameter)
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.Escape(r.thread, &kmt.Escape{PrivateDriverData: data}))
	assert.Equal(t, []byte{0xfe, 0xfd, 0xfc}, data, "unchanged after an error")
	r.finish()
}

// With HardwareAccess the GPU is idle.
func TestEscapeWithHardwareAccess(t *testing.T) {
	r := newRig(t, options{nodes: 2})
	a := r.alloc(64, local)
	got := r.escapes(ddi.StatusSuccess)
	for _, idle := range []bool{false, true} {
		r.render(fill(a, 0, 64, 1))
		r.ok(r.thunks.Escape(r.thread, &kmt.Escape{Flags: kmddi.EscapeFlags{HardwareAccess: idle}}))
		assert.Equal(t, idle, !r.kernel.working())
	}
	assert.True(t, (*got)[1].Flags.HardwareAccess)
	r.gpu.auto = false
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.Escape(r.thread, &kmt.Escape{Flags: kmddi.EscapeFlags{HardwareAccess: true}}), "the GPU hangs")
	assert.Len(t, *got, 2)
}

func TestWrongEscapes(t *testing.T) {
	r := newRig(t, options{})
	assert.Equal(t, ddi.StatusNotSupported, r.thunks.Escape(r.thread, &kmt.Escape{}), "the miniport has no such function")
	got := r.escapes(ddi.StatusSuccess)
	other := r.process(5)
	other.open(0)
	for want, arg := range map[ddi.Status]*kmt.Escape{
		ddi.StatusInvalidHandle:    {Device: r.dev + 1000},
		ddi.StatusInvalidParameter: {Device: other.dev, Context: r.ctx.Context},
	} {
		assert.Equal(t, want, r.thunks.Escape(r.thread, arg))
	}
	assert.Equal(t, ddi.StatusInvalidHandle, r.thunks.Escape(r.thread, &kmt.Escape{Device: r.dev, Context: r.dev}))
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.Escape(r.thread, &kmt.Escape{PrivateDriverData: make([]byte, maxEscape+1)}))
	require.Empty(t, *got)
	r.ok(r.thunks.Escape(r.thread, &kmt.Escape{PrivateDriverData: make([]byte, maxEscape)}))
	r.finish()
	assert.Equal(t, ddi.StatusDeviceRemoved, r.thunks.Escape(r.thread, &kmt.Escape{}), "after Stop")
}
