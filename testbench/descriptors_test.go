package testbench

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// logOf composes a frame and returns the events of its log, and the counts of the system.
func logOf(t *testing.T, board string, q Queues) (all []eventlog.Event, counts Stats) {
	t.Helper()
	all, _, counts = recorded(t, board, q)
	return all, counts
}

// linkLog is logOf with the counters of the link.
func linkLog(t *testing.T, board string) (all []eventlog.Event, counters []boards.Counter) {
	t.Helper()
	all, counters, _ = recorded(t, board, Queues{})
	return all, counters
}

func recorded(t *testing.T, board string, q Queues) (all []eventlog.Event, counters []boards.Counter, counts Stats) {
	t.Helper()
	var log bytes.Buffer
	var w *eventlog.Writer
	s, err := Open(board, HostDrivers(), Options{Queues: q, Record: func(h eventlog.Header) (events.Sink, error) {
		var err error
		w, err = eventlog.NewWriter(&log, h)
		return w, err
	}})
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 1))
	require.NoError(t, s.WaitForIdle())
	counts = s.Stats()
	require.NoError(t, s.Close())
	if c, ok := bus.As[boards.Counters](s.link); ok {
		counters = c.Counters()
	}
	l, err := eventlog.NewReader(&log)
	require.NoError(t, err)
	var e eventlog.Event
	for {
		err := l.Next(&e)
		if errors.Is(err, io.EOF) {
			return all, counters, counts
		}
		require.NoError(t, err)
		all = append(all, e.Clone())
	}
}

// moved returns where a packet writes and how many bytes. state has the bytes of an element of
// the destination.
func moved(t *testing.T, data []byte, element *uint64) (to, bytes uint64) {
	t.Helper()
	d, _, err := pkt.Decode(data)
	require.NoError(t, err)
	switch d := d.(type) {
	case pkt.SetState:
		if d.Surface == pkt.Dest {
			*element = 1 << d.Format
		}
	case pkt.Copy:
		return d.Dst, uint64(d.Bytes)
	case pkt.Fill:
		return d.Dst, uint64(d.Bytes)
	case pkt.Copy2D:
		return 0, uint64(d.W) * uint64(d.H) * *element
	case pkt.Fill2D:
		return 0, uint64(d.W) * uint64(d.H) * *element
	}
	return 0, 0
}

// The descriptors of each packet move the bytes of the packet, from its destination on. Together they move
// what the engine counts.
func TestDescriptorsOfPackets(t *testing.T) {
	for _, board := range []string{"emu", "emu?nodes=1&vram=16KiB", "emu?config=full"} {
		all, counts := logOf(t, board, Queues{})
		type sum struct{ node, first, bytes, number uint64 }
		sums, total := map[uint64]*sum{}, uint64(0)
		for _, e := range all {
			if e.Kind != eventlog.Descriptor {
				continue
			}
			s := sums[e.Cause]
			if s == nil {
				s = &sum{node: e.Fields[0], first: e.Fields[2]}
				sums[e.Cause] = s
			}
			s.bytes, s.number, total = s.bytes+e.Fields[4], s.number+1, total+e.Fields[4]
			assert.Equal(t, s.node, e.Fields[0], "%s: %v", board, &e)
		}
		assert.Equal(t, counts.BytesMoved, total, board)
		element := uint64(0)
		for _, e := range all {
			if e.Kind != eventlog.Packet {
				continue
			}
			to, bytes := moved(t, e.Data, &element)
			s := sums[e.ID]
			if bytes == 0 {
				assert.Nil(t, s, "%s: %v", board, &e)
				continue
			}
			require.NotNil(t, s, "%s: %v", board, &e)
			assert.Equal(t, bytes, s.bytes, "%s: %v", board, &e)
			if to != 0 {
				assert.Equal(t, to, s.first, "%s: %v", board, &e)
			}
			delete(sums, e.ID)
		}
		assert.Empty(t, sums, "%s: descriptors without a packet", board)
	}
}
