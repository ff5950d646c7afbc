package channel

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// A plug is one end of a line that survives the close of an end, as a serial
// line does. Tests can listen and write to the line.
type plug struct {
	in, out chan []byte
	done    chan struct{}
	once    sync.Once
	rest    []byte
	log     [][]byte // all frames written
	poll    bool     // Read does not wait
	reads   atomic.Int64
}

func newLine() (host, board *plug) {
	a, b := make(chan []byte, 1000), make(chan []byte, 1000)
	return &plug{in: a, out: b, done: make(chan struct{})}, &plug{in: b, out: a, done: make(chan struct{})}
}

// again returns another plug for the same end.
func (p *plug) again() *plug { return &plug{in: p.in, out: p.out, done: make(chan struct{})} }

func (p *plug) Read(b []byte) (int, error) {
	p.reads.Add(1)
	if p.poll && len(p.rest) == 0 && len(p.in) == 0 {
		return 0, nil
	}
	if len(p.rest) == 0 {
		select {
		case p.rest = <-p.in:
		case <-p.done:
			return 0, io.EOF
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *plug) Write(b []byte) (int, error) {
	b = append([]byte(nil), b...)
	select {
	case <-p.done:
		return 0, io.ErrClosedPipe
	default:
	}
	select {
	case p.out <- b:
		p.log = append(p.log, b)
		return len(b), nil
	case <-p.done:
		return 0, io.ErrClosedPipe
	}
}

func (p *plug) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// A board serves hosts one after another on the same line, and reports each
// session.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		require.NoError(t, h.post(write(0)))
		require.NoError(t, h.post(write(1)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		require.NoError(t, h.Close())
		synctest.Wait()
		require.ErrorIs(t, b.post(reply), bus.ErrLinkDown)
		require.ErrorIs(t, b.post(reply), datalink.ErrNotUp)

		h2, err := Open(x.again(), Config{Seed: 3})
		require.NoError(t, err)
		defer h2.Close()
		synctest.Wait()
		require.ErrorIs(t, b.post(reply), ErrSession)
		require.ErrorIs(t, b.post(reply), bus.ErrLinkDown)
		require.NoError(t, h2.post(write(7)))
		synctest.Wait()
		_, err = b.Receive(time.Second)
		require.Equal(t, ErrSession, err)
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(7), p, "packets of the previous session are dropped")
		require.NoError(t, b.post(reply))
		p, err = h2.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, reply, p)
		n, up, cause := b.Session()
		assert.Equal(t, uint64(2), n)
		assert.True(t, up)
		assert.ErrorIs(t, cause, datalink.ErrPeerDown)
	})
}

// A packet of an old session returns no credits in the next one, where the host
// would refuse credits beyond the limit.
func TestOldCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{Link: datalink.Config{Credits: datalink.Credits{{Headers: 1}}}})
		require.NoError(t, h.post(write(0)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		require.NoError(t, h.Close())
		h2, err := Open(x.again(), Config{Seed: 3})
		require.NoError(t, err)
		defer h2.Close()
		synctest.Wait()
		_, err = b.Receive(time.Second)
		require.Equal(t, ErrSession, err)
		p, err = h2.Receive(time.Second)
		assert.NoError(t, err)
		assert.Nil(t, p)
	})
}

// Packets posted before the host left are still delivered if no other host has
// connected.
func TestSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		require.NoError(t, h.post(write(0)))
		require.NoError(t, h.Close())
		synctest.Wait()
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Nil(t, p)
	})
}

// The next host replaces one that vanished in the middle of its session. Frames
// of the old epoch are recognised and ignored.
func TestOldEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		for i := range 5 {
			require.NoError(t, h.post(write(i)))
		}
		synctest.Wait()
		x.Close()
		x2 := x.again()
		h2, err := Open(x2, Config{Seed: 3})
		require.NoError(t, err)
		defer h2.Close()
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		_, up, cause := b.Session()
		require.True(t, up, "%v, %+v, %+v", cause, b.Stats(), h2.Stats())
		require.ErrorIs(t, cause, datalink.ErrNewEpoch)
		before := b.Stats().Link.Stale
		for _, old := range x.log {
			x2.out <- old
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		assert.GreaterOrEqual(t, b.Stats().Link.Stale-before, uint64(2))
		_, err = b.Receive(0)
		require.Equal(t, ErrSession, err)
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Nil(t, p)
		require.NoError(t, h2.post(write(9)))
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(9), p)
	})
}

