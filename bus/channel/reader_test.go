package channel

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// exchange makes n register reads: the host sends, the board answers at once.
func exchange(t *testing.T, h, b *Channel, n int) {
	t.Helper()
	go func() {
		for range n {
			p, err := b.Receive(time.Second)
			if err != nil || p == nil || b.post(reply) != nil {
				t.Errorf("board: %v %v", p, err)
			}
		}
	}()
	for range n {
		require.NoError(t, h.post(read))
		p, err := h.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, reply, p)
	}
	synctest.Wait()
}

func directReads(c *Channel) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns.n
}

// An answer passes through no other goroutine: who waits for it reads the stream, except
// for the first.
func TestReceiveReadsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{}, Config{})
		exchange(t, h, b, 100)
		for _, c := range []*Channel{h, b} {
			assert.GreaterOrEqual(t, directReads(c), uint64(98))
		}
		time.Sleep(time.Minute)
		_, up, cause := b.Session()
		require.True(t, up, "%v", cause)
		n := directReads(h)
		exchange(t, h, b, 100)
		assert.GreaterOrEqual(t, directReads(h)-n, uint64(98))
	})
}

// A stream without a deadline is read by the reader alone.
func TestReaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		exchange(t, h, b, 100)
		assert.Zero(t, directReads(h)+directReads(b))
	})
}

// The reader takes over one to two milliseconds after the last Receive.
func TestReaderTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{}, Config{Link: datalink.Config{AckDelay: 1}})
		exchange(t, h, b, 3)
		go h.post(write(0)) // a Write on a pipe waits for the Read
		before := b.Stats().Link.PacketsReceived
		synctest.Wait()
		assert.Equal(t, before, b.Stats().Link.PacketsReceived)
		time.Sleep(2 * takeOver)
		synctest.Wait()
		assert.Equal(t, before+1, b.Stats().Link.PacketsReceived)
	})
}

// A Receive that does not wait makes the reader read at once.
func TestPollMakesTheReaderRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, b := pair(t, Config{}, Config{})
		exchange(t, h, b, 3)
		start := h.Now()
		go h.post(write(0))
		p, err := b.Receive(0)
		require.NoError(t, err)
		require.Nil(t, p)
		synctest.Wait()
		p, err = b.Receive(0)
		require.NoError(t, err)
		assert.Equal(t, write(0), p)
		assert.Zero(t, h.Now()-start)
	})
}

// A Receive that reads the stream ends at its time-out, when it is interrupted, when the
// link fails, and when the channel is closed.
func TestDirectReceiveEnds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		during  func(h, b *Channel)
		after   time.Duration
		err     error
	}{
		{"time-out", 30 * time.Millisecond, func(h, b *Channel) {}, 30 * time.Millisecond, nil},
		{"long time-out", 730 * time.Millisecond, func(h, b *Channel) {}, 730 * time.Millisecond, nil},
		{"interrupt", time.Second, func(h, b *Channel) { h.Interrupt() }, 10 * time.Millisecond, nil},
		{"close", time.Second, func(h, b *Channel) { h.Close() }, 10 * time.Millisecond, bus.ErrClosed},
		{"the peer closes", time.Second, func(h, b *Channel) { b.Close() }, 10 * time.Millisecond, datalink.ErrPeerDown},
		{"failure", time.Second, func(h, b *Channel) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.fail(datalink.ErrDead)
		}, 10 * time.Millisecond, datalink.ErrDead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, b := pair(t, Config{}, Config{})
				exchange(t, h, b, 3)
				start, n := h.Now(), directReads(h)
				time.AfterFunc(10*time.Millisecond, func() { tt.during(h, b) })
				p, err := h.Receive(tt.timeout)
				assert.Nil(t, p)
				if !errors.Is(err, tt.err) {
					t.Errorf("%v, want %v", err, tt.err)
				}
				assert.Equal(t, tt.after, h.Now()-start)
				assert.Greater(t, directReads(h), n)
			})
		})
	}
}
