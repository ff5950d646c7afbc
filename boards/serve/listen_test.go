package serve_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// listen serves a reference device at where. The returned function stops it and
// returns the error with which it ended.
func listen(t testing.TB, where string) (*serve.Board, string, func() error) {
	t.Helper()
	l, err := serve.Listen(where)
	require.NoError(t, err)
	return listenAt(t, l, serve.Options{})
}

// listenAt is listen with a listener and options.
func listenAt(t testing.TB, l serve.Listener, opt serve.Options) (*serve.Board, string, func() error) {
	t.Helper()
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), opt)
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

// TestTCP: one host at a time; the error of another host names the holder.
func TestTCP(t *testing.T) {
	board, addr, stop := listen(t, "tcp:127.0.0.1:0")
	first := dial(t, addr)
	link, err := connect(first, bustest.NewHost(4096))
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))

	_, err = connect(dial(t, addr), bustest.NewHost(4096))
	require.ErrorIs(t, err, datalink.ErrRefused)
	assert.ErrorContains(t, err, "busy: this board is held by "+first.LocalAddr().String())

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

// TestTCPReplaced: a connection that never begins a session does not block the
// board for long.
func TestTCPReplaced(t *testing.T) {
	_, addr, _ := listen(t, "tcp:127.0.0.1:0")
	idle := dial(t, addr)
	defer idle.Close()
	time.Sleep(2100 * time.Millisecond)
	link, err := connect(dial(t, addr), bustest.NewHost(4096))
	require.NoError(t, err)
	link.Close()
	assert.True(t, dropped(t, idle, 20*time.Second), "the board has dropped it")
}

// TestLoopback: an address without a host is that of the loopback interface.
func TestLoopback(t *testing.T) {
	for _, tt := range []struct {
		where, selector string
		open            bool
	}{
		{"tcp::0", "tcp:127.0.0.1:", false},
		{"udp::0", "udp:127.0.0.1:", false},
		{"tcp:127.0.0.1:0", "tcp:127.0.0.1:", false},
		{"udp:127.0.0.1:0", "udp:127.0.0.1:", false},
		{"tcp:0.0.0.0:0", "tcp:", true},
		{"udp:0.0.0.0:0", "udp:", true},
	} {
		t.Run(tt.where, func(t *testing.T) {
			l, err := serve.Listen(tt.where)
			require.NoError(t, err)
			defer l.Close()
			assert.True(t, strings.HasPrefix(l.Selector(), tt.selector), l.Selector())
			assert.Equal(t, tt.open, l.Open())
		})
	}
}
