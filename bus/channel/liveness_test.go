package channel

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
)

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
		require.NoError(t, b.post(write(0)))
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

// A peer that went silent before the reader was away is declared dead when it is back.
func TestSilentBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := newLine()
		d := &pausing{plug: x}
		h, _ := pairOn(t, d, y, Config{}, Config{})
		y.Close()
		start := h.Now()
		time.Sleep(100 * time.Millisecond)
		d.away.Store(int64(3 * time.Second))
		_, err := h.Receive(20 * time.Second)
		require.ErrorIs(t, err, datalink.ErrDead)
		assert.InDelta(t, 3, (h.Now() - start).Seconds(), 0.2)
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

// A slow line has longer default times; times that are set stay.
func TestTimes(t *testing.T) {
	for _, tt := range []struct {
		baud                   int
		window                 int
		ack, replayMin, silent time.Duration
	}{
		{0, 1024, time.Millisecond, 10 * time.Millisecond, 500 * time.Millisecond},
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
	for silence, open := range map[time.Duration]time.Duration{0: time.Second, 5 * time.Second: 5 * time.Second, time.Hour: 20 * time.Second} {
		c = Config{Link: datalink.Config{DeadAfter: silence}}
		c.setTimes()
		assert.Equal(t, open, c.Link.OpenTimeout, silence)
		assert.Equal(t, open/20, c.Link.HelloEvery, silence)
	}
	for giveUp, open := range map[time.Duration]time.Duration{750 * time.Millisecond: time.Second, 15 * time.Second: 15 * time.Second, time.Hour: 20 * time.Second} {
		c = Config{Link: datalink.Config{GiveUp: giveUp}}
		c.setTimes()
		assert.Equal(t, open, c.Link.OpenTimeout, giveUp)
		assert.Equal(t, open/20, c.Link.HelloEvery, giveUp)
	}
}
