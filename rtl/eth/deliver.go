package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// A Datagram is a byte of a datagram that has arrived.
//
//	Valid  there is a byte
//	First  the first one
//	Last   the last one
//	Host   the datagram is from the host that is kept
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
	i     uint8  `w:"4"` // next byte of the source
	got   bool   // the byte before it was read
	same  bool   // the source is so far that of the kept host
	at    uint16 `w:"12"` // next byte of the data
	full  bool   // there is a byte for the link
	first bool   // it is the first one
	last  bool   // it is the last one
}

func (d *deliver) reset() {
	d.stage, d.i, d.got, d.full, d.first, d.last = stageIdle, 0, false, false, false, false
}

// mine reports whether a frame is a datagram.
func mine(f ip.Frame) bool { return f.Valid && (f.Kind == ip.Raw || f.Kind == ip.UDP) }

// count returns the size of the source of a frame.
func count(f ip.Frame) uint8 {
	if f.Kind == ip.Raw {
		return ip.RawPeerBytes
	}
	return ip.PeerBytes
}

// loads reports whether the source is read.
func (d *deliver) loads(f ip.Frame) bool { return d.stage == stageLoad && d.i != count(f) }

// gives reports whether a byte of the data is read. ready, the link takes a byte.
func (d *deliver) gives(f ip.Frame, ready bool) bool {
	return d.stage == stageGive && d.at != f.End && (!d.full || ready)
}

// place returns where to read.
func (d *deliver) place(f ip.Frame) uint16 {
	if d.stage == stageGive {
		return d.at
	}
	return uint16(f.Start)<<4 | uint16(d.i)
}

// advance is one clock. equal, the byte of the source that was read last is that of the
// kept host; again, another host is kept, or none.
func (d *deliver) advance(f ip.Frame, ready, equal, again bool) {
	reads, gives := d.loads(f), d.gives(f, ready)
	begun := d.stage == stageGive && (!d.first || d.full && ready)
	switch d.stage {
	case stageIdle:
		if mine(f) {
			d.stage, d.i, d.got, d.same, d.first = stageLoad, 0, false, true, true
		}
	case stageLoad:
		d.same = d.same && (!d.got || equal)
		d.got = reads
		if reads {
			d.i = (d.i + 1) & 0xf
		} else {
			d.stage, d.at = stageGive, uint16(f.Start)<<4|uint16(d.i)
		}
	default:
		if d.full && ready {
			d.first = false
		}
		if d.full && ready && d.last {
			d.stage = stageIdle
		}
		d.full = gives || d.full && !ready
		if gives {
			d.at = (d.at + 1) & (ip.RingBytes - 1)
			d.last = d.at == f.End
		}
	}
	if again && d.stage != stageIdle && !begun {
		d.stage, d.i, d.got, d.same, d.full = stageLoad, 0, false, true, false
	}
}
