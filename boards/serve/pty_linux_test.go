package serve_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// TestPty: hosts open a pseudo-terminal as a serial port, one after another.
func TestPty(t *testing.T) {
	board, path, stop := listen(t, "pty:"+filepath.Join(t.TempDir(), "board"))
	for i := range 2 {
		p, err := serial.Open(path, serial.Options{})
		require.NoError(t, err)
		link, err := connect(p, bustest.NewHost(4096))
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		require.NoError(t, link.Close())
		eventually(t, func() bool { return !board.Connected() }, "the end of the session")
		assert.Equal(t, uint64(i+1), board.Stats().Sessions)
	}
	assert.ErrorIs(t, stop(), errStop)
	_, err := serial.Open(path, serial.Options{})
	assert.Error(t, err)
}

// TestPtyAgreesOnARate: a host that allows a higher rate gets it, session after
// session.
func TestPtyAgreesOnARate(t *testing.T) {
	board, path, stop := listen(t, "pty:"+filepath.Join(t.TempDir(), "board"))
	for i := range 3 {
		p, err := serial.Open(path, serial.Options{})
		require.NoError(t, err)
		rate, err := serial.RaiseBaud(p, serial.DefaultBaud, []int{230400, 460800}, 0, nil)
		require.NoError(t, err)
		assert.Equal(t, 460800, rate)
		link, err := connect(p, bustest.NewHost(4096))
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		require.NoError(t, link.Close())
		eventually(t, func() bool { return !board.Connected() }, "the end of the session")
		assert.Equal(t, uint64(i+1), board.Stats().Sessions)
	}
	assert.ErrorIs(t, stop(), errStop)
}

// A lossy stream drops everything written after the first successful Read,
// until it is restored.
type lossy struct {
	io.ReadWriteCloser
	received, restored atomic.Bool
}

func (l *lossy) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if n > 0 {
		l.received.Store(true)
	}
	return n, err
}

func (l *lossy) Write(p []byte) (int, error) {
	if l.received.Load() && !l.restored.Load() {
		return len(p), nil
	}
	return l.ReadWriteCloser.Write(p)
}

// TestPtyKeepsAnsweredHost: a host that is answered while the previous session
// ends, and whose first frames are lost, still gets its session.
func TestPtyKeepsAnsweredHost(t *testing.T) {
	l, err := serve.ListenPty(filepath.Join(t.TempDir(), "board"))
	require.NoError(t, err)
	_, path, _ := strings.Cut(l.Selector(), ":")
	open := func() (p io.ReadWriteCloser) {
		eventually(t, func() bool {
			p, err = serial.Open(path, serial.Options{})
			return err == nil
		}, "the port")
		return p
	}
	line := &lossy{}
	next := make(chan *rootport.RootPort, 1)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{OnSession: func(s serve.Session) {
		if s.N == 1 && !s.Up {
			line.ReadWriteCloser = open()
			link, err := connect(line, bustest.NewHost(4096))
			assert.NoError(t, err)
			next <- link
		}
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, board) }()
	link, err := connect(open(), bustest.NewHost(4096))
	require.NoError(t, err)
	require.NoError(t, link.Close())
	link = <-next
	time.Sleep(200 * time.Millisecond)
	line.restored.Store(true)
	assert.NoError(t, bustest.Enumerate(link))
	assert.NoError(t, link.Close())
	assert.Equal(t, uint64(2), board.Stats().Sessions)
	cancel(errStop)
	assert.ErrorIs(t, <-ended, errStop)
}

// TestStaleWrites: packets that the device had not begun to take when the
// session ended have no effect.
func TestStaleWrites(t *testing.T) {
	dev := &stalling{Device: bustest.NewDevice(bustest.DeviceOptions{})}
	pty, err := serial.ListenPty(filepath.Join(t.TempDir(), "board"))
	require.NoError(t, err)
	r := start(t, dev, pty, serve.Options{Endpoint: endpoint.Options{Queue: 4}})
	open := func() *rootport.RootPort {
		s, err := serial.Open(pty.Path(), serial.Options{})
		require.NoError(t, err)
		link, err := connect(s, bustest.NewHost(4096))
		require.NoError(t, err)
		return link
	}
	link := open()
	require.NoError(t, bustest.Enumerate(link))
	r.board.Sample(func() { dev.on.Store(true) })
	flood(t, link)
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, link.Close())
	eventually(t, func() bool { return !r.board.Connected() }, "the end of the session")
	time.Sleep(50 * time.Millisecond)
	r.board.Sample(func() { dev.on.Store(false) })
	link = open()
	defer link.Close()
	p := make([]byte, 4*words)
	require.NoError(t, link.Read(2, 0, p))
	assert.Equal(t, make([]byte, len(p)-4), p[4:], "all but the write at the port")
}
