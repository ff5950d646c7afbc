package channel

import (
	"math"
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

const never = time.Duration(math.MaxInt64)

// LongestOpen is how long the host opens at most, on a line that is not very slow.
const LongestOpen = 20 * time.Second

// largest returns the size of the largest frame that can arrive, in bytes.
func (c *Config) largest() int {
	return max(c.single(), c.Link.Bundle)
}

// single returns the size of the largest frame with one packet, in bytes.
func (c *Config) single() int { return datalink.LargestFrame(c.Link.MaxPacket) }

// SetDatagram sets the size of the largest datagram, in bytes, and that of the largest
// packet to what fits into one.
func (c *Config) SetDatagram(size int) {
	c.Datagram = size
	c.Link.MaxPacket = min(datalink.MaxPacket, size-2-datalink.Overhead)
}

// framing returns the framing of the transport.
func (c *Config) framing() framing {
	if c.Datagram > 0 {
		return &datagrams{least: datalink.MinFrame, most: c.largest()}
	}
	return &byteStream{Decoder: frame.NewDecoder(datalink.MinFrame, c.largest())}
}

const (
	closeTimeout = 100 * time.Millisecond // how long Close tries to notify the peer
	readTimeout  = 100 * time.Millisecond // how long a Read waits, if that can be set
	linger       = time.Millisecond       // how long a frame waits at most for others to be written with it
	recheck      = 10 * time.Millisecond  // how often the timer goroutine rechecks a starved reader
	lineIdle     = 250 * time.Millisecond // frames after such a gap do not share a delimiter
	catchUp      = 5 * time.Millisecond   // time that a late writer may catch up
	burst        = 2 * time.Millisecond   // line time of the largest single write with a rate
	chunk        = 32 << 10               // largest Write to a stream, and size of a Read, in bytes
	bundle       = 4 << 10                // largest frame with several packets on a stream, in bytes
)

// maxPending bounds the bytes that wait to be written: a window of data frames,
// and more control frames than a peer causes unless it floods.
func (c *Config) maxPending() int { return c.Link.Window*frame.Size(c.single()) + 1<<16 }

// lineTime returns how long n bytes take on the line.
func (c *Config) lineTime(n int) time.Duration {
	if c.Baud == 0 {
		return 0
	}
	return time.Duration(n) * 10 * time.Second / time.Duration(c.Baud)
}

// setTimes derives default times from the rate of the line. An acknowledgement
// waits for a full window, and a ping for a packet; neither wait may look like
// a loss. Silence proves a line dead, and so does one frame that is lost for
// Link.GiveUp, which is less than the time-out of a request: a line that loses a third
// of its frames can go down. A given DeadAfter covers two keep-alive periods. A host that
// allows a longer silence asks for a session as long, for 20 s at most. It also asks for at least
// Link.GiveUp, LongestOpen at most, since a slow board returns late from an earlier session. It sends about twenty
// hellos in any case: such a board must not get more than it can answer.
func (c *Config) setTimes() {
	l := &c.Link
	l.Adapt, l.Rate = true, c.Baud/10
	orDefault(&l.MaxPacket, 280)
	c.setBundle()
	one := c.lineTime(frame.Size(c.single()))
	if l.Window == 0 {
		l.Window = 64
		if c.Baud == 0 {
			l.Window = 1024
		}
		for l.Window > 4 && time.Duration(l.Window)*one > 64*time.Millisecond {
			l.Window /= 2
		}
	}
	orDefault(&l.AckEvery, max(1, min(32, l.Window/4)))
	orDefault(&l.AckDelay, max(time.Millisecond, c.lineTime(32)))
	orDefault(&l.ReplayMin, max(10*time.Millisecond, 2*l.AckDelay+2*one))
	orDefault(&l.ReplayMax, max(50*time.Millisecond, time.Duration(l.Window)*one, l.ReplayMin))
	orDefault(&l.ReplayLimit, 64)
	orDefault(&l.KeepAlive, max(100*time.Millisecond, 4*one))
	orDefault(&l.DeadAfter, 5*l.KeepAlive)
	l.DeadAfter = max(l.DeadAfter, 2*l.KeepAlive)
	orDefault(&l.Refresh, l.KeepAlive)
	orDefault(&l.HelloEvery, max(50*time.Millisecond, c.lineTime(160), min(max(l.DeadAfter, l.GiveUp)/20, time.Second)))
	orDefault(&l.OpenTimeout, max(time.Second, 20*l.HelloEvery, min(l.GiveUp, LongestOpen)))
	if l.Credits == (datalink.Credits{}) {
		const most = 1<<15 - 1
		packets := max(128, 2*l.Window)
		grant := datalink.Credit{Headers: uint16(packets), Data: uint16(min(packets*((l.MaxPacket-1)/16), most))}
		l.Credits[tlp.Posted], l.Credits[tlp.NonPosted] = grant, grant
	}
}

// setBundle sets the size of the largest frame with several packets: that of a datagram, or
// of a part of a stream. A line of a known rate has none, since a damaged byte costs the
// time of the frame.
func (c *Config) setBundle() {
	l := &c.Link
	switch {
	case l.Bundle < 0 || c.Baud > 0:
		l.Bundle = 0
	case l.Bundle > 0:
	case c.Datagram > 0:
		l.Bundle = c.Datagram - 2
	default:
		l.Bundle = bundle
	}
	if l.Bundle > 0 {
		orDefault(&l.Queue, 128)
	}
}

func orDefault[T int | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}
