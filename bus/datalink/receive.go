package datalink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// An rxSlot is a frame that arrived before a missing one.
type rxSlot struct {
	packet  []byte
	several []byte // the packets of a frame with several, with their lengths, or nil
	here    bool
}

// A receiver is the receiving half.
type receiver struct {
	slots   []rxSlot // by sequence number, modulo the window
	spares  spares
	next    uint64 // number of the next packet to deliver
	held    int    // slots in use
	unacked int    // frames delivered since the last acknowledgement
	bytes   int    // of their packets
	ackDue  time.Duration
	ackNow  bool
	every   int // frames that are acknowledged without waiting
	nakDue  time.Duration
	nak     bool
	damaged bool          // a Nak is due for a damaged frame, with or without a gap
	refused bool          // a frame was refused since the last Nak, for Config.Observe
	nakTo   uint64        // gaps before this number are reported
	again   time.Duration // when a lasting gap gets its next Nak
	repeats int           // such Naks since the last packet was delivered
	quiet   time.Duration // earliest next Nak for a damaged frame
}

func (r *receiver) reset() {
	for i := range r.slots {
		r.slots[i].here = false
	}
	*r = receiver{slots: r.slots, spares: r.spares}
}

func (r *receiver) slot(n uint64) *rxSlot { return &r.slots[n%uint64(len(r.slots))] }

// ahead returns the distance of a sequence number from the next one, modulo
// 4096.
func (r *receiver) ahead(seq uint16) int { return int((uint64(seq) - r.next) & maskSeq) }

func (r *receiver) acknowledged() { r.unacked, r.bytes, r.ackNow = 0, 0, false }

func (r *receiver) wantNak(at time.Duration) {
	if !r.nak || at < r.nakDue {
		r.nak, r.nakDue = true, at
	}
}

// maxFrame returns the size of the largest valid frame.
func (l *Link) maxFrame() int { return max(LargestFrame(l.cfg.MaxPacket), l.cfg.Bundle) }

// Receive processes a frame from the transport. The frame may hold anything,
// and Receive does not retain it. A link that is down ignores it.
func (l *Link) Receive(frame []byte, now time.Duration, out *Output) {
	if l.state == Down {
		return
	}
	if len(frame) < MinFrame || len(frame) > l.maxFrame() {
		l.stats.BadFrames++
		l.damagedFrame(len(frame), now, out)
		return
	}
	body := frame[:len(frame)-checkLen]
	word := crc32.ChecksumIEEE(body) ^ binary.BigEndian.Uint32(frame[len(body):])
	switch {
	case word == helloWord:
		l.receiveUnbound(body, now, out)
	case l.epoch != 0 && word^l.extension(body) == l.epoch:
		l.receiveFrame(body, now, out)
	case l.past.has(word):
		l.stats.Stale++
	default:
		if s := l.offered(word); s != nil {
			l.confirmed(*s, body, now, out)
			return
		}
		l.stats.BadCheck++
		l.damagedFrame(len(frame), now, out)
	}
}

// receiveUnbound processes a frame that belongs to no session.
func (l *Link) receiveUnbound(body []byte, now time.Duration, out *Output) {
	h := binary.BigEndian.Uint16(body)
	if typ := int(h >> shiftType); typ == typeHello || typ == typeWelcome {
		l.receiveHello(typ, h&maskSeq, body[2:], now, out)
		return
	}
	l.stats.BadFrames++
}

// confirmed begins a session that the host has confirmed. If another one is up,
// that one ends first and the next Open begins this one. Until then its frames
// are lost and later replayed.
func (l *Link) confirmed(s session, body []byte, now time.Duration, out *Output) {
	if l.state == Up {
		l.begun = &s
		l.fail(ErrNewEpoch, out)
		return
	}
	l.begin(s, now)
	l.receiveFrame(body, now, out)
}

