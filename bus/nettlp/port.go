package nettlp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// window is the address of BAR 4 on the wire. It is in the hole of a PC's memory for
// devices, so all packets have short headers.
const window = 0xe0000000

// deviceID is the function of the device.
const deviceID tlp.ID = 0x0100

// The requesters of the host's reads: each read has the next one. So a completion that is
// late, or arrives again, matches none of the next 16383 reads.
const (
	firstRequester = 0x8000
	requesters     = 0x4000
)

// Options configure a Port. The zero value is the default.
type Options struct {
	// Timeout is the time from a read to its completion; 0: 1 s.
	Timeout time.Duration

	// Quarantine is the time before the tag of an unanswered read is used again; 0: 10 s.
	Quarantine time.Duration

	// Aperture is the size of BAR 2 in bytes, a power of two from 4 KiB to MaxAperture; 0: no BAR 2.
	Aperture uint64

	// Packet, if not nil, is called with each packet that crosses the wire, on the
	// goroutine that calls the Port. It must not retain the packet.
	Packet func(sent bool, at time.Duration, packet []byte)
}

// A Port is the host's end of a link to one device in software, for
// [github.com/hilgpu/hilgpu/bus/rootport]. Configuration space is its own, because NetTLP
// carries no configuration requests: that of the GPU, whose BARs it places in BAR 4 of the
// adapter. It also answers the questions of the device.
type Port struct {
	end
	peer   netip.Addr
	config config
	tags   tags
	use    uint16 // number of the next read
	facts  Facts
}

// Open opens the host's end. It fails with ErrAddress, ErrSystem, or with the error of a
// socket. The device need not be there.
func Open(ends Ends, o Options) (*Port, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Quarantine == 0 {
		o.Quarantine = DefaultQuarantine
	}
	p := &Port{
		peer: ends.Peer, config: config{aperture: o.Aperture},
		tags:  tags{slots: make([]slot, hostTags), stride: hostTags, timeout: o.Timeout, quarantine: o.Quarantine},
		use:   uint16(rand.Uint32()),
		facts: Facts{Window: window, ID: deviceID},
	}
	p.packet = o.Packet
	ends, err := p.open(ends)
	if err != nil {
		return nil, err
	}
	if err := p.add(netip.AddrPortFrom(ends.Local, MessagePort), netip.AddrPort{}); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// Send implements rootport.Port.
func (p *Port) Send(packet []byte) error {
	if p.closed() {
		return fmt.Errorf("%w: %w", bus.ErrLinkDown, bus.ErrClosed)
	}
	var q tlp.Packet
	if err := q.Decode(packet); err != nil {
		return fmt.Errorf("%w: %w", datalink.ErrSize, err)
	}
	switch {
	case q.IsConfig():
		r := p.config.complete(&q)
		p.push(&r)
	case q.IsCompletion():
		p.cross(DevicePorts, q.Tag, packet)
	case q.IsMemory():
		return p.sendRequest(&q)
	}
	return nil
}

// sendRequest sends a memory request. It fails with datalink.ErrFull if no tag is free
// for a read.
func (p *Port) sendRequest(q *tlp.Packet) error {
	read := !q.Kind.HasData()
	off, ok := p.config.offset(q.Addr, 4*q.Len)
	if !ok {
		if read {
			r := q.Reply(deviceID, tlp.UR)
			p.push(&r)
		}
		return nil
	}
	wire := *q
	wire.Addr, wire.Tag = window+off, 0
	if wire.Kind = tlp.MWr32; read {
		p.expire()
		wire.Kind, wire.Requester = tlp.MRd32, tlp.ID(firstRequester+p.use%requesters)
		if wire.Tag, ok = p.tags.take(q, wire.Requester, p.now()); !ok {
			return datalink.ErrFull
		}
		p.use++
	} else {
		p.learnVector(off, q.Data)
	}
	b, err := wire.Append(nil)
	if err != nil {
		return fmt.Errorf("%w: %w", datalink.ErrSize, err)
	}
	p.cross(HostPorts, wire.Tag, b)
	return nil
}

// learnVector notes what the host writes to the MSI-X table, because the device asks.
func (p *Port) learnVector(off uint64, data []byte) {
	for i := 0; i+4 <= len(data); i += 4 {
		at := off + uint64(i) - pcicfg.MSIXTableOffset
		if at >= 16*pcicfg.Vectors {
			continue
		}
		v, word := &p.facts.Vectors[at/16], binary.LittleEndian.Uint32(data[i:])
		switch at % 16 {
		case 0:
			v.Addr = v.Addr>>32<<32 | uint64(word)
		case 4:
			v.Addr = v.Addr&0xffffffff | uint64(word)<<32
		case 8:
			v.Data = word
		}
	}
}

// expire counts the reads without an answer. The root port has its own time-out.
func (p *Port) expire() {
	p.tags.expire(p.now(), func(*tlp.Packet) { p.note(func(s *Stats) { s.Timeouts++ }) })
}

// Receive implements rootport.Port.
func (p *Port) Receive(timeout time.Duration) ([]byte, error) {
	until := p.now() + timeout
	for {
		if b := p.next(); b != nil {
			return b, nil
		}
		left := until - p.now()
		if p.awake.Swap(false) {
			return nil, nil
		}
		refused, err := p.gather(left, p.arrived)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
		case refused:
			return nil, fmt.Errorf("%w %v: start the device, or check the address", ErrPeer, p.peer)
		case left <= 0 && len(p.queue) == 0:
			return nil, nil
		}
	}
}

// arrived handles a datagram.
func (p *Port) arrived(d datagram) {
	if d.port == MessagePort {
		if answer := p.facts.answer(d.data); answer != nil && d.from.Addr() == p.peer {
			p.reply(d.port, d.from, answer)
		}
		return
	}
	_, ok := p.cut(d.port, d.data)
	q := &p.in
	switch {
	case !ok:
	case q.IsCompletion() != (d.port >= HostPorts):
		p.refuse(WrongPort, "%v at port %#x", q, d.port)
	case q.IsCompletion():
		p.completion(q)
	case p.config.masters():
		p.push(q)
	default:
		p.refuse(Disabled, "%v of a device that may not access memory", q)
		if r := q.Reply(0, tlp.UR); !q.Kind.HasData() {
			b, _ := r.Append(nil) // q is valid
			p.cross(DevicePorts, q.Tag, b)
		}
	}
}

// completion passes a completion to the root port, as that of the request it sent.
func (p *Port) completion(q *tlp.Packet) {
	p.expire()
	request, why, text := p.tags.match(q, p.now())
	if request == nil {
		p.refuse(why, "%v: %s", q, text)
		return
	}
	q.Requester, q.Tag = request.Requester, request.Tag
	p.push(q)
}

// MaxPacket implements rootport.Port.
func (p *Port) MaxPacket() int { return tlp.MaxSize }

// Ahead returns 0: the rate of a network is not measured.
func (p *Port) Ahead(int) time.Duration { return 0 }

// Now implements rootport.Port.
func (p *Port) Now() time.Duration { return p.now() }

// Close implements rootport.Port.
func (p *Port) Close() error {
	p.close()
	return nil
}
