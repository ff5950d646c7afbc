package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

var errStop = errors.New("stopped by the test")

// running is a board being served.
type running struct {
	board *serve.Board
	stop  func()
	ended chan error
}

// start serves a stream until the test stops it or the stream ends.
func start(t *testing.T, dev port.Device, stream io.ReadWriteCloser, opt serve.Options) *running {
	t.Helper()
	r := &running{ended: make(chan error, 1)}
	var err error
	r.board, err = serve.New(dev, opt)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	r.stop = func() { cancel(errStop) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended <- r.board.Serve(ctx, stream)
	}()
	t.Cleanup(func() { r.stop(); <-done })
	return r
}

// connect opens a host at the other end of stream, which serves the device in calls only.
func connect(stream io.ReadWriteCloser, host *bustest.Host) (*rootport.RootPort, error) {
	return connectWith(stream, host, rootport.Options{})
}

func connectWith(stream io.ReadWriteCloser, host *bustest.Host, opt rootport.Options) (*rootport.RootPort, error) {
	return rootport.New(func() (rootport.Port, error) {
		return channel.Open(stream, channel.Config{Link: datalink.Config{Role: datalink.Host}})
	}, host, opt)
}

// pair returns a board and a host connected by a pipe.
func pair(t *testing.T, opt serve.Options) (*running, *rootport.RootPort, *bustest.Host) {
	t.Helper()
	return pairOf(t, bustest.NewDevice(bustest.DeviceOptions{}), opt, rootport.Options{})
}

func pairOf(t *testing.T, dev port.Device, opt serve.Options, root rootport.Options) (*running, *rootport.RootPort, *bustest.Host) {
	t.Helper()
	near, far := net.Pipe()
	r := start(t, dev, far, opt)
	host := bustest.NewHost(64 << 10)
	link, err := connectWith(near, host, root)
	require.NoError(t, err)
	t.Cleanup(func() { link.Close() })
	return r, link, host
}

// eventually waits for a condition, in steps of a millisecond of the test's
// clock.
func eventually(t testing.TB, ok func() bool, what string) {
	t.Helper()
	for range 5000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("timed out: " + what)
}
