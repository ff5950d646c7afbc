package endpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// writer offers one write of 8 bytes after another, and counts its clocks.
type writer struct {
	clocks, written int
	header          bool // the current write's header was taken
}

func (w *writer) Target() (port.Completion, bool, bool) { return port.Completion{}, true, true }

func (w *writer) Initiator() (port.Request, port.Beat) {
	if w.header {
		return port.Request{}, port.Beat{Valid: true, Last: true, Enable: 0xff}
	}
	return port.Request{Kind: port.MemWrite, Len: 2, Addr: 8 * uint64(w.written)}, port.Beat{}
}

func (w *writer) Tick(_ port.Request, _ port.Beat, _ bool, _ port.Completion, reqReady, dataReady bool) {
	w.clocks++
	switch {
	case w.header && dataReady:
		w.header = false
		w.written++
	case !w.header && reqReady:
		w.header = true
	}
}

func (w *writer) IdleFor() uint64 { return 0 }
func (w *writer) Skip(uint64)     {}

// TestStall gives the device no room for a million clocks: its clock is stopped
// for nearly all of them, and continues as soon as there is room.
func TestStall(t *testing.T) {
	w := &writer{}
	e, err := endpoint.New(w, endpoint.Options{})
	require.NoError(t, err)
	for before := -1; w.written != before; { // until the queue is full
		before = w.written
		e.Run(100)
	}
	clocks, now := w.clocks, e.Now()
	for range 10 {
		require.EqualValues(t, 100_000, e.Run(100_000), "the clocks pass")
	}
	assert.EqualValues(t, 1_000_000, e.Now()-now)
	assert.Less(t, w.clocks-clocks, 10_000)
	written := w.written
	for range 3 {
		_, ok := e.Next()
		require.True(t, ok)
	}
	e.Run(100)
	assert.Greater(t, w.written, written)
}
