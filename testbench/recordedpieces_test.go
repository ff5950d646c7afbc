package testbench

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// callsOf returns the numbers of the calls of methods, in order.
func callsOf(t *testing.T, ring *eventlog.Ring, apis ...string) (all []uint64) {
	t.Helper()
	l, err := eventlog.NewReader(ringReader(t, ring))
	require.NoError(t, err)
	var e eventlog.Event
	for l.Next(&e) == nil {
		for _, api := range apis {
			if e.Kind == eventlog.Call && e.Text() == api {
				all = append(all, e.Fields[0])
			}
		}
	}
	return all
}

// sums returns the number of packets in an answer, and the sum of a number that they have.
func sums(t *testing.T, r *why.Run, call uint64, number string) (packets, sum int) {
	t.Helper()
	a, err := r.Call(call)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`its packet is .* `+number+`=(\d+) `).FindAllStringSubmatch(a.Text(), -1) {
		v, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		packets, sum = packets+1, sum+v
	}
	assert.NotContains(t, a.Text(), "unknown", "%s", a.Text())
	return packets, sum
}

// A function of a deferred context that needs several packets leads to all of them, and only to them: no copy has more
// than 65535 bytes here, and no upload more than 256 KiB.
func TestRecordedFunctionsOfSeveralPackets(t *testing.T) {
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := Open("emu?lengthbits=16", HostDrivers(), Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	const size = 150_000
	var bufs []*d3d11.Buffer
	for range 2 {
		b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: size, BindFlags: d3d11.BindVertexBuffer}, nil)
		require.NoError(t, err)
		bufs = append(bufs, b)
	}
	tex, err := dev.CreateTexture2D(d3d11.Texture2DDesc{Width: 300, Height: 250, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm, SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindShaderResource}, nil)
	require.NoError(t, err)
	c := deferred(t, dev)
	data := make([]byte, 4*300*250)
	part := &d3d11.Box{Left: 5, Right: 100_005, Bottom: 1, Back: 1}
	c.UpdateSubresource(bufs[0], 0, nil, data, 0, 0)
	c.UpdateSubresource(bufs[0], 0, part, data, 0, 0)
	c.CopyResource(bufs[1], bufs[0])
	c.UpdateSubresource(tex, 0, nil, data, 1200, 0)
	c.UpdateSubresource(tex, 0, &d3d11.Box{Left: 10, Right: 300, Top: 20, Bottom: 250, Back: 1}, data, 1200, 0)
	c.CopySubresourceRegion(bufs[1], 0, 7, 0, 0, bufs[0], 0, part)
	c.CopyResource(bufs[0], bufs[1])
	l, err := c.FinishCommandList(false)
	require.NoError(t, err)
	ctx.ExecuteCommandList(l, false)
	ctx.Flush()
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())

	r := runOf(t, ring)
	calls := callsOf(t, ring, "UpdateSubresource", "CopyResource", "CopySubresourceRegion")
	for i, tt := range []struct {
		number string
		sum    int
	}{{"bytes", size}, {"bytes", 100_000}, {"bytes", size}, {"h", 250}, {"h", 230}, {"bytes", 100_000}, {"bytes", size}} {
		packets, sum := sums(t, r, calls[i], tt.number)
		assert.Greater(t, packets, 1, "call %d", calls[i])
		assert.Equal(t, tt.sum, sum, "call %d", calls[i])
		a, err := r.Call(calls[i])
		require.NoError(t, err)
		assert.Equal(t, "it was recorded, and its work has ended", a.Verdict)
	}
}
