package channel

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
)

// TestGive: packets arrive as given, although the caller writes to all memory that it gets
// in exchange. Some wait for the window, and the others fly.
func TestGive(t *testing.T) {
	datagrams := Config{}
	datagrams.SetDatagram(576)
	for name, config := range map[string]Config{"stream": {}, "datagrams": datagrams} {
		t.Run(name, func(t *testing.T) {
			x, y := newLine()
			h, b := pairOn(t, x, y, config, config)
			const n = 500
			took, got := expect(t)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for *got < n {
					p, err := b.Receive(time.Second)
					if err != nil || p == nil {
						t.Errorf("after %d packets: %v", *got, err)
						return
					}
					took(p)
				}
			}()
			buf := []byte(nil)
			for i := 0; i < n; {
				buf = append(buf[:0], write(i)...)
				given := buf
				var err error
				if buf, err = h.Give(buf); err == nil {
					require.False(t, len(buf) > 0 && &buf[0] == &given[0])
					for k := range buf[:cap(buf)] {
						buf[:cap(buf)][k] = 0xee
					}
					i++
					continue
				}
				require.ErrorIs(t, err, datalink.ErrFull)
				require.True(t, bytes.Equal(write(i), buf), "it is the caller's again")
				_, err = h.Receive(time.Millisecond)
				require.NoError(t, err)
			}
			h.Flush()
			<-done
		})
	}
}

// TestGiveFails: the caller keeps a packet that cannot be sent.
func TestGiveFails(t *testing.T) {
	h, b := pair(t, Config{}, Config{})
	p := make([]byte, 1000)
	got, err := h.Give(p)
	assert.ErrorIs(t, err, datalink.ErrSize)
	assert.Same(t, &p[0], &got[0])
	require.NoError(t, h.Close())
	got, err = h.Give(p)
	assert.Error(t, err)
	assert.Same(t, &p[0], &got[0])
	require.NoError(t, b.Close())
}

// A stuck stream has no deadlines. While it is on, a Write waits for Close.
type stuck struct {
	*plug
	on atomic.Bool
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.on.Load() {
		<-s.plug.done
		return 0, io.ErrClosedPipe
	}
	return s.plug.Write(p)
}

// TestStuckWrite: the stream is closed when a Write takes too long, and only then.
func TestStuckWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		s := &stuck{plug: x}
		h, b := pairOn(t, s, y, Config{}, Config{})
		for i := range 20 {
			require.NoError(t, h.post(write(i)))
			p, err := b.Receive(time.Second)
			require.NoError(t, err)
			assert.Equal(t, write(i), p)
			time.Sleep(h.config.Link.DeadAfter / 4)
		}
		s.on.Store(true)
		go h.post(write(20))
		begun := time.Now()
		<-x.done
		assert.Equal(t, h.config.Link.DeadAfter, time.Since(begun))
		synctest.Wait()
		assert.EqualValues(t, 1, h.Stats().Stalls)
	})
}
