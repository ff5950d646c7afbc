package serve_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// listen serves a reference device at where; the returned function stops it and
// returns why it ended.
func listen(t *testing.T, where string) (*serve.Board, string, func() error) {
	t.Helper()
	l, err := serve.Listen(where)
	require.NoError(t, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, board) }()
	stop := sync.OnceValue(func() error {
		cancel(errStop)
		return <-ended
	})
	t.Cleanup(func() { stop() })
	_, at, _ := strings.Cut(l.Selector(), ":")
	return board, at, stop
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	return c
}

// TestTCP: one host at a time; another is told who has the board.
func TestTCP(t *testing.T) {
	board, addr, stop := listen(t, "tcp:127.0.0.1:0")
	first := dial(t, addr)
	link, err := connect(first, bustest.NewHost(4096))
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))

	var mu sync.Mutex
	var text bytes.Buffer
	_, err = channel.Open(dial(t, addr), channel.Config{
		Link: datalink.Config{Role: datalink.Host},
		Console: func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			text.Write(p)
		},
	})
	require.Error(t, err)
	mu.Lock()
	assert.Contains(t, text.String(), serve.Refusal+"this board is held by "+first.LocalAddr().String())
	mu.Unlock()

	p := make([]byte, 4)
	require.NoError(t, link.Write(0, bustest.RegScratch, []byte{1, 2, 3, 4}))
	require.NoError(t, link.Read(0, bustest.RegScratch, p)) // writes are posted
	require.NoError(t, link.Close())
	link, err = connect(dial(t, addr), bustest.NewHost(4096))
	require.NoError(t, err)
	clear(p)
	require.NoError(t, link.Read(0, bustest.RegScratch, p))
	assert.Equal(t, []byte{1, 2, 3, 4}, p)
	assert.Equal(t, uint64(2), board.Stats().Sessions)

	begun := time.Now()
	assert.ErrorIs(t, stop(), errStop)
	assert.Less(t, time.Since(begun), time.Second)
	_, err = link.ReadConfig(0)
	assert.Error(t, err)
	_, err = net.Dial("tcp", addr)
	assert.Error(t, err)
}

// TestTCPReplaced: a connection that never begins a session does not keep the
// board from others for long.
func TestTCPReplaced(t *testing.T) {
	_, addr, _ := listen(t, "tcp:127.0.0.1:0")
	idle := dial(t, addr)
	defer idle.Close()
	time.Sleep(2100 * time.Millisecond)
	link, err := connect(dial(t, addr), bustest.NewHost(4096))
	require.NoError(t, err)
	link.Close()
}

// TestPty: hosts open a pseudo-terminal as a serial port, one after the other.
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

// TestPtySettlesOnARate: a host that may go up to a rate ends at that one, again
// and again.
func TestPtySettlesOnARate(t *testing.T) {
	board, path, stop := listen(t, "pty:"+filepath.Join(t.TempDir(), "board"))
	for i := range 3 {
		p, err := serial.Open(path, serial.Options{})
		require.NoError(t, err)
		rate, err := serial.RaiseBaud(p, serial.DefaultBaud, []int{230400, 460800}, nil)
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

// A leaky stream loses what is written to it from the first Read on that returns
// something, until it is mended.
type leaky struct {
	io.ReadWriteCloser
	heard, mended atomic.Bool
}

func (l *leaky) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if n > 0 {
		l.heard.Store(true)
	}
	return n, err
}

func (l *leaky) Write(p []byte) (int, error) {
	if l.heard.Load() && !l.mended.Load() {
		return len(p), nil
	}
	return l.ReadWriteCloser.Write(p)
}

// TestPtyKeepsWhomItAnswered: a host that is answered while the session before
// it ends, and whose first frames are lost, is not forgotten.
func TestPtyKeepsWhomItAnswered(t *testing.T) {
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
	line := &leaky{}
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
	line.mended.Store(true)
	assert.NoError(t, bustest.Enumerate(link))
	assert.NoError(t, link.Close())
	assert.Equal(t, uint64(2), board.Stats().Sessions)
	cancel(errStop)
	assert.ErrorIs(t, <-ended, errStop)
}
