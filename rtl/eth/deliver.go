package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// A Datagram is a byte of a datagram that has arrived.
//
//	Valid  there is a byte
//	First  the first one
//	Last   the last one
//	Host   the datagram is from the host that was kept when its first byte was taken
//	Data   the byte
type Datagram struct {
	Valid bool
	First bool
	Last  bool
	Host  bool
	Data  uint8
}

type stage uint8

const (
	stageIdle stage = iota
	stageLoad       // the source is read, stored and compared
	stageGive       // the data is delivered
)

// deliver gives the datagrams that the parser has stored to the link.
type deliver struct {
	stage stage
	at    uint16 `w:"12"` // place of the next byte
	got   bool   // a byte of the source was read
	same  bool   // the source is so far that of the kept host
	host  bool   // it was when the first byte was taken
	full  bool   // there is a byte for the link
	first bool   // it is the first one
	last  bool   // the last byte was read
}

func (d *deliver) reset() {
	d.stage, d.got, d.full, d.first, d.last = stageIdle, false, false, false, false
}

// mine reports whether a frame is a datagram.
func mine(f ip.Frame) bool { return f.Valid && (f.Kind == ip.Raw || f.Kind == ip.UDP) }

// place returns the place in the source.
func (d *deliver) place() uint8 { return uint8(d.at & 0xf) }

// loads reports whether a byte of the source is read.
func (d *deliver) loads(f ip.Frame) bool {
	n := uint8(ip.PeerBytes)
	if f.Kind == ip.Raw {
		n = ip.RawPeerBytes
	}
	return d.stage == stageLoad && d.place() != n
}

// gives reports whether a byte of the data is read. ready, the link takes a byte.
func (d *deliver) gives(ready bool) bool {
	return d.stage == stageGive && !d.last && (!d.full || ready)
}

// advance is one clock. equal, the byte of the source that was read last is that of the
// kept host; again, another host is kept, or none; host, the datagram is from the kept host.
func (d *deliver) advance(f ip.Frame, ready, equal, again, host bool) {
	loads, gives := d.loads(f), d.gives(ready)
	taken := d.full && ready
	begun := d.stage == stageGive && (!d.first || taken)
	ends := taken && d.last
	d.full = gives || d.full && !ready
	if d.got && !equal {
		d.same = false
	}
	if gives {
		d.last = d.at == f.Last
	}
	if taken && d.first {
		d.first, d.host = false, host
	}
	if loads || gives {
		d.at = (d.at + 1) & (ip.BufferBytes - 1)
	} else if d.stage == stageLoad {
		d.stage = stageGive
	}
	d.got = loads
	if ends {
		d.stage = stageIdle
	} else if d.stage == stageIdle && mine(f) || again && d.stage != stageIdle && !begun {
		d.stage, d.at = stageLoad, uint16(f.Start)<<4
		d.got, d.same, d.full, d.first, d.last = false, true, false, true, false
	}
}
