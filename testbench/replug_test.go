package testbench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// served is a board that waits for hosts at a TCP address, repeatedly at the same
// one.
type served struct {
	board *serve.Board
	addr  string
	stop  func()
}

// powerOn replaces the device at the address. The old one must not be in service.
func (s *served) powerOn(t *testing.T, selector string) {
	t.Helper()
	dev, err := boards.Device(selector)
	require.NoError(t, err)
	s.board, err = serve.New(dev, serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash()})
	require.NoError(t, err)
}

// plugIn serves the board until stop.
func (s *served) plugIn(t *testing.T) {
	t.Helper()
	l, err := serve.ListenTCP(s.addr)
	require.NoError(t, err)
	s.addr = strings.TrimPrefix(l.Selector(), "tcp:")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, s.board) // returns when the context is done
	}()
	s.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(s.stop)
}

// A board in another process disconnects during the work and returns at the same
// address: with its state, after a loss of power, or as another board.
func TestServerComesBack(t *testing.T) {
	const selector = "emu?vram=64KiB"
	server := &served{addr: "127.0.0.1:0"}
	server.powerOn(t, selector)
	server.plugIn(t)
	s, err := Open("tcp:"+server.addr, HostDrivers(), Options{HostMemory: 4 << 20, Record: eventstest.Record(t)})
	require.NoError(t, err)
	composes(t, s, tinyPlan(t, 1))
	composes(t, s, tinyPlan(t, 1))
	used, grown, held := s.machine.InUse(), 0, s.kernel.Holdings()
	for round := range 6 {
		plan := tinyPlan(t, 2)
		time.AfterFunc(time.Duration(round)*3*time.Millisecond, server.stop)
		for err == nil {
			_, err = compose.Run(s, plan)
		}
		var stopped *dxgkrnl.DeviceError
		require.ErrorAs(t, err, &stopped)
		assert.Equal(t, dxgkrnl.Link, stopped.Kind)
		require.ErrorIs(t, err, bus.ErrLinkDown)
		server.stop()
		assert.ErrorIs(t, s.Recover(), bus.ErrLinkDown, "the board is not served")
		if round%2 == 1 {
			server.powerOn(t, "emu?vram=32KiB")
			server.plugIn(t)
			err = s.Recover()
			assert.True(t, errors.Is(err, hal.ErrEnumerate), "%v", err)
			server.stop()
			server.powerOn(t, selector)
		}
		server.plugIn(t)
		require.NoError(t, s.Recover())
		composes(t, s, tinyPlan(t, 3))
		assert.Equal(t, held, s.kernel.Holdings())
		if now := s.machine.InUse(); now != used {
			used, grown = now, grown+1
		}
		err = nil
	}
	assert.LessOrEqual(t, grown, 3, "the kernel makes another paging buffer when it needs one, and keeps it")
	require.NoError(t, s.Close())
}
