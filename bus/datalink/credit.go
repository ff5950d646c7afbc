package datalink

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Credits are granted by a receiver, per class: Headers counts packets and Data
// counts units of 16 bytes (PCIe 3.0 §2.6.1). A packet takes one header, and
// one unit for each started 16 bytes after its first 16. Zero is infinite.
//
// On the wire they are six 16-bit counters of all credits ever granted, modulo
// 65536: headers before data, in the order of tlp.Class. The next update
// therefore repairs a lost one, and an old update is recognised because its
// counters go backwards.
type Credits [3]Credit

// A Credit is granted by a receiver to one class.
type Credit struct {
	Headers uint16
	Data    uint16
}

// maxCredit is half the range of a counter less one, so that forward and
// backward steps can be told apart.
const maxCredit = 1<<15 - 1

// cost returns the credits that a packet takes.
func cost(size int) Credit { return Credit{1, uint16((max(size-16, 0) + 15) / 16)} }

func (c Credits) check(maxPacket int) error {
	for i, v := range c {
		if v.Headers > maxCredit || v.Data > maxCredit {
			return fmt.Errorf("datalink: %v credits of %d headers, %d data, want at most %d", tlp.Class(i), v.Headers, v.Data, maxCredit)
		}
		if v.Data != 0 && v.Data < cost(maxPacket).Data {
			return fmt.Errorf("datalink: %v credits of %d data, want enough for a packet of %d bytes", tlp.Class(i), v.Data, maxPacket)
		}
	}
	return nil
}

func (c Credits) finite() bool { return c != Credits{} }

func (c Credits) append(b []byte) []byte {
	for _, v := range c {
		b = binary.BigEndian.AppendUint16(b, v.Headers)
		b = binary.BigEndian.AppendUint16(b, v.Data)
	}
	return b
}

const creditsLen = 12

func parseCredits(b []byte) (c Credits) {
	for i := range c {
		c[i] = Credit{binary.BigEndian.Uint16(b[4*i:]), binary.BigEndian.Uint16(b[4*i+2:])}
	}
	return c
}

// flow is the flow control of both directions. All counters are cumulative,
// modulo 65536.
type flow struct {
	theirs     Credits // first grant of the peer; 0 is infinite
	limit      Credits // granted by the peer
	used       Credits // part of limit used by packets, replays not counted
	granted    Credits // to the peer
	arrived    Credits // part of granted used by delivered packets
	advertised Credits // value of granted in the last update
	updated    time.Duration
}

func (f *flow) begin(ours, theirs Credits, now time.Duration) {
	*f = flow{theirs: theirs, limit: theirs, granted: ours, advertised: ours, updated: now}
}

// room reports whether credits remain for a packet.
func (f *flow) room(c tlp.Class, size int) bool {
	need := cost(size)
	left := Credit{f.limit[c].Headers - f.used[c].Headers, f.limit[c].Data - f.used[c].Data}
	return (f.theirs[c].Headers == 0 || left.Headers >= need.Headers) &&
		(f.theirs[c].Data == 0 || left.Data >= need.Data)
}

func take(v *Credit, size int) {
	need := cost(size)
	v.Headers += need.Headers
	v.Data += need.Data
}

// raise applies an update of the peer. An update whose counters go backwards
// was overtaken. One that exceeds the first grant is impossible.
func (f *flow) raise(u Credits) bool {
	for i := range u {
		if !raise(&f.limit[i].Headers, u[i].Headers, f.used[i].Headers, f.theirs[i].Headers) ||
			!raise(&f.limit[i].Data, u[i].Data, f.used[i].Data, f.theirs[i].Data) {
			return false
		}
	}
	return true
}

func raise(limit *uint16, to, used, first uint16) bool {
	if first == 0 || to-*limit > maxCredit {
		return true
	}
	if to-used > first {
		return false
	}
	*limit = to
	return true
}

// accept takes credits for a packet that arrived and reports whether the peer
// had them.
func (f *flow) accept(ours *Credits, c tlp.Class, size int) bool {
	take(&f.arrived[c], size)
	left := Credit{f.granted[c].Headers - f.arrived[c].Headers, f.granted[c].Data - f.arrived[c].Data}
	return (ours[c].Headers == 0 || left.Headers <= maxCredit) && (ours[c].Data == 0 || left.Data <= maxCredit)
}

// Release returns the credits of a delivered packet to the peer: its buffer is
// free. It is called once for each packet, in any order. The update is sent when half
// of a small first grant, or an eighth of a large one, is free again, or with the next
// refresh.
func (l *Link) Release(packet []byte, now time.Duration, out *Output) {
	if l.Free(packet) {
		l.sendCredits(now, out)
	}
}

// Free is Release without the update. It reports whether SendCredits must send one.
func (l *Link) Free(packet []byte) (due bool) {
	if l.state != Up || len(packet) == 0 {
		return false
	}
	f, c := &l.fc, classOf(packet)
	take(&f.granted[c], len(packet))
	ours := l.cfg.Credits[c]
	heads := f.granted[c].Headers - f.advertised[c].Headers
	data := f.granted[c].Data - f.advertised[c].Data
	return updateDue(heads, ours.Headers) || updateDue(data, ours.Data)
}

// SendCredits sends an update of the credits of the peer.
func (l *Link) SendCredits(now time.Duration, out *Output) {
	if l.state == Up {
		l.sendCredits(now, out)
	}
}

// updateDue reports whether an update is due: half of a small grant, or an eighth of a large
// one, is free again. The loss of one update of a large grant does not stop the peer.
func updateDue(freed, grant uint16) bool {
	if grant >= 64 {
		return freed >= grant/8
	}
	return grant != 0 && freed >= (grant+1)/2
}

func (l *Link) sendCredits(now time.Duration, out *Output) {
	l.sendAcked(typeCredit, l.fc.granted.append(make([]byte, 0, creditsLen)), out)
	l.fc.advertised, l.fc.updated = l.fc.granted, now
}
