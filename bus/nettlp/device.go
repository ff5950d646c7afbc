package nettlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// askEvery is how often a question without an answer is asked again.
const askEvery = 500 * time.Millisecond

// Addresses of the BARs of the endpoint: BAR 0 has 32 bits, that of an adapter 64.
const (
	registersAt = 0xe0000000
	apertureAt  = 1 << 32
)

// setupID is the requester of the configuration requests that a Device makes itself. No
// host is on this bus.
const setupID tlp.ID = 0xffff

// maxHeld bounds the requests that wait for the answers to the questions.
const maxHeld = 1024

// ErrSession is returned by Device.Receive when it knows the host.
var ErrSession = errors.New("nettlp: the host is known")

// DeviceOptions configure a Device. The zero value is the default.
type DeviceOptions struct {
	// Host is the address that answers the questions: the PC of the adapter; invalid: Ends.Peer.
	Host netip.Addr

	// Window is the address of BAR 4 of the adapter; 0: the driver of the adapter is asked.
	Window uint64

	// ID is the function of the adapter, if Window is given.
	ID tlp.ID

	// Timeout and Quarantine are those of Options, for the device's reads.
	Timeout, Quarantine time.Duration
}

// A Device is the device's end of a link to one adapter or [Port]. Receive
// returns the packets for the endpoint of the device, and Send takes its packets. NetTLP carries no configuration requests, so the Device places the BARs of the
// endpoint itself.
type Device struct {
	end
	ends  Ends
	tags  tags
	facts Facts
	known map[Question]bool
	fixed bool // the facts are given
	asked time.Duration
	full  bool     // a read was refused since the last Receive
	n     uint64   // sessions of the endpoint
	used  Facts    // of the session
	held  [][]byte // requests that wait for the facts
}

// questions are those that a Device asks.
func questions() []Question { return []Question{AskWindow, AskID, AskVectors} }

// questionPort stands for the port of the questions, which the system chooses.
const questionPort = 0

// OpenDevice opens the device's end. It fails with ErrAddress, ErrSystem, or with the
// error of a socket. The adapter need not be there.
func OpenDevice(ends Ends, o DeviceOptions) (*Device, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Quarantine == 0 {
		o.Quarantine = DefaultQuarantine
	}
	if !o.Host.IsValid() {
		o.Host = ends.Peer
	}
	if o.Window%WindowSize != 0 || !o.Host.Is4() {
		return nil, fmt.Errorf("%w: BAR 4 at %#x, host %v, want a multiple of %#x and an IPv4 address", ErrAddress, o.Window, o.Host, WindowSize)
	}
	d := &Device{
		fixed: o.Window != 0, asked: -askEvery, known: map[Question]bool{},
		tags:  tags{slots: make([]slot, deviceTags), stride: 1, timeout: o.Timeout, rest: rest, quarantine: o.Quarantine},
		facts: Facts{Window: o.Window, ID: o.ID},
	}
	var err error
	d.ends, err = d.open(ends)
	if err == nil && !d.fixed {
		from := netip.IPv4Unspecified()
		if o.Host == ends.Peer {
			from = d.ends.Local
		}
		err = d.add(netip.AddrPortFrom(from, questionPort), netip.AddrPortFrom(o.Host, MessagePort))
	}
	if err != nil {
		if d.sockets != nil {
			d.close()
		}
		return nil, err
	}
	return d, nil
}

// Now returns the time since the device was opened.
func (d *Device) Now() time.Duration { return d.now() }

// Session returns the number of ErrSession so far; up is true after the first. A session
// ends with the next one.
func (d *Device) Session() (n uint64, up bool, cause error) {
	if d.n > 1 {
		cause = errMoved
	}
	return d.n, d.n != 0, cause
}

var errMoved = errors.New("nettlp: the host has moved BAR 4")

// Ends returns both ends.
func (d *Device) Ends() Ends { return d.ends }

// Facts returns what is known of the host.
func (d *Device) Facts() Facts { return d.facts }

