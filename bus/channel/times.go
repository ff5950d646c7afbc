package channel

import (
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

const never = time.Duration(math.MaxInt64)

// largest returns the size of the largest frame that can arrive, in bytes.
func (c *Config) largest() int {
	return max(datalink.Overhead+c.Link.MaxPacket, datalink.MinFrame+datalink.MaxWindow/8)
}

const (
	linger   = 100 * time.Millisecond // how long Close tries to tell the peer
	listen   = 100 * time.Millisecond // how long a Read waits, where that can be said
	relisten = 10 * time.Millisecond  // how often a driver looks whether the reader has listened
	lineIdle = 250 * time.Millisecond // frames after such a gap do not share a delimiter
	catchUp  = 5 * time.Millisecond   // of its rate a writer that woke late makes good
	burst    = 2 * time.Millisecond   // of its rate a writer writes at once
	chunk    = 4096                   // bytes of one Write at most
)

// maxPending bounds what waits to be written, in bytes: a window of data frames
// and more control frames than a peer asks for that is not flooding.
func (c *Config) maxPending() int { return c.Link.Window*frame.Size(c.largest()) + 1<<16 }

// lineTime returns how long n bytes take on the line.
func (c *Config) lineTime(n int) time.Duration {
	if c.Baud == 0 {
		return 0
	}
	return time.Duration(n) * 10 * time.Second / time.Duration(c.Baud)
}

// setTimes fills in what follows from the rate of the line. A full window waits
// in front of an acknowledgement, and a packet in front of a ping; neither may
// take so long that the peer takes it for lost. Silence says that a line is
// dead. That one frame was replayed often says little, since replays wait
// behind each other: a line that loses a third of its frames is still carried.
// A DeadAfter that is given leaves room for two signs of life.
func (c *Config) setTimes() {
	l := &c.Link
	orDefault(&l.MaxPacket, 280)
	one := c.lineTime(frame.Size(c.largest()))
	if l.Window == 0 {
		l.Window = 64
		for l.Window > 4 && time.Duration(l.Window)*one > 64*time.Millisecond {
			l.Window /= 2
		}
	}
	orDefault(&l.AckDelay, max(time.Millisecond, c.lineTime(32)))
	orDefault(&l.ReplayMin, max(10*time.Millisecond, 2*l.AckDelay+2*one))
	orDefault(&l.ReplayMax, max(50*time.Millisecond, time.Duration(l.Window)*one, l.ReplayMin))
	orDefault(&l.ReplayLimit, 64)
	orDefault(&l.KeepAlive, max(100*time.Millisecond, 4*one))
	orDefault(&l.DeadAfter, 5*l.KeepAlive)
	l.DeadAfter = max(l.DeadAfter, 2*l.KeepAlive)
	orDefault(&l.Refresh, l.KeepAlive)
	orDefault(&l.HelloEvery, max(50*time.Millisecond, c.lineTime(160)))
	orDefault(&l.OpenTimeout, max(time.Second, 20*l.HelloEvery))
	if l.Credits == (datalink.Credits{}) {
		const packets, most = 128, 1<<15 - 1
		grant := datalink.Credit{Headers: packets, Data: uint16(min(packets*((l.MaxPacket-1)/16), most))}
		l.Credits[tlp.Posted], l.Credits[tlp.NonPosted] = grant, grant
	}
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}
