package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/link/hard/outbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
	"github.com/hilgpu/hilgpu/rtl/link/hard/transmit"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Tick is one rising clock edge.
func (m *Module) Tick(in linkport.Piece, ready bool, gpu linkport.GPU, reqReady, dataReady bool, slow uint8) {
	frame, packet, busy, offer := m.rx.Frame(), m.rx.Packet(), m.tx.Busy(), m.tx.Offer()
	field, kept := m.rx.Field(), m.rx.Kept()
	fetch, release, idle, rests := m.down.Fetch(), m.down.Release(), m.down.Idle(), m.down.Free()
	answer, issue, refused := m.down.Answer(), m.up.Issue(), m.down.Refused()
	free, failed, quiet := m.up.Free(), m.up.Failed(), m.up.Idle()
	sent, write := m.up.Sent(), m.up.Write()
	expires := m.time.expires
	write.Slot = m.send.after(m.send.flying, m.slots)
	room := outbound.Room{
		Slot: m.send.room(busy, write.Slot), Write: m.credit.write(), Read: m.credit.read(),
		Epoch: m.down.Epoch() & 3, ID: m.down.ID(),
	}

	m.status = linkport.Status{Up: m.status.Up, Cause: m.status.Cause}
	m.session.mix(offer)
	nonces := transmit.Nonces{Host: frame.Host, Board: m.time.now}
	nonces.Set = m.offers(frame, offer, busy.Welcome)
	was, up := m.send, m.status.Up
	accept := m.receive(frame, kept, field, nonces.Set)
	begins := m.session.wanted && !up && idle && quiet && !packet.There
	if begins {
		m.begin(offer.Host)
		room.Slot = false // the room is that of the last session
	}
	if release && m.status.Up {
		m.ack.consumed()
	}
	m.queued(sent)
	// In a clock that changes what is kept or what is in flight, nothing is picked.
	changes := frame.Valid || release || begins
	job := m.pick(busy.Any || changes, was, kept)
	if !changes {
		m.send.advance(was, job.Kind == transmit.Data || job.Kind == transmit.Acked)
	}
	m.passTime(slow)
	if refused {
		m.status.Packet = true
	}
	room.Live = m.status.Up
	room.Waits = m.session.wanted && rests
	m.rx.Tick(in, accept && room.Live, fetch, release, !room.Live && rests || begins)
	m.tx.Tick(job, write, nonces, ready)
	m.down.Tick(packet, room.Live, issue, free, failed, expires, reqReady, dataReady)
	m.up.Tick(gpu, answer, room)
}

// queued counts a packet that is complete, and the credits that it takes.
func (m *Module) queued(sent outbound.Sent) {
	if !sent.Valid || !m.status.Up {
		return
	}
	m.send.flying = (m.send.flying + 1) & 127
	m.credit.take(sent)
}

// pick returns the next frame to send. was is the numbers of those in flight before
// this clock, and kept is which packets are in their slots.
func (m *Module) pick(busy bool, was sender, kept receive.Kept) transmit.Job {
	job := transmit.Job{Word: m.session.epoch, Marks: kept.Marks(), Size: bytes(kept.Marks())}
	low := kept.Next
	if busy {
		return job
	}
	if m.session.welcome && !m.session.mixes() {
		m.session.welcome = false
		job.Kind, job.Head, job.Word = transmit.Welcome, headWelcome|Version, helloWord
		return job
	}
	if !m.status.Up {
		return job
	}
	data := false
	job.Kind = transmit.Control
	switch {
	case m.session.down != linkport.NoCause:
		job.Head = headDown | uint16(m.session.down)
		m.end(m.session.down)
		return job
	case m.ack.nak || kept.Holds() && m.ack.quiet == 0:
		job.Kind, job.Head = transmit.Nak, headNak|low
		m.ack.nak, m.ack.quiet = false, m.cfg.Nak
		m.status.Nak = true
	case m.ack.pong:
		job.Head, m.ack.pong = headPong|low, false
	case m.ack.ping:
		job.Head, m.ack.ping = headPing|low, false
	case was.sent != m.send.flying && !was.holds():
		data = true
	case m.ack.due(m.every, m.cfg.Ack):
		job.Head = headAck | low
	default:
		job.Kind = transmit.None
		return job
	}
	if data {
		job = m.data(job, was, low)
	}
	m.ack.acknowledged()
	return job
}

// bytes returns how many bytes the marks of a Nak have.
func bytes(marks uint64) uint8 {
	n := uint8(0)
	for i := range uint8(8) {
		if uint8(marks>>(8*i)) != 0 {
			n = i + 1
		}
	}
	return n
}

// data makes the frame of the next packet. low is the number of an acknowledgement.
func (m *Module) data(job transmit.Job, was sender, low uint16) transmit.Job {
	n, slot := was.number(), was.after(was.sent, m.slots)
	job.Kind, job.Head, job.Slot = transmit.Data, headData|n, slot
	if m.ack.waiting() {
		job.Kind, job.Head, job.Ack = transmit.Acked, headData|headAcked|n, low
	}
	if was.sent == 0 {
		m.send.since = 0
	}
	if was.sent < was.flown {
		m.status.Repeated = true
	} else {
		m.send.flown = (was.sent + 1) & 127
	}
	return job
}