// MaxPacket returns the size of the largest packet of the endpoint: with the payload that
// every host accepts.
func (d *Device) MaxPacket() int { return 16 + 128 }

// Close ends Receive.
func (d *Device) Close() error {
	d.close()
	return nil
}

// Send sends a packet of the endpoint, or fails with datalink.ErrFull for a read if no
// tag is free.
func (d *Device) Send(packet []byte) error {
	var q tlp.Packet
	if err := q.Decode(packet); err != nil {
		return err
	}
	switch {
	case q.IsCompletion() && q.Requester == setupID:
	case q.IsCompletion():
		d.cross(HostPorts, q.Tag, packet)
	case q.Kind.HasData():
		d.cross(DevicePorts, q.Tag, packet)
	default:
		return d.sendRead(&q)
	}
	return nil
}

// Receive returns the next packet for the endpoint, ErrSession when the endpoint must be
// reset before it, or nil and no error at the time-out. After Send has refused a read, that
// is when a tag is free at the latest.
func (d *Device) Receive(timeout time.Duration) ([]byte, error) {
	until := d.now() + timeout
	if d.full {
		d.full, until = false, min(until, d.tags.free())
	}
	for {
		if d.ready() && (d.n == 0 || d.facts != d.used) {
			d.begin()
			return nil, ErrSession
		}
		if d.ready() {
			d.refuseHeld()
		}
		if b := d.next(); b != nil {
			return b, nil
		}
		d.ask()
		left := until - d.now()
		if d.awake.Swap(false) {
			return nil, nil
		}
		if _, err := d.gather(d.pause(left), d.arrived); err != nil {
			return nil, err
		}
		d.expire()
		if left <= 0 && len(d.queue) == 0 && (!d.ready() || d.facts == d.used) {
			return nil, nil
		}
	}
}

// pause returns how long to wait, of a time, without a question or an expiry.
func (d *Device) pause(left time.Duration) time.Duration {
	if !d.ready() {
		left = min(left, d.asked+askEvery-d.now())
	}
	if at, ok := d.tags.deadline(); ok {
		left = min(left, at-d.now())
	}
	return left
}

// ready reports whether the facts are known.
func (d *Device) ready() bool { return d.fixed || len(d.known) == len(questions()) }

// ask asks the questions without an answer.
func (d *Device) ask() {
	if d.ready() || d.now() < d.asked+askEvery {
		return
	}
	d.asked = d.now()
	for _, q := range questions() {
		if !d.known[q] {
			d.send(questionPort, appendQuestion(nil, q))
		}
	}
}

// arrived handles a datagram.
func (d *Device) arrived(g datagram) {
	if g.port == questionPort {
		if q := d.facts.learn(g.data); q != 0 {
			d.known[q] = true
		}
		return
	}
	packet, ok := d.cut(g.port, g.data)
	q := &d.in
	switch {
	case !ok:
	case q.IsCompletion() != (g.port < HostPorts):
		d.refuse(WrongPort, "%v at port %#x", q, g.port)
	case q.IsCompletion():
		d.completion(q)
	case d.n != 0 && d.inside(q):
		d.request(q)
	case d.fixed || len(d.held) >= maxHeld:
		d.refuse(Disabled, "%v outside of BAR 4 at %#x", q, d.facts.Window)
	default:
		d.hold(packet)
	}
}

// hold keeps a request until the questions have answers. The host is there, so they are
// asked at once; again, if BAR 4 was elsewhere: the PC has started anew.
func (d *Device) hold(packet []byte) {
	if len(d.held) == 0 {
		clear(d.known)
		d.asked = d.now() - askEvery
	}
	d.held = append(d.held, packet)
}

// refuseHeld refuses the requests that are outside of BAR 4 after all.
func (d *Device) refuseHeld() {
	for range d.held {
		d.refuse(Disabled, "a request outside of BAR 4 at %#x", d.facts.Window)
	}
	d.held = nil
}

