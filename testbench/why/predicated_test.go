package why_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// predicatedLog runs a copy of a buffer under a predicate whose result is 0. D3D11 skips it if value is false: SetPredication of the SDK says
// that work is skipped if the result is equal to value. It returns the events, the number of the call of the copy, and whether the content
// was copied.
func predicatedLog(t *testing.T, board string, value bool) (ring *eventlog.Ring, copied bool) {
	t.Helper()
	ring = eventlog.NewRing(64<<20, eventlog.Header{})
	s, err := testbench.Open(board, testbench.HostDrivers(), testbench.Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	buffer := func(data []byte) *d3d11.Buffer {
		b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, &d3d11.SubresourceData{SysMem: data})
		require.NoError(t, err)
		return b
	}
	from, to := buffer([]byte{63: 7}), buffer(make([]byte, 64))
	back, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(t, err)
	q, err := dev.CreatePredicate(&d3d11.QueryDesc{Query: d3d11.QueryOcclusionPredicate})
	require.NoError(t, err)
	ctx.Begin(q)
	ctx.End(q)
	ctx.SetPredication(q, value)
	ctx.CopyResource(to, from)
	ctx.SetPredication(nil, false)
	ctx.CopyResource(back, to)
	var m d3d11.MappedSubresource
	require.NoError(t, ctx.Map(back, 0, d3d11.MapRead, 0, &m))
	copied = m.Data[63] == 7
	ctx.Unmap(back, 0)
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())
	return ring, copied
}

// eventsOf returns the events of a ring.
func eventsOf(t *testing.T, ring *eventlog.Ring) (all []eventlog.Event) {
	t.Helper()
	var log bytes.Buffer
	_, err := ring.WriteTo(&log)
	require.NoError(t, err)
	l, err := eventlog.NewReader(&log)
	require.NoError(t, err)
	var e eventlog.Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		all = append(all, e.Clone())
	}
	require.ErrorIs(t, err, io.EOF)
	return all
}

// guarded returns the destination and the offset of the COPY after the first PREDICATE of a log.
func guarded(t *testing.T, ring *eventlog.Ring) (addr uint64, packet string) {
	t.Helper()
	found := false
	for _, e := range eventsOf(t, ring) {
		if e.Kind != eventlog.Packet {
			continue
		}
		if c, _, err := pkt.DecodeCopy(e.Data); err == nil && found {
			return c.Dst, fmt.Sprintf("by COPY src=%s dst=%s bytes=64 at IB+%#x of", pkt.FormatAddr(c.Src), pkt.FormatAddr(c.Dst), e.Fields[1])
		}
		found = found || e.Data[3] == pkt.OpPredicate
	}
	require.Fail(t, "no COPY after a PREDICATE")
	return 0, ""
}

// A packet that a PREDICATE skips did not write, and one that it does not skip did, also on a board that does not tell what its nodes execute: there the
// value is that of the FILL of the query.
func TestPredicatedCopies(t *testing.T) {
	for _, board := range []string{"emu", "emu?trace=0"} {
		for _, value := range []bool{false, true} {
			ring, copied := predicatedLog(t, board, value)
			require.Equal(t, value, copied, "the copy was skipped if the result, 0, is equal to the value")
			r := runOfRing(t, ring)
			require.Equal(t, board == "emu", r.Header.Observed)
			addr, packet := guarded(t, ring)
			a, err := r.Address(addr + 63)
			require.NoError(t, err)
			assert.NotContains(t, a.Text(), "not known", board)
			assert.Equal(t, copied, strings.Contains(a.Text(), "written "+packet), "%s\n%s", board, a.Text())
		}
	}
}
