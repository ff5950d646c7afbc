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
		require.NoError(t, h.Send(write(0)))
		require.NoError(t, h.Send(write(1)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		require.NoError(t, h.Close())
		synctest.Wait()
		require.ErrorIs(t, b.Send(reply), bus.ErrLinkDown)
		require.ErrorIs(t, b.Send(reply), datalink.ErrNotUp)

		h2, err := Open(x.again(), Config{Seed: 3})
		require.NoError(t, err)
		defer h2.Close()
		synctest.Wait()
		require.ErrorIs(t, b.Send(reply), ErrSession)
		require.ErrorIs(t, b.Send(reply), bus.ErrLinkDown)
		require.NoError(t, h2.Send(write(7)))
		synctest.Wait()
		_, err = b.Receive(time.Second)
		require.Equal(t, ErrSession, err)
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(7), p, "packets of the previous session are dropped")
		require.NoError(t, b.Send(reply))
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
		require.NoError(t, h.Send(write(0)))
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
		require.NoError(t, h.Send(write(0)))
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
			require.NoError(t, h.Send(write(i)))
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
		assert.GreaterOrEqual(t, b.Stats().Link.Stale-before, uint64(5))
		_, err = b.Receive(0)
		require.Equal(t, ErrSession, err)
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Nil(t, p)
		require.NoError(t, h2.Send(write(9)))
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(9), p)
	})
}

func TestOpenErrors(t *testing.T) {
	// A Welcome of version 2, from the tables of bus/datalink: type 6, largest
	// packet, window, hash, nonces, credits. Its check uses the fixed word.
	welcome := append([]byte{0x60, 2, 1, 24, 0, 64}, make([]byte, 24)...)
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

// Console text arrives separately, in order, and loses no packet.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		var mu sync.Mutex
		var text string
		shown := func() string {
			mu.Lock()
			defer mu.Unlock()
			return text
		}
		h, b := pairOn(t, x, y, Config{Console: func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			text += string(p)
		}}, Config{})
		time.Sleep(10 * time.Millisecond)
		y.out <- []byte("\x00boot: ")
		synctest.Wait()
		assert.Empty(t, shown(), "more text may follow")
		time.Sleep(150 * time.Millisecond) // the next frame is there
		synctest.Wait()
		assert.Equal(t, "boot: ", shown())
		y.out <- []byte("ok\r\n\x00")
		require.NoError(t, b.Send(write(0)))
		p, err := h.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		time.Sleep(150 * time.Millisecond) // the next frame is there
		synctest.Wait()
		assert.Equal(t, "boot: ok\r\n", shown())
		assert.Equal(t, uint64(10), h.Stats().Frame.Text)
		assert.Zero(t, h.Stats().Link.Replays+b.Stats().Link.Replays)
	})
}

// An incomplete prompt is shown after the line has been silent, and an
// incomplete last line at the end of the stream.
func TestTextAtTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  bool
	}{{"silence", false}, {"end", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := newLine()
				var mu sync.Mutex
				var text string
				y.out <- []byte("\r\nfailed\r\n=> ")
				if tt.end {
					time.AfterFunc(20*time.Millisecond, func() { x.Close() })
				}
				_, err := Open(x, Config{Console: func(p []byte) {
					mu.Lock()
					defer mu.Unlock()
					text += string(p)
				}})
				require.ErrorIs(t, err, bus.ErrLinkDown)
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, "\r\nfailed\r\n=> ", text)
			})
		})
	}
}

// stuttering is a stream that pauses now and then after the first bytes of a Read.
type stuttering struct {
	*plug
	n int
}

func (h *stuttering) Read(p []byte) (int, error) {
	switch h.n++; {
	case h.n%16 > 1:
	case h.n%16 == 1:
		time.Sleep(120 * time.Millisecond)
		return 0, nil
	case len(h.rest) > 0:
		h.n--
	default:
		p = p[:3]
	}
	return h.plug.Read(p)
}

// The beginning of a frame is never shown as text, even if the rest arrives
// later.
func TestHalfAFrameIsNoText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, &stuttering{plug: x}, y, Config{Console: func(p []byte) { t.Errorf("shown: %q", p) }}, Config{})
		for range 3000 {
			require.NoError(t, h.Send(read))
			_, err := b.Receive(2 * time.Second)
			require.NoError(t, err)
			time.Sleep(2 * time.Millisecond) // an acknowledgement, of six bytes
		}
	})
}

// pausing is a stream whose reader pauses now and then.
type pausing struct {
	*plug
	away atomic.Int64
}

func (d *pausing) Read(p []byte) (int, error) {
	time.Sleep(time.Duration(d.away.Swap(0)))
	d.poll = true
	n, err := d.plug.Read(p)
	if n == 0 && err == nil {
		time.Sleep(10 * time.Millisecond)
	}
	return n, err
}

