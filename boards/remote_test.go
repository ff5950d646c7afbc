package boards

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A host that dials a busy board gets the holder's name in the error and
// nowhere else.
func TestBusyTCP(t *testing.T) {
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{MapHash: regmap.Hash()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, board) }()
	defer func() { cancel(); <-ended }()
	link, _, err := Open(l.Selector(), new(pc))
	require.NoError(t, err)
	defer link.Close()
	_, _, err = OpenWith(l.Selector(), new(pc), Options{Console: func(p []byte) { t.Errorf("shown: %q", p) }})
	require.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "busy: this board is held by 127.0.0.1:")
	assert.ErrorContains(t, err, ": end it, or use another board")
	assert.NotContains(t, err.Error(), "\n")
	assert.NotContains(t, err.Error(), "EOF")
}

// The error of a failed connection contains a remedy.
func TestDialAdvice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	free := l.Addr().String()
	require.NoError(t, l.Close())
	_, _, err = Open("tcp:"+free, new(pc))
	require.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, free+": start the board's server, or check the port")
	assert.Equal(t, "check the host's name", dialAdvice(&net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}))
	assert.Equal(t, "no answer in 2s; check the address, and that the board is on", dialAdvice(context.DeadlineExceeded))
	assert.Equal(t, "check the address and the network", dialAdvice(net.ErrClosed))
}

// A silenced connection drops all writes after some time.
type silenced struct {
	net.Conn
	on atomic.Bool
}

func (m *silenced) Write(p []byte) (int, error) {
	if m.on.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// The selector sets the time after which a board is dead. Text that a board
// sends while it is opened is shown.
func TestSilence(t *testing.T) {
	for _, tt := range []struct{ option, want string }{
		{"", "nothing received for 500ms"},
		{"?silence=200", "nothing received for 200ms"},
		{"?silence=900", "nothing received for 900ms"},
	} {
		t.Run(tt.option, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			boards := make(chan *silenced, 1)
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte("\x00\xff\x07hello\r\n\x00"))
				m := &silenced{Conn: c}
				channel.Open(m, channel.Config{Link: datalink.Config{
					Role: datalink.Board, MapHash: regmap.Hash(), DeadAfter: time.Minute,
				}})
				boards <- m
			}()
			var said strings.Builder
			link, clock, err := OpenWith("tcp:"+l.Addr().String()+tt.option, new(pc), Options{Console: func(p []byte) { said.Write(p) }})
			require.NoError(t, err)
			defer link.Close()
			assert.Equal(t, "hello\r\n", said.String())
			m := <-boards
			defer m.Close()
			m.on.Store(true)
			_, err = clock.Wait(clock.Now() + 60_000_000_000) // a busy machine gets more time
			require.ErrorIs(t, err, datalink.ErrDead)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// TestFloodBeforeWelcome: a board that sends text without end, but never answers,
// costs the host little memory.
func TestFloodBeforeWelcome(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		for line := []byte(strings.Repeat("\x00\xff\xc8"+strings.Repeat("booting ", 25), 4) + "\x00"); ; {
			if _, err := c.Write(line); err != nil {
				return
			}
		}
	}()
	shown := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = OpenWith("tcp:"+l.Addr().String(), new(pc), Options{Console: func(p []byte) { shown += len(p) }})
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, datalink.ErrOpen)
	require.Greater(t, shown, 8<<20, "the board is fast enough to flood")
	assert.Less(t, int64(after.HeapSys)-int64(before.HeapSys), int64(64<<20), "of %d bytes of text", shown)
}

// TestToken: a board with a token refuses a host without it or with another one, with
// the remedy, and the token itself never crosses the wire.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	right := file("right", "0123456789abcdef\n")
	token, err := serve.Token(right)
	require.NoError(t, err)
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{MapHash: regmap.Hash(), Token: token})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, board) }()
	defer func() { cancel(); <-ended }()
	for _, tt := range []struct {
		option, want string
		kind         error
	}{
		{"", "the board wants a token: give token-file=", datalink.ErrRefused},
		{"?token-file=" + file("wrong", "0123456789abcdeF"), "the token is wrong: give token-file=", datalink.ErrRefused},
		{"?token-file=" + file("short", "0123456789abcde"), "has a token of 15 bytes, want at least 16", ErrSelector},
		{"?token-file=" + filepath.Join(dir, "none"), "no such file", ErrSelector},
	} {
		_, _, err := Open(l.Selector()+tt.option, new(pc))
		require.ErrorIs(t, err, tt.kind, tt.option)
		assert.ErrorContains(t, err, tt.want)
	}
	link, _, err := Open(l.Selector()+"?token-file="+right, new(pc))
	require.NoError(t, err)
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, link.Close())
	assert.Equal(t, uint64(1), board.Stats().Sessions)
}

// TestLargestRead: the hello tells the board the largest read request of the host, in
// bytes 8 and 9 of its body, which follows the two bytes of the frame's header.
func TestLargestRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		want uint16
		read func(t *testing.T) (selector string, hello func() []byte)
	}{
		{"tcp", 1024, helloTCP},
		{"udp", 4096, helloUDP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			selector, hello := tt.read(t)
			ended := make(chan error, 1)
			go func() {
				_, _, err := Open(selector, new(pc))
				ended <- err
			}()
			f := hello()
			require.Greater(t, len(f), 40)
			assert.Equal(t, tt.want, binary.BigEndian.Uint16(f[2+8:]))
			assert.Error(t, <-ended, "no board has answered")
		})
	}
}

// helloUDP returns the first frame at a UDP address.
func helloUDP(t *testing.T) (string, func() []byte) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return "udp:" + c.LocalAddr().String(), func() []byte {
		b := make([]byte, 2000)
		n, _, err := c.ReadFrom(b)
		require.NoError(t, err)
		f, _, ok := channel.CutDatagram(b[:n])
		require.True(t, ok)
		return f
	}
}

// helloTCP returns the first frame at a TCP address.
func helloTCP(t *testing.T) (string, func() []byte) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return "tcp:" + l.Addr().String(), func() []byte {
		c, err := l.Accept()
		require.NoError(t, err)
		defer c.Close()
		first := &firstFrame{}
		for d, b := frame.NewDecoder(datalink.MinFrame, 1000), make([]byte, 2000); first.frame == nil; {
			n, err := c.Read(b)
			require.NoError(t, err)
			d.Feed(b[:n], first)
		}
		return first.frame
	}
}

// firstFrame keeps the first frame of a stream.
type firstFrame struct{ frame []byte }

func (s *firstFrame) Frame(f []byte) {
	if s.frame == nil {
		s.frame = slices.Clone(f)
	}
}

func (*firstFrame) Text([]byte) {}
func (*firstFrame) Damaged(int) {}