// inside reports whether a request is in BAR 4, and on one side of its middle.
func (d *Device) inside(q *tlp.Packet) bool {
	off := q.Addr - d.used.Window
	return off < ApertureAt && off+uint64(4*q.Len) <= ApertureAt || off >= ApertureAt && off < WindowSize
}

// request passes a request of the host to the endpoint.
func (d *Device) request(q *tlp.Packet) {
	off := q.Addr - d.used.Window
	data := q.Kind.HasData()
	switch {
	case off < ApertureAt && data:
		q.Kind, q.Addr = tlp.MWr32, registersAt+off
	case off < ApertureAt:
		q.Kind, q.Addr = tlp.MRd32, registersAt+off
	case data:
		q.Kind, q.Addr = tlp.MWr64, apertureAt+off-ApertureAt
	default:
		q.Kind, q.Addr = tlp.MRd64, apertureAt+off-ApertureAt
	}
	d.push(q)
}

// sendRead sends a read of the endpoint with a tag of the wire.
func (d *Device) sendRead(q *tlp.Packet) error {
	wire := *q
	var ok bool
	if wire.Tag, ok = d.tags.take(q, q.Requester, d.now()); !ok {
		d.full = true
		return datalink.ErrFull
	}
	b, err := wire.Append(nil)
	if err != nil {
		return err
	}
	d.cross(DevicePorts, wire.Tag, b)
	return nil
}

// completion passes a completion to the endpoint, as that of the request it sent.
func (d *Device) completion(q *tlp.Packet) {
	request, why, text := d.tags.match(q, d.now())
	if request == nil {
		d.refuse(why, "%v: %s", q, text)
		return
	}
	q.Tag = request.Tag
	d.push(q)
}

// expire ends the reads without an answer: the endpoint gets a completer abort.
func (d *Device) expire() {
	d.tags.expire(d.now(), func(request *tlp.Packet) {
		d.note(func(s *Stats) { s.Timeouts++ })
		r := request.Reply(0, tlp.CA)
		d.push(&r)
	})
}

// begin begins a session: it queues the requests that set up the endpoint, and those of
// the host that have waited. The endpoint forgets its reads.
func (d *Device) begin() {
	d.n++
	d.used, d.queue = d.facts, nil
	d.tags.forget(d.now())
	for _, w := range []struct {
		off uint64
		v   uint32
	}{
		{pcicfg.Command, 0},
		{pcicfg.BAR0, registersAt},
		{pcicfg.BAR2, apertureAt & 0xffffffff},
		{pcicfg.BAR3, apertureAt >> 32},
		{pcicfg.MSIX, pcicfg.MSIXEnable},
		{pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable},
	} {
		d.setup(w.off, w.v)
	}
	d.setVectors()
	held := d.held
	d.held = nil
	for _, packet := range held {
		if d.in.Decode(packet) != nil || !d.inside(&d.in) {
			d.held = append(d.held, packet) // to be refused
			continue
		}
		d.request(&d.in)
	}
}

// setup queues a configuration write.
func (d *Device) setup(off uint64, v uint32) {
	d.push(&tlp.Packet{
		Kind: tlp.CfgWr0, Len: 1, Requester: setupID, First: 0xf, Addr: off, Completer: d.facts.ID,
		Data: binary.LittleEndian.AppendUint32(nil, v),
	})
}

// setVectors queues the writes of the vectors that the host has told: an adapter has the
// MSI-X table itself.
func (d *Device) setVectors() {
	for i, v := range d.facts.Vectors[:pcicfg.Vectors] {
		if v.Addr == 0 {
			continue
		}
		b := binary.LittleEndian.AppendUint64(nil, v.Addr)
		b = binary.LittleEndian.AppendUint32(b, v.Data)
		b = binary.LittleEndian.AppendUint32(b, 0) // not masked
		d.push(&tlp.Packet{
			Kind: tlp.MWr32, Len: 4, Requester: setupID, First: 0xf, Last: 0xf, Data: b,
			Addr: registersAt + pcicfg.MSIXTableOffset + 16*uint64(i),
		})
	}
}