func TestOpenErrors(t *testing.T) {
	// A Welcome of version 1: type 6, largest
	// packet, window, hash, nonces, credits. Its check uses the fixed word.
	welcome := append([]byte{0x60, 1, 1, 24, 0, 64}, make([]byte, 24)...)
	welcome = binary.BigEndian.AppendUint32(welcome, crc32.ChecksumIEEE(welcome)^0x48494c47)
	for _, tt := range []struct {
		name  string
		host  Config
		board *Config
		says  []byte
		want  error
		down  bool
		most  time.Duration
	}{
		{"no peer", Config{}, nil, nil, datalink.ErrOpen, true, time.Second},
		{"another map", Config{Link: datalink.Config{MapHash: 1}}, &Config{Link: datalink.Config{MapHash: 2}}, nil, datalink.ErrMapHash, false, 0},
		{"another version", Config{}, nil, new(frame.Encoder).Append(nil, welcome), datalink.ErrVersion, false, 0},
		{"all frames lost", Config{Send: fault.New(fault.Config{Loss: 1}, 0)}, &Config{}, nil, datalink.ErrOpen, true, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := newLine()
				if tt.board != nil {
					tt.board.Link.Role = datalink.Board
					b, err := Open(y, *tt.board)
					require.NoError(t, err)
					defer b.Close()
				}
				if tt.says != nil {
					y.Write(tt.says)
				}
				start := time.Now()
				_, err := Open(x, tt.host)
				require.ErrorIs(t, err, tt.want)
				assert.Equal(t, tt.down, errors.Is(err, bus.ErrLinkDown))
				assert.Equal(t, tt.most, time.Since(start))
				_, err = x.Write([]byte{0})
				assert.ErrorIs(t, err, io.ErrClosedPipe, "the stream is closed")
			})
		})
	}
	for name, c := range map[string]Config{
		"rate": {Baud: -1},
		"link": {Link: datalink.Config{Window: 3}},
	} {
		x, _ := newLine()
		_, err := Open(x, c)
		assert.Error(t, err, name)
		_, err = x.Write([]byte{0})
		assert.ErrorIs(t, err, io.ErrClosedPipe, name)
	}
}

// Garbage costs at most the frame that it hits, and that frame is requested at
// once. It is sent twice, since nothing else is to be sent.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		require.NoError(t, h.post(read))
		_, err := b.Receive(time.Second)
		require.NoError(t, err)
		time.Sleep(10 * time.Millisecond)
		start := h.Now()
		x.out <- []byte{0xf0, 0x9f, 0x92, 0xa9}
		require.NoError(t, h.post(write(0)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		assert.Zero(t, h.Now()-start, "no time-out expired")
		assert.Equal(t, uint64(2), h.Stats().Link.Replays)
	})
}

// A Read without bytes or error is a time-out: it does not end the channel, and
// the reader does not spin.
func TestReadTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		x.poll, y.poll = true, true
		h, b := pairOn(t, x, y, Config{}, Config{})
		before := x.reads.Load()
		_, err := h.Receive(2 * time.Second)
		require.NoError(t, err)
		assert.InDelta(t, 1000, x.reads.Load()-before, 100)
		_, up, _ := b.Session()
		assert.True(t, up)
	})
}

// A peer that overflows the inbox of a host that calls no Receive ends the
// session.
func TestFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		var err error
		for ; !errors.Is(err, bus.ErrLinkDown); err = b.post(reply) {
			if errors.Is(err, datalink.ErrFull) {
				b.Receive(time.Second)
			}
		}
		n := 0
		for err = nil; err == nil && n < 2*maxInbox; n++ {
			_, err = h.Receive(time.Second)
		}
		assert.Equal(t, maxInbox+1, n)
		assert.ErrorIs(t, err, datalink.ErrProtocol)
		assert.ErrorIs(t, err, bus.ErrLinkDown)
	})
}

// lossy loses the first datagrams that end with a Down.
type lossy struct {
	*plug
	left int
}

func (l *lossy) Write(b []byte) (int, error) {
	if down := b[len(b)-datalink.MinFrame:]; down[0]>>4 == 7 && l.left > 0 {
		l.left--
		return len(b), nil
	}
	return l.plug.Write(b)
}

// TestLostDown: a board learns of the end of a session although two messages about it
// are lost.
func TestLostDown(t *testing.T) {
	x, y := newLine()
	board, err := Open(y, Config{Link: datalink.Config{Role: datalink.Board, DeadAfter: time.Hour}, Datagram: 400})
	require.NoError(t, err)
	defer board.Close()
	host, err := Open(&lossy{x, 2}, Config{Link: datalink.Config{Role: datalink.Host}, Datagram: 400})
	require.NoError(t, err)
	_, err = board.Receive(time.Minute)
	require.ErrorIs(t, err, ErrSession)
	require.NoError(t, host.Close())
	_, err = board.Receive(time.Minute)
	require.NoError(t, err, "it returns at the end of the session")
	_, up, cause := board.Session()
	assert.False(t, up)
	assert.ErrorIs(t, cause, datalink.ErrPeerDown)
}
