package serve

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeAddress is a host of a fakeSocket.
type fakeAddress string

func (fakeAddress) Network() string  { return "fake" }
func (a fakeAddress) String() string { return string(a) }
func (a fakeAddress) key() []byte    { return []byte(a) }

// A fakeDatagram is one that arrives.
type fakeDatagram struct {
	from fakeAddress
	text string
	err  error
}

// A fakeSocket receives what a test puts into it. A deadline in the past ends receive.
type fakeSocket struct {
	in    chan fakeDatagram
	ended chan struct{}
}

func newFakeSocket() *fakeSocket {
	return &fakeSocket{in: make(chan fakeDatagram, 16), ended: make(chan struct{}, 16)}
}

func (f *fakeSocket) receive(p []byte) (int, address, error) {
	select {
	case d := <-f.in:
		return copy(p, d.text), d.from, d.err
	case <-f.ended:
		return 0, nil, os.ErrDeadlineExceeded
	}
}

func (f *fakeSocket) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		f.ended <- struct{}{}
	}
	return nil
}

func (*fakeSocket) send([]byte, address) error { return nil }
func (*fakeSocket) largest() int               { return 1500 }
func (*fakeSocket) Close() error               { return nil }

// TestSocketFails: an error of the socket ends the server.
func TestSocketFails(t *testing.T) {
	s := newFakeSocket()
	broken := errors.New("broken")
	s.in <- fakeDatagram{err: broken}
	assert.ErrorIs(t, newDatagramServer(s).serve(t.Context()), broken)
}

// TestDatagramHolder: the peer with the session reads the socket, and passes the
// datagrams of others on. After its end the server reads again. The end of an earlier
// peer of the same address changes nothing.
func TestDatagramHolder(t *testing.T) {
	s := newFakeSocket()
	u := newDatagramServer(s)
	old := u.add(fakeAddress("a"), 1, nil)
	a, b := u.add(fakeAddress("a"), 1, []byte("hello a")), u.add(fakeAddress("b"), 2, []byte("hello b"))
	require.NoError(t, old.Close())
	read := func(p *datagramPeer) string {
		buf := make([]byte, 100)
		require.NoError(t, p.SetReadDeadline(time.Now().Add(time.Minute)))
		for {
			n, err := p.Read(buf)
			if err == nil {
				return string(buf[:n])
			}
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- u.serve(ctx) }()
	assert.Equal(t, "hello a", read(a))
	s.in <- fakeDatagram{from: "a", text: "by the server"}
	assert.Equal(t, "by the server", read(a))

	a.begun()
	s.in <- fakeDatagram{from: "b", text: "on the way"}
	s.in <- fakeDatagram{from: "a", text: "read"}
	assert.Equal(t, "read", read(a))
	assert.Equal(t, "hello b", read(b))
	assert.Equal(t, "on the way", read(b))

	require.NoError(t, a.Close())
	_, err := a.Read(make([]byte, 100))
	assert.ErrorIs(t, err, io.EOF)
	s.in <- fakeDatagram{from: "b", text: "by the server again"}
	assert.Equal(t, "by the server again", read(b))
	cancel()
	s.in <- fakeDatagram{err: io.ErrClosedPipe}
	assert.ErrorIs(t, <-ended, io.ErrClosedPipe)
}

// TestFloodOfAPeer: a host that sends its nonce back and then floods the board costs it
// at most 64 KiB, whatever the size of its datagrams. Those that are read make room.
func TestFloodOfAPeer(t *testing.T) {
	const bound = 64 << 10
	for _, size := range []int{1, 100, 8952, bound} {
		u := newDatagramServer(newFakeSocket())
		p := u.add(fakeAddress("a"), 1, nil)
		buf := make([]byte, bound)
		_, err := p.Read(buf)
		require.NoError(t, err, "the first datagram")
		flood := func() (n, held int) {
			for range 2_000 {
				p.push(make([]byte, size))
			}
			n = len(p.arrived)
			require.NoError(t, p.SetReadDeadline(time.Now().Add(time.Minute)))
			for range n {
				k, err := p.Read(buf)
				require.NoError(t, err)
				held += k
			}
			return n, held
		}
		n, held := flood()
		assert.LessOrEqual(t, held, bound, "bytes that wait, in datagrams of %d bytes", size)
		assert.Equal(t, min(1024, bound/size), n, "datagrams of %d bytes that wait", size)
		again, _ := flood()
		assert.Equal(t, n, again, "datagrams of %d bytes that wait after the others are read", size)
	}
}
