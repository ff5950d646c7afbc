package datalink

import (
	"encoding/binary"
	"math"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Design note: a small packet costs as much as a large one: a sequence number, a check, a
// slot, an acknowledgement. So a data frame holds several packets if both hellos have the
// option. It then has an acknowledgement with bit 15 set, form 0, and two packets or more:
//
//	bytes   field
//	2       length of the packet, 1 to the largest packet of the session
//	...     the packet, as it is
//
// The frame is filled to its end. It has at most the agreed size, including header and
// check, and everything that holds for a frame holds for it: it arrives, waits and is
// replayed as one. A frame takes only packets that wait already. Each packet needs its own
// credits, and the order of the packets is that in which they would be sent alone.

// lengthLen is the size of the length before a packet, in bytes.
const lengthLen = 2

// agreedBundle returns the size of the largest frame with several packets, in bytes, of a
// session with a peer; 0 if there are none.
func (l *Link) agreedBundle(peer *hello) int {
	n := min(l.cfg.Bundle, peer.options.bundle)
	if l.datagram > 0 {
		n = min(n, l.datagram-lengthLen)
	}
	return n
}

// Bundle returns the size of the largest frame with several packets, in bytes, or 0 if the
// session has none.
func (l *Link) Bundle() int {
	if l.state != Up {
		return 0
	}
	return l.bundle
}

// Full reports whether SendWaiting should be called before a packet of a size is queued:
// the packets that wait and this one do not fit into one frame, and the window and credits
// may allow one.
func (l *Link) Full(size int) bool {
	return !l.tx.blocked && l.allWaiting()+lengthLen+size > l.tx.most
}

// Most returns the size of the largest frame with several packets at present, in bytes.
func (l *Link) Most() int { return l.tx.most }

// allWaiting returns the size of a frame with all packets that wait.
func (l *Link) allWaiting() int {
	n := Overhead
	for i := range l.tx.queues {
		q := &l.tx.queues[i]
		n += q.bytes + lengthLen*q.n
	}
	return n
}

// setMost sets the size of the largest frame with several packets. On a slow path one frame
// must not take the time of many, so several fill the window of an adaptive link.
func (l *Link) setMost() {
	s := &l.tx
	s.most = min(l.bundle, s.safe)
	if l.cfg.Adapt && s.most > 0 {
		s.most = min(s.most, s.bytesWindow()/4)
	}
}

// Design note: a path may damage bytes, and then it damages large frames more often. A frame
// is replayed as it is, so it must not be so large that it never arrives. The largest size
// is halved by each replay. It grows by an eighth with each frame of at least half of it
// that arrives at once. A path that loses fewer than about one frame in six gets the largest frames.
const (
	firstSafe = 1024 // bytes, at the beginning of a session
	leastSafe = 128
)

// arrivedAtOnce records that a frame of a size has arrived after one transmission.
func (s *sender) arrivedAtOnce(size int) {
	if size >= s.safe/2 {
		s.safe = min(s.safe+s.safe/8, math.MaxUint16)
	}
}

// harmed records that a frame is sent again.
func (s *sender) harmed() { s.safe = max(s.safe/2, leastSafe) }

// frameSize returns the size of the next frame, which has the first packet of a class. A
// frame that would be cut short by the window waits for the next acknowledgement instead.
func (l *Link) frameSize(c tlp.Class) int {
	return max(Overhead+l.tx.queues[c].first(), min(l.tx.most, l.allWaiting()))
}

// load moves waiting packets to the slot of a frame: the first one of a class, and as many
// more as may be sent and fit. It returns the size of the frame.
func (l *Link) load(slot *txSlot, c tlp.Class) int {
	slot.packets = append(slot.packets[:0], l.next(c))
	size := Overhead + len(slot.packets[0])
	if l.bundle == 0 {
		return size
	}
	for sum := size + lengthLen; ; size = sum {
		c, ok := l.pick()
		if !ok {
			return size
		}
		if sum += lengthLen + l.tx.queues[c].first(); sum > l.tx.most {
			return size
		}
		slot.packets = append(slot.packets, l.next(c))
	}
}

// next removes the first packet of a class, with its credits.
func (l *Link) next(c tlp.Class) []byte {
	p := l.tx.queues[c].pop()
	take(&l.fc.used[c], len(p))
	l.stats.PacketsSent++
	return p
}

// sendBundle sends a frame with several packets.
func (l *Link) sendBundle(n uint64, packets [][]byte, out *Output) {
	b := &out.Frames
	start := b.open()
	b.buf = binary.BigEndian.AppendUint16(b.buf, bitData|bitAck|uint16(n&maskSeq))
	b.buf = binary.BigEndian.AppendUint16(b.buf, bitSeveral|uint16(l.rx.next&maskSeq))
	l.rx.acknowledged()
	for _, p := range packets {
		b.buf = binary.BigEndian.AppendUint16(b.buf, uint16(len(p)))
		b.buf = append(b.buf, p...)
	}
	l.finish(start, l.epoch^l.extend(n), out)
}

// validBundle reports whether the body of a frame has several packets in a session that
// has such frames. h is the header of the frame.
func (l *Link) validBundle(h uint16, body []byte) bool {
	if h>>shiftForm&3 != formRaw || len(body)+Overhead > l.bundle {
		return false
	}
	n := 0
	for ; len(body) > 0; n++ {
		p, rest := cut(body)
		if len(p) == 0 || len(p) > l.tx.maxPacket {
			return false
		}
		body = rest
	}
	return n > 1
}

// cut returns the first packet of several, and what follows it. The packet is empty if it
// is not complete.
func cut(b []byte) (packet, rest []byte) {
	if len(b) < lengthLen {
		return nil, nil
	}
	n := lengthLen + int(binary.BigEndian.Uint16(b))
	if n > len(b) {
		return nil, nil
	}
	return b[lengthLen:n], b[n:]
}

// acceptAll delivers copies of several packets, in order. It reports false if the link has
// failed.
func (l *Link) acceptAll(several []byte, out *Output) bool {
	for len(several) > 0 {
		var p []byte
		p, several = cut(several)
		if !l.accept(append(l.rx.spares.get(), p...), out) {
			return false
		}
	}
	return true
}