// damagedFrame requests missing frames, but not for every piece of garbage. bytes is the size of the frame.
func (l *Link) damagedFrame(bytes int, now time.Duration, out *Output) {
	l.tell(Incident{Kind: FrameRefused, Bytes: bytes})
	if l.state != Up || now < l.rx.quiet {
		return
	}
	l.rx.damaged, l.rx.refused = true, true
	l.rx.wantNak(now)
	l.flush(now, out)
}

// receiveFrame processes a frame of this session.
func (l *Link) receiveFrame(body []byte, now time.Duration, out *Output) {
	l.receivedAt, l.pingAt = now, now+l.cfg.KeepAlive
	l.stats.FramesReceived++
	l.stats.BytesReceived += uint64(len(body) + checkLen)
	h := binary.BigEndian.Uint16(body)
	if body = body[2:]; h&bitData != 0 {
		l.receiveData(h, body, now, out)
	} else {
		l.receiveControl(int(h>>shiftType), h&maskSeq, body, now, out)
	}
	if l.state == Up {
		l.flush(now, out)
	}
}

func (l *Link) receiveControl(typ int, low uint16, body []byte, now time.Duration, out *Output) {
	if typ == typeDown {
		cause := ErrPeerDown
		if int(low) < len(causes) && causes[low] != nil {
			cause = fmt.Errorf("%w: %w", ErrPeerDown, causes[low])
		}
		if errors.Is(cause, ErrReplay) {
			cause = fmt.Errorf("%w: the link damages or loses frames: %s", cause, l.damage())
		}
		l.fail(cause, out)
		return
	}
	want := 0
	switch typ {
	case typeNak:
		want = min(len(body), (l.tx.window+7)/8)
	case typeCredit:
		want = creditsLen
	}
	if len(body) != want || typ == typeHello || typ == typeWelcome {
		l.stats.BadFrames++
		return
	}
	ok := l.handleAck(low, now)
	switch {
	case typ == typePing:
		if l.rx.held > 0 {
			l.sendNak(now, out)
		}
		l.sendAcked(typePong, nil, out)
	case typ == typePong && ok:
		l.answered(now, out)
	case typ == typeNak && ok:
		l.answers = true
		l.handleNak(body, now, out)
		l.answers = false
	case typ == typeCredit && !l.fc.raise(parseCredits(body)):
		l.fail(fmt.Errorf("%w: more credits than the first grant", ErrProtocol), out)
	}
}

func (l *Link) receiveData(h uint16, body []byte, now time.Duration, out *Output) {
	several := false
	if h&bitAck != 0 {
		if len(body) < 2 || body[0]>>4&^(bitSeveral>>12) != 0 {
			l.fail(fmt.Errorf("%w: data frame too short for its acknowledgement", ErrProtocol), out)
			return
		}
		ack := binary.BigEndian.Uint16(body)
		several = ack&bitSeveral != 0
		body = body[2:]
		if several && !l.validBundle(h, body) {
			l.stats.BadFrames++
			l.fail(fmt.Errorf("%w: several packets that do not fill a frame of at most %d bytes", ErrProtocol, l.bundle), out)
			return
		}
		l.handleAck(ack&maskSeq, now)
	}
	r := &l.rx
	d := r.ahead(h & maskSeq)
	if d > maskSeq/2 {
		l.stats.Duplicates++
		r.unacked, r.ackNow = max(r.unacked, 1), true
		return
	}
	if d >= len(r.slots) {
		l.stats.OutOfWindow++
		return
	}
	if d > 0 && l.cfg.InOrder {
		l.missed(now)
		return
	}
	n := r.next + uint64(d)
	slot := r.slot(n)
	if slot.here {
		l.stats.Duplicates++
		return
	}
	if !l.keep(slot, h, body, several, d > 0, out) {
		return
	}
	if d > 0 {
		l.gap(n, now)
		return
	}
	l.deliver(now, out)
}

