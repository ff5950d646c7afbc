package cmdbuf_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/cmdbuf"
)

// A driver calls a hook as the wrappers of package verifier do.
type driver struct {
	*cmdbuf.Hook
	t   *ddi.Thread
	log []string
}

func newDriver() *driver {
	d := &driver{t: new(ddi.Thread)}
	d.Hook = cmdbuf.New(cmdbuf.Listener{
		Wrote: func(_ *ddi.Thread, c ddi.KMHandle, from, to int) {
			d.log = append(d.log, fmt.Sprintf("%s: context %d, %d to %d", d.t.Stack()[0], c, from, to))
		},
		Renders: func(_ *ddi.Thread, commands []byte) func(bool) {
			d.log = append(d.log, fmt.Sprintf("render of %d", len(commands)))
			return func(ok bool) { d.log = append(d.log, fmt.Sprint("rendered ", ok)) }
		},
	})
	return d
}

// call calls a function that does something.
func (d *driver) call(name string, callback bool, result any, do func(), args ...any) {
	f := &verifier.Func{Name: name, Callback: callback}
	d.t.Push(name)
	d.Enter(d.t, f, args...)
	do()
	d.Leave(d.t, f, result)
	d.t.Pop()
}

// fresh returns a command buffer as the kernel hands it out with checks.
func fresh() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = 0xa5
	}
	return b
}

func TestHook(t *testing.T) {
	d := newDriver()
	device, other := umddi.HDevice{Root: new(ddi.Root)}, umddi.HDevice{Root: new(ddi.Root)}
	nothing := func() {}
	ctx := &umddi.CreateContext{}
	d.call("pfnCreateDevice", false, ddi.OK, func() {
		d.call("pfnCreateContextCb", true, ddi.OK, func() {
			// A DPC in between has a callback with one argument.
			d.call("DxgkCbNotifyDpc", true, nil, nothing, 0)
			ctx.Context, ctx.CommandBuffer = 7, fresh()
		}, 0, ctx)
	}, umddi.HAdapter{}, &umddi.CreateDevice{Device: device})
	at := 0
	write := func(p pkt.Packet) func() {
		return func() {
			b, err := p.Append(nil)
			require.NoError(t, err)
			at += copy(ctx.CommandBuffer[at:], b)
		}
	}
	d.call("pfnResourceCopy", false, nil, write(pkt.Copy{Bytes: 4}), device)
	d.call("pfnResourceCopy", false, nil, nothing, other)
	d.call("pfnCreateResource", false, nil, write(pkt.Fill{Bytes: 4, Value: 0}), device)
	d.call("pfnClearRenderTargetView", false, nil, nothing, device)
	d.call("pfnFlush", false, nil, func() {
		write(pkt.NOP{Skip: 2})()
		arg := &umddi.Render{Context: 7, CommandOffset: 24, CommandLength: 24}
		d.call("pfnRenderCb", true, ddi.OK, func() {
			d.call("DxgkCbNotifyDpc", true, nil, nothing, 0)
			arg.NewCommandBuffer = fresh()
		}, 0, arg)
		ctx.CommandBuffer, at = arg.NewCommandBuffer, 0
		write(pkt.Copy{Bytes: 4})()
		d.call("pfnRenderCb", true, ddi.EFail, nothing, 0, &umddi.Render{Context: 7, CommandLength: 24})
	}, device)
	assert.Equal(t, []string{
		"pfnResourceCopy: context 7, 0 to 24",
		"pfnClearRenderTargetView: context 7, 24 to 48", // any thread may call pfnCreateResource
		"pfnFlush: context 7, 48 to 60",
		"render of 24", "rendered true",
		"pfnFlush: context 7, 0 to 24",
		"render of 24", "rendered false",
	}, d.log)
}
