package channel

import (
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
)

// A recorded stream keeps the times and sizes of its Writes.
type recorded struct {
	net.Conn
	mu    sync.Mutex
	begun time.Time
	sizes []int
	times []time.Duration
	slow  time.Duration // of a Write
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.sizes, r.times = append(r.sizes, len(p)), append(r.times, time.Since(r.begun))
	r.mu.Unlock()
	time.Sleep(r.slow)
	return r.Conn.Write(p)
}

func (r *recorded) writes() ([]int, []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int(nil), r.sizes...), append([]time.Duration(nil), r.times...)
}

// recordedPair returns a host whose Writes are recorded from now on, and its board, which
// receives all the time.
func recordedPair(t *testing.T, c Config) (h *Channel, r *recorded) {
	t.Helper()
	near, far := net.Pipe()
	r = &recorded{Conn: near}
	c.Link.Role = datalink.Board
	b, err := Open(far, c)
	require.NoError(t, err)
	c.Link.Role = datalink.Host
	go func() {
		for err := error(nil); err == nil || err == ErrSession; {
			_, err = b.Receive(time.Hour)
		}
	}()
	h, err = Open(r, c)
	require.NoError(t, err)
	t.Cleanup(func() { h.Close(); b.Close() })
	for i := range 50 { // the window grows
		require.NoError(t, h.Send(write(i)))
		h.Flush()
		time.Sleep(5 * time.Millisecond)
	}
	synctest.Wait()
	r.mu.Lock()
	r.begun, r.sizes, r.times = time.Now(), nil, nil
	r.mu.Unlock()
	return h, r
}

// Sizes of writes of packets of 272 bytes. A frame with several has 8 bytes, and 2 for each
// packet. A frame of at most 1,024 bytes has three of them.
const (
	datagram = 2 + 8 + 2*(2+272)
	stream   = 1 + (8 + 3*(2+272) + 2) + (8 + 2*(2+272) + 2) // a delimiter first, and a code and a delimiter for each
)

// TestWritesTogether: packets are written together, at Flush, when a Receive has nothing
// to return, when a datagram is full, and after a millisecond.
func TestWritesTogether(t *testing.T) {
	datagrams := Config{}
	datagrams.SetDatagram(576)
	for name, tt := range map[string]struct {
		config  Config
		packets int
		do      func(h *Channel)
		sizes   []int
		after   time.Duration
	}{
		"flush":     {Config{}, 5, func(h *Channel) { h.Flush() }, []int{stream}, 0},
		"receive":   {Config{}, 5, func(h *Channel) { h.Receive(5 * time.Millisecond) }, []int{stream}, 0},
		"poll":      {Config{}, 5, func(h *Channel) { h.Receive(0) }, []int{stream}, 0},
		"timer":     {Config{}, 5, func(h *Channel) { time.Sleep(5 * time.Millisecond) }, []int{stream}, time.Millisecond},
		"no frame":  {Config{}, 2, func(h *Channel) { time.Sleep(5 * time.Millisecond) }, []int{1 + 8 + 2*(2+272) + 2}, time.Millisecond},
		"single":    {single(Config{}), 5, func(h *Channel) { h.Flush() }, []int{1 + 5*(2+4+272+2)}, 0},
		"datagrams": {datagrams, 5, func(h *Channel) { time.Sleep(500 * time.Microsecond) }, []int{datagram, datagram}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, r := recordedPair(t, tt.config)
				for i := range tt.packets {
					require.NoError(t, h.Send(write(i)))
				}
				tt.do(h)
				synctest.Wait()
				sizes, times := r.writes()
				require.Equal(t, tt.sizes, sizes)
				assert.Equal(t, tt.after, times[0])
			})
		})
	}
}

// TestFlushDuringSend: what is queued while a Send writes is written by that Send if
// another goroutine calls Flush.
func TestFlushDuringSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Config{}
		c.SetDatagram(576)
		h, r := recordedPair(t, c)
		r.slow = 100 * time.Microsecond
		go func() {
			for i := range 3 { // the third makes a datagram full
				h.Send(write(i))
			}
		}()
		time.Sleep(50 * time.Microsecond)
		require.NoError(t, h.Send(write(40)))
		h.Flush()
		time.Sleep(400 * time.Microsecond)
		synctest.Wait()
		sizes, times := r.writes()
		assert.Equal(t, []int{datagram, datagram}, sizes)
		assert.Equal(t, []time.Duration{0, 100 * time.Microsecond}, times, "the rest does not wait for the timer")
	})
}
