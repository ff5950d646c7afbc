package channel

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
)

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
