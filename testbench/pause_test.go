package testbench

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// onServedBoards runs a test on a served board, over each transport. The board gives
// up on a read of host memory after the given time; 0: the default.
func onServedBoards(t *testing.T, patience time.Duration, f func(t *testing.T, board *serve.Board, s *System)) {
	same := func(dev port.Device) port.Device { return dev }
	onServedDevices(t, same, patience, serial.DefaultBaud, Options{}, func(t *testing.T, _ port.Device, board *serve.Board, s *System) { f(t, board, s) })
}

// onServedDevices is onServedBoards with another device around the emulator, and with the
// rate of a serial line, in bits per second.
func onServedDevices(t *testing.T, around func(port.Device) port.Device, patience time.Duration, baud int, o Options, f func(t *testing.T, dev port.Device, board *serve.Board, s *System)) {
	for _, where := range []string{"tcp:127.0.0.1:0", "udp:127.0.0.1:0", "pty:"} {
		t.Run(where[:3], func(t *testing.T) {
			t.Parallel()
			if where == "pty:" {
				if runtime.GOOS != "linux" {
					t.Skip("pseudo-terminals are served on Linux only")
				}
				where += filepath.Join(t.TempDir(), "board")
			}
			l, err := serve.Listen(where)
			require.NoError(t, err)
			selector := l.Selector() + "?silence=10000"
			if where[:4] == "pty:" {
				selector += "&baud=" + strconv.Itoa(baud)
			}
			onServedDevice(t, l, selector, around, patience, o, f)
		})
	}
}

// onServedBoard runs a test on a board that l serves and that the host opens by a selector.
func onServedBoard(t *testing.T, l serve.Listener, selector string, patience time.Duration, f func(t *testing.T, board *serve.Board, s *System)) {
	same := func(dev port.Device) port.Device { return dev }
	onServedDevice(t, l, selector+"?silence=10000", same, patience, Options{}, func(t *testing.T, _ port.Device, board *serve.Board, s *System) { f(t, board, s) })
}

// onServedDevice is onServedBoard with another device around the emulator.
func onServedDevice(t *testing.T, l serve.Listener, selector string, around func(port.Device) port.Device, patience time.Duration, o Options, f func(t *testing.T, dev port.Device, board *serve.Board, s *System)) {
	emu, err := boards.Device("emu?vram=64KiB")
	require.NoError(t, err)
	dev := around(emu)
	board, err := serve.New(dev, serve.Options{
		Hz: emu.Hz(), MapHash: regmap.Hash(), Silence: 10 * time.Second, // the machine may be busy
		Endpoint: endpoint.Options{Timeout: uint64(patience.Seconds() * float64(emu.Hz()))},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Serve(ctx, board) // returns when the context is done
	}()
	defer func() { cancel(); <-done }()
	if o.Record == nil {
		o.Record = eventstest.Record(t)
	}
	s, err := Open(selector, HostDrivers(), o)
	require.NoError(t, err)
	f(t, dev, board, s)
	require.NoError(t, s.Close())
}

// A caller's own log is kept.
func TestServedDeviceKeepsTheLog(t *testing.T) {
	l, err := serve.Listen("tcp:127.0.0.1:0")
	require.NoError(t, err)
	ring := eventlog.NewRing(1<<20, eventlog.Header{})
	o := Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }}
	same := func(dev port.Device) port.Device { return dev }
	onServedDevice(t, l, l.Selector()+"?silence=10000", same, 0, o, func(*testing.T, port.Device, *serve.Board, *System) {})
	require.Contains(t, ring.Last(1), "the last 1 of ")
}

// A copying application has a texture that the CPU can write and one that it can
// read.
type copying struct {
	t        *testing.T
	dev      *d3d11.Device
	ctx      *d3d11.Context
	src, dst *d3d11.Texture2D
}

const copySize = 32 // pixels, in both directions

func newCopying(t *testing.T, s *System) *copying {
	c := &copying{t: t}
	var err error
	c.dev, c.ctx, err = s.CreateDevice()
	require.NoError(t, err)
	desc := d3d11.Texture2DDesc{
		Width: copySize, Height: copySize, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead | d3d11.CPUAccessWrite,
	}
	c.src, err = c.dev.CreateTexture2D(desc, nil)
	require.NoError(t, err)
	c.dst, err = c.dev.CreateTexture2D(desc, nil)
	require.NoError(t, err)
	return c
}