func (d *pausing) ReadTimeout() time.Duration { return 10 * time.Millisecond }

// A peer is not declared dead while its bytes wait to be read. A peer that sent
// nothing is declared dead soon after the reader is back.
func TestStarvedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		d := &pausing{plug: x}
		h, b := pairOn(t, d, y, Config{}, Config{Link: datalink.Config{DeadAfter: 10 * time.Second}})
		d.away.Store(int64(450 * time.Millisecond))
		time.Sleep(time.Second)
		d.away.Store(int64(3 * time.Second))
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, b.Send(write(0)))
		p, err := h.Receive(2 * time.Second)
		require.NoError(t, err)
		require.Nil(t, p)
		p, err = h.Receive(2 * time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)

		y.Close()
		start := h.Now()
		_, err = h.Receive(2 * time.Second)
		require.ErrorIs(t, err, datalink.ErrDead)
		assert.InDelta(t, 0.5, (h.Now() - start).Seconds(), 0.12)
	})
}

// A timer goroutine that runs late waits for the reader, which was late as
// well.
func TestLateDriver(t *testing.T) {
	c := &Channel{armed: never}
	c.config.setTimes()
	c.live.times = true
	ms := func(n time.Duration) time.Duration { return n * time.Millisecond }
	c.live.begun = ms(400)
	c.noteLate(ms(500))
	assert.True(t, c.mayTick(ms(500)), "the reader saw the silence")
	c.armed = ms(350)
	c.noteLate(ms(500))
	assert.False(t, c.mayTick(ms(500)), "late")
	c.live.begun = ms(501)
	assert.True(t, c.mayTick(ms(600)), "a Read has begun since")
	assert.True(t, c.mayTick(ms(700)))
	assert.False(t, c.mayTick(ms(810)), "the reader hangs")
	c.live.times = false
	assert.True(t, c.mayTick(ms(810)), "a Read without time-out may hang")
}

// Garbage costs at most the frame that it hits, and that frame is requested at
// once.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		require.NoError(t, h.Send(read))
		_, err := b.Receive(time.Second)
		require.NoError(t, err)
		time.Sleep(10 * time.Millisecond)
		start := h.Now()
		x.out <- []byte{0xf0, 0x9f, 0x92, 0xa9}
		require.NoError(t, h.Send(write(0)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		assert.Zero(t, h.Now()-start, "no time-out expired")
		assert.Equal(t, uint64(1), h.Stats().Link.Replays)
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
		for ; !errors.Is(err, bus.ErrLinkDown); err = b.Send(reply) {
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

// A slow line has longer default times; times that are set stay.
func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		baud                   int
		window                 int
		ack, replayMin, silent time.Duration
	}{
		{0, 64, time.Millisecond, 10 * time.Millisecond, 500 * time.Millisecond},
		{3_000_000, 64, time.Millisecond, 10 * time.Millisecond, 500 * time.Millisecond},
		// A frame of 292 bytes takes 25.3 ms, 32 bytes take 2.8 ms.
		{115200, 4, 2777777, 2*2777777 + 2*25347222, 506944440},
	} {
		c := Config{Baud: tt.baud}
		c.setTimes()
		assert.Equal(t, tt.window, c.Link.Window, tt.baud)
		assert.InDelta(t, tt.ack, c.Link.AckDelay, 1000, tt.baud)
		assert.InDelta(t, tt.replayMin, c.Link.ReplayMin, 1000, tt.baud)
		assert.InDelta(t, tt.silent, c.Link.DeadAfter, 1000, tt.baud)
		_, err := datalink.New(c.Link)
		assert.NoError(t, err)
	}
	for baud := 1200; baud < 20_000_000; baud += baud / 3 {
		for _, size := range []int{0, 16, 4116, datalink.MaxPacket} {
			c := Config{Baud: baud, Link: datalink.Config{MaxPacket: size}}
			c.setTimes()
			_, err := datalink.New(c.Link)
			assert.NoError(t, err, "%d baud, %d bytes", baud, size)
		}
	}
	c := Config{Baud: 9600, Link: datalink.Config{Window: 8, AckDelay: 3 * time.Millisecond, DeadAfter: 9 * time.Second}}
	c.setTimes()
	assert.Equal(t, 8, c.Link.Window)
	assert.Equal(t, 3*time.Millisecond, c.Link.AckDelay)
	assert.Equal(t, 9*time.Second, c.Link.DeadAfter)
	c = Config{Baud: 1200, Link: datalink.Config{DeadAfter: time.Second}}
	c.setTimes()
	assert.Equal(t, 2*c.Link.KeepAlive, c.Link.DeadAfter, "two keep-alive periods")
}
