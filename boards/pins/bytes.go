package pins

import (
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// A byteLine carries frames as a stream of bytes.
type byteLine struct {
	dev    Gateware
	clocks uint64 // of a byte

	enc      frame.Encoder
	dec      *frame.Decoder
	queue    []byte // for the board
	next     uint64 // clock in which the next byte may arrive at the board
	free     uint64 // clock in which the board may send the next byte
	down, up uint64 // bytes so far
}

func newByteLine(dev Gateware, clocks uint64) *byteLine {
	return &byteLine{dev: dev, clocks: clocks, dec: frame.NewDecoder(datalink.MinFrame, datalink.LargestFrame(280))}
}

func (l *byteLine) send(f []byte, from uint64) {
	l.queue = l.enc.Append(l.queue, f)
	l.next = max(l.next, from)
}

func (l *byteLine) drop() {
	l.queue = nil
	l.enc.Break()
}

func (l *byteLine) carried() (down, up uint64) { return l.down, l.up }

func (l *byteLine) clock(now uint64, host frame.Sink) error {
	in, valid := byte(0), false
	if len(l.queue) > 0 && now >= l.next {
		in, valid, l.queue = l.queue[0], true, l.queue[1:]
		l.next = now + l.clocks
		l.down++
	}
	out, sent := l.dev.Tick(in, valid, now >= l.free)
	if sent {
		l.free = now + l.clocks
		l.up++
		l.dec.Feed([]byte{out}, host)
	}
	return l.dev.Err()
}
