package capture

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A Space is the address space of a request.
type Space uint8

// The spaces.
const (
	Elsewhere  Space = iota // outside all known BARs, or the request is unknown
	Config                  // configuration space of the board
	BAR                     // one of the board's BARs
	HostMemory              // host memory, accessed by the board
)

// An Event is a decoded packet with its target.
//
//	Packet   decoded packet; its Data aliases the bytes passed to Follow
//	Space    address space of Off
//	BAR      number of the BAR, if Space is BAR
//	Off      address of the request, or of a completion's first data byte, in bytes
//	Request  request of a completion; nil if it was not seen
type Event struct {
	Packet  tlp.Packet
	Space   Space
	BAR     int
	Off     uint64
	Request *tlp.Packet
}

// maxPending bounds the requests that wait for a completion: two requesters
// with 10-bit tags can have this many. Beyond it, all are dropped.
const maxPending = 2048

// A Follower tracks the BARs and matches completions with requests. The zero
// value is ready to use.
type Follower struct {
	bars    [6]window
	pending map[transaction]*pending
}

// A transaction identifies a request and its completions.
type transaction struct {
	dir       Dir // of the request
	requester tlp.ID
	tag       uint16
}

type pending struct {
	req  tlp.Packet // without its data
	done int        // data bytes received
}

// A window is the known state of one BAR.
type window struct {
	flags, base, size uint32 // dwords of configuration space
	flagged           bool   // flags were read
	placed            bool   // base is known
	sizing            bool   // all ones were written; the next read returns the size
	sized             bool   // size is known: the address bits that are always 0
}

// Follow decodes the next packet. It fails as tlp.Packet.Decode does; Event
// then holds the fields decoded so far.
func (f *Follower) Follow(dir Dir, packet []byte) (Event, error) {
	var e Event
	if err := e.Packet.Decode(packet); err != nil {
		return e, fmt.Errorf("%w: %w", ErrPacket, err)
	}
	p := &e.Packet
	switch {
	case p.IsCompletion():
		f.complete(dir, &e)
	case p.IsConfig():
		e.Space, e.Off = Config, p.Addr
		f.expect(dir, p)
		if p.Kind == tlp.CfgWr0 {
			f.write(p)
		}
	case p.IsMemory() && dir == Up:
		e.Space, e.Off = HostMemory, p.Addr
		f.expect(dir, p)
	case p.IsMemory():
		e.Space, e.BAR, e.Off = f.locate(p.Addr)
		f.expect(dir, p)
	}
	return e, nil
}

// expect records a request that requires a completion.
func (f *Follower) expect(dir Dir, p *tlp.Packet) {
	if p.Kind.Class() != tlp.NonPosted {
		return
	}
	if len(f.pending) >= maxPending || f.pending == nil {
		f.pending = map[transaction]*pending{}
	}
	req := *p
	req.Data = nil
	f.pending[transaction{dir, p.Requester, p.Tag}] = &pending{req: req}
}

// complete finds the request of a completion.
func (f *Follower) complete(dir Dir, e *Event) {
	p := &e.Packet
	key := transaction{dir ^ 1, p.Requester, p.Tag}
	w := f.pending[key]
	if w == nil {
		return
	}
	e.Request = &w.req
	e.Off = w.req.Addr
	switch {
	case w.req.IsConfig():
		e.Space = Config
	case dir == Down:
		e.Space = HostMemory
	default:
		e.Space, e.BAR, e.Off = f.locate(w.req.Addr)
	}
	e.Off += uint64(w.done)
	w.done += len(p.Data)
	last := true
	if p.Kind == tlp.CplD {
		_, last = p.Carries()
	}
	if last || w.done >= 4*w.req.Len {
		delete(f.pending, key)
	}
	if w.req.Kind == tlp.CfgRd0 && p.Kind == tlp.CplD {
		f.read(w.req.Addr, binary.LittleEndian.Uint32(p.Data))
	}
}

// bar returns the window at a configuration offset, or nil if it is no BAR.
func (f *Follower) bar(off uint64) *window {
	if off < pcicfg.BAR0 || off > pcicfg.BAR5 {
		return nil
	}
	return &f.bars[(off-pcicfg.BAR0)/4]
}

// write updates a BAR from a configuration write. A write of all ones requests
// the size, and the BAR then has no address (PCI 3.0 §6.2.5.1).
func (f *Follower) write(p *tlp.Packet) {
	w := f.bar(p.Addr)
	if w == nil {
		return
	}
	v := binary.LittleEndian.Uint32(p.Data)
	w.sizing = v == 0xffffffff
	w.placed = !w.sizing && p.First == 15
	w.base = v
}

// read updates a BAR from a value read.
func (f *Follower) read(off uint64, v uint32) {
	w := f.bar(off)
	switch {
	case w == nil:
		return
	case w.sizing:
		w.sized, w.size = true, v
	default:
		w.placed, w.base = true, v
	}
	w.flagged, w.flags = true, v&pcicfg.BARFlags
}

// isHigh reports whether BAR i is the high half of the BAR before it.
func (f *Follower) isHigh(i int) bool { return i > 0 && !f.isHigh(i-1) && f.isWide(i-1) }

// isWide reports whether BAR i has 64 bits, from the value read or else from
// pcicfg.
func (f *Follower) isWide(i int) bool {
	if w := f.bars[i]; w.flagged {
		return w.flags&7 == pcicfg.BARMem64
	}
	return pcicfg.BAR0+4*i == pcicfg.BAR2
}

// prefetchable reports whether BAR i is prefetchable, from the value read or
// else from pcicfg.
func (f *Follower) prefetchable(i int) bool {
	if w := f.bars[i]; w.flagged {
		return w.flags&pcicfg.BARPrefetchable != 0
	}
	return pcicfg.BAR0+4*i == pcicfg.BAR2
}

// locate returns the BAR that decodes an address.
func (f *Follower) locate(addr uint64) (space Space, bar int, off uint64) {
	for i := range f.bars {
		base, size, ok := f.window(i)
		if ok && addr >= base && addr-base < size {
			return BAR, i, addr - base
		}
	}
	return Elsewhere, 0, addr
}

// window returns the range of BAR i. If the capture shows no size, BAR0 has the
// size in pcicfg and any other BAR the alignment of its address.
func (f *Follower) window(i int) (base, size uint64, ok bool) {
	w := f.bars[i]
	if f.isHigh(i) || !w.placed || w.flags&1 != 0 {
		return 0, 0, false
	}
	base = uint64(w.base &^ pcicfg.BARFlags)
	mask, sized := uint64(math.MaxUint32)<<32|uint64(w.size&^pcicfg.BARFlags), w.sized
	if i < len(f.bars)-1 && f.isWide(i) {
		high := f.bars[i+1]
		if !high.placed {
			return 0, 0, false
		}
		base |= uint64(high.base) << 32
		mask = uint64(high.size)<<32 | mask&0xffffffff
		sized = sized && high.sized
	}
	switch {
	case base == 0 || w.sized && w.size == 0:
		return 0, 0, false
	case sized:
		return base, -mask, true
	case i == 0:
		return base, pcicfg.BAR0Size, true
	}
	return base, base & -base, true
}
