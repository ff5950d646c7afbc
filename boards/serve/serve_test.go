package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestConformance runs the conformance suite over a served board, on a good
// line and on a bad one.
func TestConformance(t *testing.T) {
	bad := fault.Config{Loss: 0.03, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Seed: 5}
	for name, tt := range map[string]struct {
		board serve.Options
		host  rootport.Options
	}{
		"free":    {},
		"clock":   {board: serve.Options{Pacing: serve.Clock, Hz: 1_000_000}},
		"bad":     {board: serve.Options{Faults: bad}},
		"crowded": {board: serve.Options{Endpoint: endpoint.Options{Queue: 1, Reads: 1}}},

		"free, served always":    {host: rootport.Options{ServeAlways: true}},
		"crowded, served always": {serve.Options{Endpoint: endpoint.Options{Queue: 1, Reads: 1}}, rootport.Options{ServeAlways: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				dev := bustest.NewDevice(bustest.DeviceOptions{})
				r, link, host := pairOf(t, dev, tt.board, tt.host)
				f := bustest.DeviceFixture(link, link, host, dev)
				f.Requests = func() (n uint64) {
					r.board.Sample(func() { n = dev.Requests() })
					return n
				}
				f.Kill = func() {
					r.stop()
					eventually(t, func() bool { _, err := link.ReadConfig(0); return err != nil }, "the end of the link")
				}
				return f
			})
		})
	}
}

// TestSessions: hosts connect one after another. Each session is reported when
// it begins and ends, and the device keeps its state.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := bustest.NewDevice(bustest.DeviceOptions{})
		var log bytes.Buffer
		var told []serve.Session
		board, err := serve.New(dev, serve.Options{Name: "B", Log: &log, OnSession: func(s serve.Session) { told = append(told, s) }})
		require.NoError(t, err)
		for i := range 2 {
			near, far := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- board.Serve(t.Context(), far) }()
			link, err := connect(near, bustest.NewHost(4096))
			require.NoError(t, err)
			if i == 0 {
				require.NoError(t, bustest.Enumerate(link))
				require.NoError(t, link.Write(0, bustest.RegScratch, []byte{1, 2, 3, 4}))
			}
			p := make([]byte, 4) // the read also waits for the write
			require.NoError(t, link.Read(0, bustest.RegScratch, p))
			assert.Equal(t, []byte{1, 2, 3, 4}, p)
			assert.True(t, board.Connected())
			require.NoError(t, link.Close())
			assert.ErrorIs(t, <-ended, bus.ErrLinkDown)
			assert.False(t, board.Connected())
		}
		require.Len(t, told, 4)
		for i, s := range told {
			assert.Equal(t, []any{uint64(i/2 + 1), i%2 == 0, i%2 == 1}, []any{s.N, s.Up, s.Cause != nil})
		}
		lines := bytes.Split(bytes.TrimSpace(log.Bytes()), []byte("\n"))
		require.Len(t, lines, 4)
		assert.Equal(t, "board B: session 1 begins", string(lines[0]))
		assert.Contains(t, string(lines[1]), "board B: session 1 ends: ")
		s := board.Stats()
		assert.Equal(t, []uint64{2, 2}, []uint64{s.Sessions, s.Streams})
	})
}

// TestStop: a board stops at once, whether it waits for hosts or serves one.
func TestStop(t *testing.T) {
	for _, connected := range []bool{false, true} {
		t.Run(fmt.Sprintf("connected %v", connected), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				r := start(t, bustest.NewDevice(bustest.DeviceOptions{}), far, serve.Options{})
				if connected {
					link, err := connect(near, bustest.NewHost(4096))
					require.NoError(t, err)
					defer link.Close()
				} else {
					defer near.Close()
				}
				time.Sleep(time.Second)
				before := time.Now()
				r.stop()
				assert.ErrorIs(t, <-r.ended, errStop)
				assert.LessOrEqual(t, time.Since(before), 200*time.Millisecond)
			})
		})
	}
}

// ticking counts the clocks and skips of a device.
type ticking struct {
	port.Device
	calls int
}

func (d *ticking) Target() (port.Completion, bool, bool) {
	d.calls++
	return d.Device.Target()
}

