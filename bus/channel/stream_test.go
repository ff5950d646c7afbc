package channel

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
)

// A cut line takes the link down within a second, and the board accepts the
// next host.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := fault.New(fault.Config{Cut: 100}, 0)
		h, b := pair(t, Config{}, Config{Send: cut})
		start := h.Now()
		var err error
		for i := 0; err == nil; {
			if err = h.post(write(i)); err == nil {
				i++
			} else if errors.Is(err, datalink.ErrFull) {
				_, err = h.Receive(time.Second)
			}
			for range 10 {
				if p, e := b.Receive(0); e == nil && p != nil {
					b.post(reply)
				}
			}
		}
		require.ErrorIs(t, err, bus.ErrLinkDown)
		require.ErrorIs(t, err, datalink.ErrDead)
		require.Equal(t, uint64(1), cut.Stats().Cuts)
		assert.Less(t, h.Now()-start, time.Second)
	})
}

// A cut on either direction silences both: neither end receives the cause.
func TestCutSilencesBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{Receive: fault.New(fault.Config{Cut: 20}, 0)}, Config{})
		var err error
		for err == nil {
			if err = h.post(read); err == nil {
				time.Sleep(10 * time.Millisecond)
				if p, e := b.Receive(0); e == nil && p != nil {
					b.post(reply)
				}
			}
		}
		require.ErrorIs(t, err, datalink.ErrDead)
		time.Sleep(time.Second)
		_, _, cause := b.Session()
		assert.ErrorIs(t, cause, datalink.ErrDead)
		assert.NotErrorIs(t, cause, datalink.ErrPeerDown)
	})
}

// lossyStream is a stream that can drop all that is written.
type lossyStream struct {
	net.Conn
	shut atomic.Bool
}

func (f *lossyStream) Write(p []byte) (int, error) {
	if f.shut.Load() {
		return len(p), nil
	}
	return f.Conn.Write(p)
}

// L8: keep-alive detects that one direction is dead.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		f := &lossyStream{Conn: y}
		h, b := pairOn(t, x, f, Config{}, Config{})
		start := h.Now()
		f.shut.Store(true)
		_, err := h.Receive(time.Minute)
		require.ErrorIs(t, err, bus.ErrLinkDown)
		require.ErrorIs(t, err, datalink.ErrDead)
		assert.LessOrEqual(t, h.Now()-start, 600*time.Millisecond)
		b.Receive(10 * time.Millisecond)
		_, up, cause := b.Session()
		assert.False(t, up)
		assert.ErrorIs(t, cause, datalink.ErrDead)
	})
}

// L8: a peer that does not read stalls the stream but not the caller.
func TestStalledStream(t *testing.T) {
	for _, tt := range []struct {
		name string
		wrap func(net.Conn) io.ReadWriteCloser
		send bool // the caller's write stalls, not the timer goroutine's
	}{
		{"with a deadline, the caller's write", func(c net.Conn) io.ReadWriteCloser { return c }, true},
		{"with a deadline, the timer's write", func(c net.Conn) io.ReadWriteCloser { return c }, false},
		{"without a deadline, the caller's write", func(c net.Conn) io.ReadWriteCloser { return struct{ io.ReadWriteCloser }{c} }, true},
		{"without a deadline, the timer's write", func(c net.Conn) io.ReadWriteCloser { return struct{ io.ReadWriteCloser }{c} }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := net.Pipe()
				gate := &gated{Conn: y, open: make(chan struct{})}
				h, b := pairOn(t, tt.wrap(x), gate, Config{}, Config{})
				gate.stopped.Store(true)
				synctest.Wait()
				start := h.Now()
				if tt.send {
					go h.post(write(0))
				}
				_, err := h.Receive(time.Minute)
				require.ErrorIs(t, err, bus.ErrLinkDown)
				assert.LessOrEqual(t, h.Now()-start, 700*time.Millisecond)
				require.NoError(t, h.Close())
				close(gate.open)
				require.NoError(t, b.Close())
			})
		})
	}
}

// gated stops reading, and loses its writes, on demand.
type gated struct {
	net.Conn
	stopped atomic.Bool
	open    chan struct{}
}

func (g *gated) Write(p []byte) (int, error) {
	if g.stopped.Load() {
		return len(p), nil
	}
	return g.Conn.Write(p)
}

func (g *gated) Read(p []byte) (int, error) {
	if g.stopped.Load() {
		<-g.open
		return 0, io.EOF
	}
	return g.Conn.Read(p[:1])
}

// The end of the stream takes the link down at once.
func TestStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		h, b := pairOn(t, x, y, Config{}, Config{})
		start := h.Now()
		y.Close()
		_, err := h.Receive(time.Minute)
		require.ErrorIs(t, err, bus.ErrLinkDown)
		require.ErrorIs(t, err, io.EOF)
		_, err = b.Receive(time.Minute)
		require.ErrorIs(t, err, bus.ErrLinkDown)
		require.ErrorIs(t, err, io.ErrClosedPipe)
		assert.Zero(t, h.Now()-start)
	})
}
