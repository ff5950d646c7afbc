package channel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
)

// pair opens both ends of a line. The board's Receive has reported the session.
func pair(t testing.TB, host, board Config) (h, b *Channel) {
	x, y := net.Pipe()
	return pairOn(t, x, y, host, board)
}

func pairOn(t testing.TB, x, y io.ReadWriteCloser, host, board Config) (h, b *Channel) {
	host.Link.Role, board.Link.Role = datalink.Host, datalink.Board
	host.Seed, board.Seed = 1, 2
	b, err := Open(y, board)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	h, err = Open(x, host)
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	_, err = b.Receive(2 * time.Second)
	require.Equal(t, ErrSession, err)
	return h, b
}

// write returns a posted write of 256 bytes derived from its number.
func write(i int) []byte {
	p := make([]byte, 16+256)
	p[0], p[3] = 0x60, 64
	binary.BigEndian.PutUint32(p[8:], uint32(i))
	rng := rand.New(rand.NewPCG(uint64(i), 0))
	for k := range p[16:] {
		p[16+k] = byte(rng.Uint32())
	}
	return p
}

var (
	read  = []byte{0, 0, 0, 1, 0, 0, 5, 15, 0xfe, 0, 0x10, 0x10}
	reply = []byte{0x4a, 0, 0, 1, 1, 0, 0, 4, 0, 0, 5, 0x10, 1, 2, 3, 4}
)

// send sends packets 0 to n-1 and takes packets that arrive meanwhile.
func send(t testing.TB, c *Channel, n int, took func(p []byte)) {
	for i := 0; i < n; {
		err := c.post(write(i))
		if err == nil {
			i++
			continue
		}
		if !errors.Is(err, datalink.ErrFull) {
			t.Errorf("send %d: %v", i, err)
			return
		}
		p, err := c.Receive(time.Second)
		if err != nil {
			t.Errorf("while sending %d: %v", i, err)
			return
		}
		if p != nil {
			took(p)
		}
	}
}

// expect returns a check that the packets are write(0), write(1) and so on.
func expect(t testing.TB) (took func(p []byte), n *int) {
	n = new(int)
	return func(p []byte) {
		if !bytes.Equal(write(*n), p) {
			t.Errorf("packet %d is % x", *n, p[:16])
		}
		*n++
	}, n
}

// flood sends n packets in both directions at once and checks those that
// arrive.
func flood(t testing.TB, h, b *Channel, n int) {
	var wg sync.WaitGroup
	for _, c := range []*Channel{h, b} {
		took, got := expect(t)
		wg.Go(func() {
			send(t, c, n, took)
			for end := c.Now() + 10*time.Second; *got < n; {
				p, err := c.Receive(time.Second)
				if err != nil || c.Now() > end {
					t.Errorf("after %d packets: %v, %+v", *got, err, c.Stats())
					return
				}
				if p != nil {
					took(p)
				}
			}
		})
	}
	wg.Wait()
}

func TestReadAndReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{}, Config{})
		time.Sleep(5 * time.Millisecond)
		before := h.Stats().BytesWritten + b.Stats().BytesWritten
		require.NoError(t, h.post(read))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, read, p)
		require.NoError(t, b.post(reply))
		p, err = h.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, reply, p)
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		// Frames of 11, 15 and 6 bytes (docs/design.md "Link layers"), each with
		// one byte of stuffing and a delimiter.
		assert.Equal(t, uint64(38), h.Stats().BytesWritten+b.Stats().BytesWritten-before)
	})
}

func TestReceiveTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := pair(t, Config{}, Config{})
		before := h.Now()
		p, err := h.Receive(30 * time.Millisecond)
		assert.Nil(t, p)
		assert.NoError(t, err)
		assert.Equal(t, 30*time.Millisecond, h.Now()-before)
		p, err = h.Receive(0)
		assert.Nil(t, p)
		assert.NoError(t, err)
		assert.Equal(t, 30*time.Millisecond, h.Now()-before)
	})
}

// An interrupt ends the Receive in progress, or else the next one, and only that one.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := pair(t, Config{}, Config{})
		time.AfterFunc(time.Millisecond, h.Interrupt)
		for _, want := range []time.Duration{time.Millisecond, 30 * time.Millisecond} {
			before := h.Now()
			p, err := h.Receive(30 * time.Millisecond)
			assert.Nil(t, p)
			assert.NoError(t, err)
			assert.Equal(t, want, h.Now()-before)
		}
		h.Interrupt()
		before := h.Now()
		_, err := h.Receive(30 * time.Millisecond)
		assert.NoError(t, err)
		assert.Zero(t, h.Now()-before)
	})
}

// A full queue is an error. Receive returns early when there is room again.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{Link: datalink.Config{Queue: 4, Window: 4}, Baud: 1_000_000}, Config{})
		n := 0
		var err error
		for ; err == nil; n++ {
			err = h.post(write(n))
		}
		require.ErrorIs(t, err, datalink.ErrFull)
		assert.Equal(t, 7, n, "two in flight before the rate is known, four in the queue")
		before := h.Now()
		p, err := h.Receive(10 * time.Second)
		assert.Nil(t, p)
		assert.NoError(t, err)
		assert.Less(t, h.Now()-before, 50*time.Millisecond)
		assert.NoError(t, h.post(write(6)))
		took, got := expect(t)
		for *got < 7 {
			p, err := b.Receive(time.Second)
			require.NoError(t, err)
			require.NotNil(t, p)
			took(p)
		}
	})
}

func TestSendErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := pair(t, Config{}, Config{})
		assert.ErrorIs(t, h.post(nil), datalink.ErrSize)
		assert.ErrorIs(t, h.post(make([]byte, 281)), datalink.ErrSize)
	})
}

// A packet holds its credits until the next Receive; only then does the peer
// get them back.
func TestCreditsFollowReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		credits := datalink.Credits{{Headers: 1}}
		h, b := pair(t, Config{}, Config{Link: datalink.Config{Credits: credits}})
		require.NoError(t, h.post(write(0)))
		require.NoError(t, h.post(write(1)))
		p, err := b.Receive(time.Second)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, uint64(1), h.Stats().Link.PacketsSent)
		require.Equal(t, write(0), p)
		p, err = b.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(1), p)
	})
}

// A peer may send two windows of packets before any of them is received.
func TestTwoWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := pair(t, Config{Link: datalink.Config{Queue: 8192}}, Config{})
		for n := range 3000 {
			require.NoError(t, h.post(write(n)))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Greater(t, h.Stats().Link.PacketsSent, uint64(2000), "two windows of 1024")
	})
}

// Packets arrive exactly once, in order, in both directions at once, under
// injected faults.
func TestFaults(t *testing.T) {
	for _, text := range []string{
		"",
		"loss=0.05,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,seed=1",
		"loss=0.1,flip=0.1,seed=2",
		"reorder=0.3,dup=0.3,seed=3",
		"stall=0.01:40ms,loss=0.02,seed=4",
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := fault.Parse(text)
				require.NoError(t, err)
				patient := datalink.Config{GiveUp: 5 * time.Second} // a third of the frames is lost
				h, b := pair(t, Config{Link: patient, Baud: 3_000_000, Send: fault.New(f, 0)}, Config{Link: patient, Baud: 3_000_000, Receive: fault.New(f, 1), Send: fault.New(f, 2)})
				flood(t, h, b, 600)
				if s := b.Stats(); text != "" {
					assert.NotEqual(t, fault.Stats{Frames: s.Receive.Frames}, s.Receive)
					assert.NotEqual(t, fault.Stats{Frames: s.Send.Frames}, s.Send)
				}
			})
		})
	}
}

// The same over a TCP connection and the wall clock.
func TestFaultsTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	x, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	y, err := l.Accept()
	require.NoError(t, err)
	f := fault.Config{Loss: 0.02, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Seed: 5}
	h, b := pairOn(t, x, y, Config{Send: fault.New(f, 0)}, Config{Send: fault.New(f, 1)})
	flood(t, h, b, 2000)
	require.NoError(t, h.Close())
	for err = nil; err == nil && b.Now() < time.Minute; {
		_, err = b.Receive(time.Second)
	}
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	n, up, _ := b.Session()
	assert.Equal(t, uint64(1), n)
	assert.False(t, up)
}

// Bytes are written at the rate of the line and not much slower. A packet that
// waits in the queue is not treated as lost.
func TestPace(t *testing.T) {
	for _, baud := range []int{115200, 460800, 921600, 2_000_000, 3_000_000} {
		t.Run(strconv.Itoa(baud), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, b := pair(t, Config{Baud: baud}, Config{Baud: baud})
				const n = 500
				start := h.Now()
				took, got := expect(t)
				var wg sync.WaitGroup
				wg.Go(func() {
					for *got < n {
						p, err := b.Receive(time.Second)
						if err != nil || p == nil {
							t.Errorf("after %d packets: %v", *got, err)
							return
						}
						took(p)
					}
				})
				send(t, h, n, func([]byte) {})
				wg.Wait()
				share := float64(n*256) / (float64(baud/10) * (h.Now() - start).Seconds())
				t.Logf("payload is %.3f of the line", share)
				assert.Greater(t, share, 0.85)
				assert.Less(t, share, 256.0/272)
				assert.Zero(t, h.Stats().Link.Replays)
			})
		})
	}
}

// The first cause stays, and Receive returns earlier packets before it.
func TestCloseOfPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{}, Config{})
		require.NoError(t, b.post(write(0)))
		require.NoError(t, b.Close())
		p, err := h.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		for range 2 {
			_, err = h.Receive(time.Second)
			require.ErrorIs(t, err, bus.ErrLinkDown)
			require.ErrorIs(t, err, datalink.ErrPeerDown)
			require.Equal(t, err, h.post(read))
		}
		require.NoError(t, h.Close())
		_, again := h.Receive(0)
		require.Equal(t, err, again)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := pair(t, Config{}, Config{})
		done := make(chan error)
		go func() {
			_, err := h.Receive(time.Hour)
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, h.Close())
		assert.ErrorIs(t, <-done, bus.ErrClosed)
		assert.ErrorIs(t, h.post(read), bus.ErrClosed)
		require.NoError(t, h.Close())
	})
}
