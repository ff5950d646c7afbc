package channel

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// text is a piece of console text on the line.
func text(s string) []byte { return append(append([]byte{0, 0xff, byte(len(s))}, s...), 0) }

// Console text arrives separately, in order, at once, and costs no packet.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		var mu sync.Mutex
		var got string
		shown := func() string {
			mu.Lock()
			defer mu.Unlock()
			return got
		}
		h, b := pairOn(t, x, y, Config{Console: func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			got += string(p)
		}}, Config{})
		time.Sleep(10 * time.Millisecond)
		y.out <- text("boot: ")
		synctest.Wait()
		assert.Equal(t, "boot: ", shown())
		y.out <- text("ok\r\n")
		require.NoError(t, b.post(write(0)))
		p, err := h.Receive(time.Second)
		require.NoError(t, err)
		require.Equal(t, write(0), p)
		assert.Equal(t, "boot: ok\r\n", shown())
		assert.Equal(t, uint64(10), h.Stats().Frame.Text)
		assert.Zero(t, h.Stats().Link.Replays+b.Stats().Link.Replays)

		y.out <- []byte("\x00not marked\r\n\x00")
		synctest.Wait()
		assert.Equal(t, "boot: ok\r\n", shown())
		assert.Equal(t, uint64(12), h.Stats().Frame.Garbage)
	})
}

// When no session begins, the error quotes the first bytes that the board has sent, at
// most 80. They are not console text.
func TestSilentBoardIsQuoted(t *testing.T) {
	long := strings.Repeat("U-Boot 2024.01 ", 100)
	for _, tt := range []struct {
		name, says, quoted string
		end                bool
		cause              error
	}{
		{"nothing", "", "", false, datalink.ErrOpen},
		{"a line", "\r\nDRAM: \x1b[31mfailed\x00\xff", `; the board sent "\r\nDRAM: \x1b[31mfailed\x00\xff"`, false, datalink.ErrOpen},
		{"much", long, "; the board sent " + strconv.Quote(long[:80]), false, datalink.ErrOpen},
		{"a line, then the end", "panic\n", `; the board sent "panic\n"`, true, io.EOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := newLine()
				for p := range slices.Chunk([]byte(tt.says), 7) {
					y.out <- p
				}
				if tt.end {
					time.AfterFunc(20*time.Millisecond, func() { x.Close() })
				}
				_, err := Open(x, Config{Console: func(p []byte) { t.Errorf("shown: %q", p) }})
				require.ErrorIs(t, err, bus.ErrLinkDown)
				require.ErrorIs(t, err, tt.cause)
				if tt.quoted == "" {
					assert.NotContains(t, err.Error(), "the board sent")
				} else {
					assert.True(t, strings.HasSuffix(err.Error(), tt.quoted), err.Error())
				}
			})
		})
	}
}

// rotten is a stream whose Reads lose a byte, flip a bit or repeat the last bytes now
// and then.
type rotten struct {
	net.Conn
	rng *rand.Rand
}

func (r *rotten) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	for i := 0; i < n; i++ {
		switch r.rng.IntN(6000) {
		case 0:
			n = i + copy(p[i:], p[i+1:n])
		case 1:
			p[i] ^= 1 << r.rng.IntN(8)
		case 2:
			n = i
		}
	}
	return n, err
}

// Damaged frames are counted, and never shown as text.
func TestDamageIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		show := func(p []byte) { t.Errorf("shown: %q", p) }
		h, b := pairOn(t, &rotten{x, rand.New(rand.NewPCG(1, 2))}, &rotten{y, rand.New(rand.NewPCG(3, 4))}, Config{Console: show}, Config{Console: show})
		flood(t, h, b, 2000)
		for _, s := range []Stats{h.Stats(), b.Stats()} {
			assert.Greater(t, s.Frame.Garbage, uint64(1000))
			assert.Greater(t, s.Link.BadCheck, uint64(50))
			assert.Zero(t, s.Frame.Text)
		}
	})
}
