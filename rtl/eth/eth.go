// Package eth is the Ethernet end of a board: it answers ARP and ping, and carries
// datagrams between a host and the link, in UDP or in raw frames.
package eth

import (
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// A Link is what the link gives.
//
//	Ready    it takes a byte of a datagram that has arrived
//	Valid    it has a byte of a datagram, valid/ready, ready is Module.Ready
//	Last     the byte is the last one; a datagram has 1 to ip.MaxData
//	Data     the byte
//	Keep     keeps the host of the datagram whose first byte was taken last
//	Release  keeps no host
type Link struct {
	Ready   bool
	Valid   bool
	Last    bool
	Data    uint8
	Keep    bool
	Release bool
}

// Module is an Ethernet station of one IP address and one UDP port.
//
//	In      rx, what the PHY has received; ready, the symbol for the PHY is taken; link
//	        Link. Keep comes before the first byte of the next datagram is taken, and
//	        not with Release; counter, the counter that is read, Runts to Invalid
//	Out     Symbol, for the PHY, valid/ready; Datagram, for the link, valid/ready; Ready,
//	        a byte of the link is taken; Count
//	Timing  a byte in a clock each way. An idle station delivers a datagram of UDP from 17
//	        clocks after its end on, and sends one from 16 clocks after its last byte on;
//	        in raw frames these are 11 and 7. An answer begins 8 clocks after an ARP
//	        request and 20 after a ping. Before a datagram that waits there is only the
//	        gap, before an answer up to 2 clocks more
//	Reset   no frame stored, no host known; a frame that is being sent is cut off
//	Order   that of arrival. Answers are sent before datagrams, as ip.Builder has it
//	Paths   none
//	Size    two buffers of 4096 bytes, addresses of four hosts, and eight counters
//	Faults  a frame that is wrong reaches nothing, and is counted. A datagram goes to the host
//	        that is kept, or else to that of the datagram whose first byte was taken last;
//	        Ready is false before there was one. A datagram that the link does not take
//	        stops the frames after it, also requests
//	Source  IEEE 802.3-2018 §3, §4A; RFC 768, 791, 792, 826
type Module struct {
	rx      mac.Receiver
	tx      mac.Transmitter
	parser  ip.Parser
	builder ip.Builder

	deliver  deliver
	store    store
	sources  sources
	counters counters
}

// Outputs are the methods of Module whose results are its outputs.
var Outputs = []string{"Symbol", "Datagram", "Ready", "Count"}

// New returns a station after reset.
func New(p ip.Params) *Module {
	m := &Module{
		rx: mac.NewReceiver(p.Addr()), tx: mac.NewTransmitter(), parser: ip.NewParser(p), builder: ip.NewBuilder(p),
		store: newStore(), sources: newSources(), counters: newCounters(),
	}
	m.Reset()
	return m
}

// Reset drops everything and forgets all hosts.
func (m *Module) Reset() {
	m.rx.Reset()
	m.tx.Reset()
	m.parser.Reset()
	m.builder.Reset()
	m.deliver.reset()
	m.store.reset()
	m.sources.reset()
	m.counters.reset()
}

// Symbol returns the symbol for the PHY.
func (m *Module) Symbol() (valid bool, s mac.Symbol) { return m.tx.Symbol() }

// Datagram returns a byte for the link.
func (m *Module) Datagram() Datagram {
	return Datagram{Valid: m.deliver.full, First: m.deliver.first, Last: m.deliver.last, Host: m.fromHost(), Data: m.parser.Data()}
}

// fromHost reports whether the datagram is from the host that is kept.
func (m *Module) fromHost() bool {
	if m.deliver.first {
		return m.deliver.same && m.sources.keeps(m.parser.Head().Kind == ip.UDP)
	}
	return m.deliver.host
}

// Ready reports whether a byte of the link is taken in this clock.
func (m *Module) Ready() bool { return m.store.ready() }

// Count returns the counter that was selected in the clock before. It is not valid in clocks
// in which an event is counted.
func (m *Module) Count() (valid bool, n uint32) {
	return m.counters.fresh, uint32(m.counters.ram.Out())
}

// Tick is one rising clock edge.
func (m *Module) Tick(rx mac.Byte, ready bool, link Link, counter uint8) {
	body, events, dropped := m.rx.Body(), m.rx.Events(), m.parser.Events()
	head, arrived := m.parser.Head(), m.parser.Data()
	waiting, sent := m.store.head(), uint8(m.store.buffer.Out())
	valid, last, answer, data := m.builder.Byte()
	fetches, answers, at := m.builder.Fetch()
	takes := m.tx.Ready()
	moves := !valid || takes
	done := valid && last && takes

	// The buffer of arrived frames is read by the one that has the oldest frame.
	mine := mine(head)
	reads, where := fetches && answers && moves, at
	if mine {
		reads, where = m.deliver.loads(head) || m.deliver.gives(link.Ready), m.deliver.at
	}
	taken := m.deliver.full && link.Ready
	given := taken && m.deliver.last
	request := head
	request.Valid = head.Valid && !mine

	m.host(link, head, arrived, taken && m.deliver.first, fetches && !answers && moves, at, done && !answer)
	m.rx.Tick(rx)
	m.parser.Tick(body, reads, where, given || done && answer)
	m.builder.Tick(request, waiting, arrived, sent, takes)
	m.tx.Tick(valid, data, last, ready)
	m.counters.advance(events, dropped, counter)
}

// host ticks what is between the frames and the link. arrived is the byte of the oldest
// frame that was read last; taken, its first byte is taken; read and at, a read of the buffer
// of datagrams to send; sent, the oldest one was sent.
func (m *Module) host(link Link, head ip.Frame, arrived uint8, taken, read bool, at uint16, sent bool) {
	peer := m.sources.byte()
	loads, got := m.deliver.loads(head), m.deliver.got
	begins := m.store.begins(link.Valid && m.sources.any)
	copies := m.store.copies(!loads)
	place := m.sources.from<<slotBits | m.store.i
	if loads {
		place = m.sources.kept<<slotBits | m.deliver.place()
	}
	again := link.Keep || link.Release
	m.sources.store(loads || copies, place, got, m.deliver.place(), arrived, head.Kind == ip.UDP)
	m.store.advance(link, peer, m.sources.uses(m.sources.from), begins, copies, read, at, sent)
	m.deliver.advance(head, link.Ready, peer == arrived, again, m.fromHost())
	m.sources.advance(link.Keep, link.Release, begins, taken)
}