// flush makes the GPU copy a picture that is v everywhere.
func (c *copying) flush(v uint32) {
	var m d3d11.MappedSubresource
	require.NoError(c.t, c.ctx.Map(c.src, 0, d3d11.MapWrite, 0, &m))
	for i := range len(m.Data) / 4 {
		binary.LittleEndian.PutUint32(m.Data[4*i:], v)
	}
	c.ctx.Unmap(c.src, 0)
	c.ctx.CopyResource(c.dst, c.src)
	c.ctx.Flush()
}

// check maps the copy.
func (c *copying) check(v uint32) {
	var m d3d11.MappedSubresource
	require.NoError(c.t, c.ctx.Map(c.dst, 0, d3d11.MapRead, 0, &m))
	assert.Equal(c.t, v, binary.LittleEndian.Uint32(m.Data[4*copySize*copySize-4:]))
	c.ctx.Unmap(c.dst, 0)
}

// While the application calls nothing, the GPU does its work and reports it: the
// picture and the fence are in host memory, and the interrupt is latched.
func TestWorkContinuesInAPause(t *testing.T) {
	onServedBoards(t, time.Minute, workContinues)
}

func workContinues(t *testing.T, _ *serve.Board, s *System) {
	c := newCopying(t, s)
	c.flush(0)
	c.check(0)
	var copied, fences atomic.Int64
	for i := range uint32(10) {
		v := 0xa0b0c0d0 + i
		copied.Store(0)
		fences.Store(0)
		s.machine.ObserveWrites(func(_ uint64, p []byte) {
			for at := 0; at+4 <= len(p); at += 4 {
				if binary.LittleEndian.Uint32(p[at:]) == v {
					copied.Add(1)
				} else if copied.Load() == copySize*copySize {
					fences.Add(1)
				}
			}
		})
		before := s.device.Stats().Messages
		c.flush(v)
		waitFor(t, "the picture, then a fence", func() bool { return fences.Load() > 0 })
		waitFor(t, "the interrupt", func() bool { return s.device.Stats().Messages > before })
		c.check(v)
	}
	c.dev.Close()
}

// A pause that is longer than the board waits for host memory, 1.3 s, and one that is
// longer than the time-out of the kernel, end neither the work nor the device.
func TestPauseAfterFlush(t *testing.T) {
	onServedBoards(t, 0, pausesAfterFlush)
}

func pausesAfterFlush(t *testing.T, board *serve.Board, s *System) {
	c := newCopying(t, s)
	for i, pause := range []time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond} {
		c.flush(uint32(i))
		time.Sleep(pause)
		c.check(uint32(i))
	}
	assert.Zero(t, board.Stats().Endpoint.Timeouts)
	assert.Zero(t, s.Stats().Lost)
	c.dev.Close()
}

// A board that disconnects while the application thinks is a link failure at the next
// call. After the recovery its work continues in pauses again.
func TestDisconnectInAPause(t *testing.T) {
	server := &served{addr: "127.0.0.1:0"}
	server.powerOn(t, "emu?vram=64KiB")
	server.plugIn(t)
	s, err := Open("tcp:"+server.addr, HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	for range 3 {
		c := newCopying(t, s)
		before := s.device.Stats().Messages
		c.flush(1)
		waitFor(t, "the interrupt", func() bool { return s.device.Stats().Messages > before })
		c.check(1)
		server.stop()
		c.flush(2)
		require.Error(t, c.ctx.Map(c.dst, 0, d3d11.MapRead, 0, new(d3d11.MappedSubresource)))
		var stopped *dxgkrnl.DeviceError
		require.ErrorAs(t, s.Err(), &stopped)
		assert.Equal(t, dxgkrnl.Link, stopped.Kind)
		c.dev.Close()
		server.plugIn(t)
		require.NoError(t, s.Recover())
	}
	require.NoError(t, s.Close())
}

// An application that sleeps half of the time composes the same frame.
func TestComposeWithPauses(t *testing.T) {
	onServedBoards(t, time.Minute, func(t *testing.T, _ *serve.Board, s *System) {
		plan, calls := tinyPlan(t, 1), 0
		plan.Think = func() {
			calls++
			time.Sleep(5 * time.Millisecond)
		}
		for range 5 {
			composes(t, s, plan)
		}
		assert.Equal(t, 5*(2+1), calls, "after each of two uploads, and after the list")
	})
}

// waitFor waits for a condition that needs no call of the link.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 20_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("timed out: " + what)
}
