package channel

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
)

// single is a config whose frames have one packet each, as those of an older end.
func single(c Config) Config {
	c.Link.Bundle = -1
	return c
}

// TestSetBundle: a frame with several packets fills a datagram. A line of a known rate has
// none.
func TestSetBundle(t *testing.T) {
	datagrams := Config{}
	datagrams.SetDatagram(1452)
	chosen := Config{Link: datalink.Config{Bundle: 700}}
	for name, tt := range map[string]struct {
		config Config
		want   int
	}{
		"stream": {Config{}, 4096}, "datagrams": {datagrams, 1450}, "chosen": {chosen, 700},
		"baud": {Config{Baud: 115200}, 0}, "none": {single(datagrams), 0},
	} {
		tt.config.setTimes()
		assert.Equal(t, tt.want, tt.config.Link.Bundle, name)
	}
}

// TestBundlesWithOlderEnd: an end without frames of several packets gets single ones.
func TestBundlesWithOlderEnd(t *testing.T) {
	datagrams := Config{}
	datagrams.SetDatagram(576)
	for name, c := range map[string]Config{"stream": {}, "datagrams": datagrams} {
		for _, tt := range []struct {
			name        string
			host, board Config
			several     bool
		}{{"both", c, c, true}, {"older board", c, single(c), false}, {"older host", single(c), c, false}} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				x, y := newLine()
				h, b := pairOn(t, x, y, tt.host, tt.board)
				const n = 500
				flood(t, h, b, n)
				st := h.Stats().Link
				assert.Equal(t, uint64(n), st.PacketsSent)
				assert.Equal(t, tt.several, st.FramesSent < n, "%d frames", st.FramesSent)
			})
		}
	}
}

// TestArrived: Arrived returns what a Receive would return at once, and nothing else. It
// returns the credits of the packet before.
func TestArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Config{Link: datalink.Config{Credits: datalink.Credits{{Headers: 2}}}}
		x, y := newLine()
		host, board := c, c
		host.Link.Role, board.Link.Role = datalink.Host, datalink.Board
		b, err := Open(y, board)
		require.NoError(t, err)
		defer b.Close()
		h, err := Open(x, host)
		require.NoError(t, err)
		defer h.Close()
		for i := range 6 {
			require.NoError(t, h.Send(write(i)))
		}
		h.Flush()
		time.Sleep(50 * time.Millisecond)
		require.Nil(t, b.Arrived(), "the session is not reported yet")
		_, err = b.Receive(time.Second)
		require.Equal(t, ErrSession, err)
		for i := range 6 {
			if i > 0 && i%2 == 0 {
				require.Nil(t, b.Arrived(), "no credits for packet %d", i)
				time.Sleep(50 * time.Millisecond)
			}
			require.Equal(t, write(i), b.Arrived(), i)
		}
		require.Nil(t, b.Arrived())
		h.Close()
		time.Sleep(50 * time.Millisecond)
		require.Nil(t, b.Arrived(), "an error is for Receive")
	})
}

// TestCloseSendsQueued: packets of a Send before Close arrive, as far as the window allows.
func TestCloseSendsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		h, b := pairOn(t, x, y, Config{}, Config{})
		for i := range 2 {
			require.NoError(t, h.Send(write(i)))
		}
		require.NoError(t, h.Close())
		require.ErrorIs(t, h.Send(write(2)), bus.ErrClosed)
		for i := range 2 {
			p, err := b.Receive(time.Second)
			require.NoError(t, err)
			require.Equal(t, write(i), p)
		}
	})
}