// keep stores what a data frame holds. The packets of a frame with several are copied if
// they must wait for an earlier frame. It reports false if the link has failed.
func (l *Link) keep(slot *rxSlot, h uint16, body []byte, several, waits bool, out *Output) (ok bool) {
	r := &l.rx
	switch {
	case !several:
		slot.packet, ok = expand(r.spares.get(), int(h>>shiftForm&3), body, l.tx.maxPacket)
		if !ok {
			l.fail(fmt.Errorf("%w: packet with an invalid form or over %d bytes", ErrProtocol, l.tx.maxPacket), out)
			return false
		}
	case waits:
		slot.several = bytes.Clone(body)
	default:
		slot.several = body
	}
	slot.here = true
	r.held++
	return true
}

// missed requests the missing frames for an end that keeps none out of order.
func (l *Link) missed(now time.Duration) {
	l.stats.OutOfOrder++
	if now >= l.rx.quiet {
		l.rx.damaged = true
		l.rx.wantNak(now + l.cfg.NakDelay)
	}
}

// gap sends one Nak for frames missing just before frame n, which has arrived.
func (l *Link) gap(n uint64, now time.Duration) {
	l.stats.OutOfOrder++
	r := &l.rx
	if r.held == 1 {
		r.again = now + l.cfg.NakDelay + l.patience()
	}
	if n > max(r.nakTo, r.next) && !r.slot(n-1).here {
		r.wantNak(now + l.cfg.NakDelay)
	}
}

// deliver delivers packets that are in order.
func (l *Link) deliver(now time.Duration, out *Output) {
	r := &l.rx
	for slot := r.slot(r.next); slot.here; slot = r.slot(r.next) {
		several := slot.several
		slot.several, slot.here = nil, false
		if several == nil && !l.accept(slot.packet, out) || !l.acceptAll(several, out) {
			return
		}
		r.held--
		r.next++
		r.repeats = 0
		if r.unacked++; r.unacked == 1 {
			r.ackDue = now + l.cfg.AckDelay
		}
	}
	r.ackNow = r.ackNow || r.unacked >= r.every || r.bytes >= ackBytes
	if r.held == 0 && !r.damaged {
		r.nak = false
	}
}

// ackBytes is the number of bytes that are acknowledged without waiting: a quarter of what
// may be in flight.
const ackBytes = maxFlying / 4

// accept delivers a packet, whose memory it takes. It reports false if the peer had no
// credits for it: the link has failed.
func (l *Link) accept(packet []byte, out *Output) bool {
	c := classOf(packet)
	if !l.fc.accept(&l.cfg.Credits, c, len(packet)) {
		l.fail(fmt.Errorf("%w: %v packet of %d bytes without credits", ErrProtocol, c, len(packet)), out)
		return false
	}
	l.rx.spares.put(out.Packets.add(packet))
	l.rx.bytes += len(packet)
	l.stats.PacketsReceived++
	return true
}

// sendNak sends the expected sequence number and the frames received after it.
func (l *Link) sendNak(now time.Duration, out *Output) {
	r := &l.rx
	var bitmap [MaxWindow / 8]byte
	n, last := 0, 0
	for i, found := 1, 0; i < len(r.slots) && found < r.held; i++ {
		if r.slot(r.next + uint64(i)).here {
			bitmap[(i-1)/8] |= 1 << ((i - 1) % 8)
			n, last = (i-1)/8+1, i
			found++
		}
	}
	r.nakTo = r.next + uint64(last)
	l.tell(Incident{Kind: NakSent, Sequence: uint32(r.next & maskSeq), Answers: r.refused})
	r.nak, r.damaged, r.refused = false, false, false
	r.again = now + l.patience()
	r.quiet = r.again
	l.stats.NaksSent++
	l.sendAcked(typeNak, bitmap[:n], out)
}

// flush sends everything that is due. Packets go first, because they can carry
// an acknowledgement.
func (l *Link) flush(now time.Duration, out *Output) {
	l.transmit(now, out)
	r := &l.rx
	if r.held > 0 && !r.nak && now >= r.again {
		r.wantNak(now)
		r.repeats++
	}
	if r.nak && now >= r.nakDue {
		l.sendNak(now, out)
	}
	if r.unacked > 0 && (r.ackNow || now >= r.ackDue) {
		l.sendAcked(typeAck, nil, out)
	}
}