// settle is the time after which no Write of the board lasts. The board holds its lock in a
// Write, until the host's reader takes over after a millisecond or two. In a bubble of
// synctest, Stats would wait for that lock while time stands still, for ever.
const settle = 10 * time.Millisecond

// TestIdle: an idle device uses no CPU time, and its clock follows the wall
// clock.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		dev := &ticking{Device: bustest.NewDevice(bustest.DeviceOptions{})}
		board, err := serve.New(dev, serve.Options{Hz: 1_000_000})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- board.Serve(ctx, far) }()
		link, err := connect(near, bustest.NewHost(4096))
		require.NoError(t, err)
		time.Sleep(settle)
		calls, clocks := dev.calls, board.Stats().Clocks
		time.Sleep(10*time.Second - settle)
		_, err = link.ReadConfig(0)
		require.NoError(t, err)
		time.Sleep(settle)
		assert.InDelta(t, clocks+10_000_000, board.Stats().Clocks, 2000)
		assert.Less(t, dev.calls-calls, 100)
		link.Close()
		<-done
		cancel()
	})
}

// TestClock: with Clock pacing the device is never ahead of the wall clock, and
// does not lag if it can keep up.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r, link, host := pair(t, serve.Options{Pacing: serve.Clock, Hz: 10_000})
		require.NoError(t, bustest.Enumerate(link))
		for range 20 {
			require.NoError(t, bustest.StartJob(link, bustest.JobWrite, host.Base, 0, 1000))
			time.Sleep(137 * time.Millisecond)
			wall := uint64(time.Since(begun).Seconds() * 10_000)
			clocks := r.board.Stats().Clocks
			require.LessOrEqual(t, clocks, wall)
			require.Greater(t, clocks+2100, wall) // Serve checks every 200 ms
		}
		_, err := link.ReadConfig(0)
		require.NoError(t, err)
		assert.Len(t, host.Messages(), 20)
		link.Close()
		<-r.ended
	})
}

// slow is a device that takes ten thousand times the real time of a clock.
type slow struct{ port.Device }

func (d slow) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	time.Sleep(10 * time.Millisecond)
	d.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// TestFreeDelay: a device that waits for some time takes at least that time,
// however slow its earlier work was.
func TestFreeDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, link, _ := pairOf(t, slow{bustest.NewDevice(bustest.DeviceOptions{})}, serve.Options{Hz: 1_000_000}, rootport.Options{})
		require.NoError(t, bustest.Enumerate(link))
		require.NoError(t, bustest.StartJob(link, bustest.JobDelay, 0, 0, 3_000_000))
		require.NoError(t, link.Read(0, bustest.RegDone, make([]byte, 4)))
		begun := time.Now()
		event, err := false, error(nil)
		for !event && time.Since(begun) < 10*time.Second {
			event, err = link.Wait(link.Now() + 1e9)
			require.NoError(t, err)
		}
		assert.True(t, event)
		took := time.Since(begun).Seconds()
		assert.Greater(t, took, 2.99)
		assert.Less(t, took, 3.2)
		link.Close()
		<-r.ended
	})
}

// broken is a device that offers an unexpected completion.
type broken struct{ *bustest.Device }

func (broken) Target() (port.Completion, bool, bool) {
	return port.Completion{Tag: 3, Status: port.CplSuccess, Last: true}, true, true
}

func (broken) IdleFor() uint64 { return 0 }

func TestBrokenDevice(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	err := serve.Serve(t.Context(), broken{bustest.NewDevice(bustest.DeviceOptions{})}, far, serve.Options{})
	assert.ErrorIs(t, err, endpoint.ErrProtocol)
}

func TestOptions(t *testing.T) {
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	for _, opt := range []serve.Options{{Hz: 1}, {Hz: 1 << 40}, {Pacing: 9}, {Baud: -1}, {Silence: -1}} {
		_, err := serve.New(dev, opt)
		assert.ErrorIs(t, err, serve.ErrOptions)
	}
	_, err := serve.New(dev, serve.Options{Endpoint: endpoint.Options{Queue: -1}})
	assert.ErrorIs(t, err, endpoint.ErrOptions)
	for _, where := range []string{"", "tcp:", "pty:", "udp:", "ib:1", "tcp"} {
		_, err := serve.Listen(where)
		assert.ErrorIs(t, err, serve.ErrOptions, where)
	}
}
