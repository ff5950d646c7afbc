package serve_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// works reads a register over a new session at addr, and ends the session. The host
// gives up after a second without an answer.
func works(t *testing.T, addr string) {
	t.Helper()
	link, err := connect(dial(t, addr), bustest.NewHost(4096))
	require.NoError(t, err)
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, link.Close())
}

// TestIdleConnections: connections that never say anything, and more than the process
// has descriptors for, keep no host from the board. It keeps 64 of them, for two seconds.
func TestIdleConnections(t *testing.T) {
	_, addr, _ := listen(t, "tcp:127.0.0.1:0")
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			c.Close()
		}
	}()
	for n := range 1000 {
		if n%250 == 3 {
			works(t, addr)
		}
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		idle = append(idle, c)
	}
	works(t, addr) // the board has accepted all connections before this one
	kept := len(idle) - 64
	for i, c := range idle[:kept] {
		require.True(t, dropped(t, c, time.Second), "connection %d of %d is still there", i, len(idle))
	}
	for i, c := range idle[kept:] {
		require.True(t, dropped(t, c, 20*time.Second), "connection %d of %d is still there", kept+i, len(idle))
	}
}

// dropped reports whether the board ends a connection, to which it sends nothing, within
// the given time.
func dropped(t *testing.T, c net.Conn, within time.Duration) bool {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(within)))
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// TestRefusedHosts: hosts that ask while the board is held are refused, and do not
// disturb the holder.
func TestRefusedHosts(t *testing.T) {
	board, addr, _ := listen(t, "tcp:127.0.0.1:0")
	link, err := connect(dial(t, addr), bustest.NewHost(4096))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 50 {
		c := dial(t, addr)
		wg.Go(func() {
			_, err := connect(c, bustest.NewHost(4096))
			assert.ErrorIs(t, err, datalink.ErrRefused)
		})
		_, err = link.ReadConfig(0)
		require.NoError(t, err)
	}
	wg.Wait()
	assert.Equal(t, uint64(1), board.Stats().Sessions)
	require.NoError(t, link.Close())
	works(t, addr)
}

// TestHelloWithoutSession: a host that is answered and then says nothing loses the board
// soon, and the next one, which asked meanwhile, gets it.
func TestHelloWithoutSession(t *testing.T) {
	_, addr, _ := listen(t, "tcp:127.0.0.1:0")
	for range 3 {
		host, err := datalink.New(datalink.Config{})
		require.NoError(t, err)
		var out datalink.Output
		host.Open(7, 0, &out)
		c := dial(t, addr)
		defer c.Close()
		eventually(t, func() bool { // the session before may still end
			_, err := c.Write(new(frame.Encoder).Append(nil, out.Frames.At(0)))
			require.NoError(t, err)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
			_, err = c.Read(make([]byte, 1)) // the beginning of the Welcome
			return err == nil
		}, "an answer")
		works(t, addr)
	}
}

// TestEndedSession: a host that ends its session but not its connection does not keep
// the board.
func TestEndedSession(t *testing.T) {
	_, addr, _ := listen(t, "tcp:127.0.0.1:0")
	c := dial(t, addr)
	kept := &unclosed{Conn: c}
	link, err := connect(kept, bustest.NewHost(4096))
	require.NoError(t, err)
	go link.Close() // waits for the end of Read
	eventually(t, func() bool {
		l, err := connect(dial(t, addr), bustest.NewHost(4096))
		if errors.Is(err, datalink.ErrRefused) {
			return false
		}
		require.NoError(t, err)
		require.NoError(t, l.Close())
		return true
	}, "the board is free again")
	c.Close()
}

// unclosed is a connection that Close leaves open.
type unclosed struct{ net.Conn }

func (unclosed) Close() error { return nil }
