package serve_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// A visitor gets the device when no request of the host is at it, and is told when that does not come.
func TestVisit(t *testing.T) {
	dev := &stalling{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	r, link, _ := pairOf(t, dev, serve.Options{}, rootport.Options{})
	require.NoError(t, bustest.Enumerate(link))
	visits := 0
	visit := func() error { return r.board.Visit(func() { visits++ }) }
	require.NoError(t, visit())
	assert.Equal(t, 1, visits)

	r.board.Sample(func() { dev.on.Store(true) })
	before := r.board.Stats().Endpoint.HostWrites
	require.NoError(t, link.Write(2, 0, make([]byte, 4)))
	eventually(t, func() bool { return r.board.Stats().Endpoint.HostWrites > before }, "the write is at the device")
	assert.ErrorContains(t, visit(), "requests are at the device")
	assert.Equal(t, 1, visits)

	r.board.Sample(func() { dev.on.Store(false) })
	require.NoError(t, visit())
	assert.Equal(t, 2, visits)
}
