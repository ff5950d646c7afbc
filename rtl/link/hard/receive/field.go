package receive

import "github.com/hilgpu/hilgpu/rtl/link/linkport"

// The length of the fixed fields of a hello, in bytes.
const (
	minFixed = 40
	maxFixed = 64
)

// MinDatagram is the size of the smallest datagram with room for the largest frame, in bytes:
// its length, head, acknowledgement, packet and check.
const MinDatagram = 2 + 4 + linkport.MaxPacket + checkBytes

// take takes byte k of the body of a frame.
func (m *Module) take(k, b uint8) {
	switch k {
	case 0:
		m.frame.Head = uint16(b)<<8 | m.frame.Head&0xff
	case 1:
		m.frame.Head = m.frame.Head&0xff00 | uint16(b)
		m.number(m.ahead(m.frame.Head))
		m.frame.Top = 0
	default:
	}
	if m.frame.Head&Data != 0 {
		if k == 2 {
			m.frame.Ack = uint16(b&0xf)<<8 | m.frame.Ack&0xff
		} else if k == 3 {
			m.frame.Ack = m.frame.Ack&0xf00 | uint16(b)
		}
		return
	}
	kind := uint8(m.frame.Head >> 12)
	m.hello(k)
	if kind == typeNak && k >= 2 && k < atUpdate {
		m.top(k-2, b)
	}
	if k < atUpdate || kind == typeHello && k < atCredits {
		m.field = m.field<<8 | uint64(b)
	}
}

// number takes the number of a data frame, as its distance from the oldest one that is not done
// with.
func (m *Module) number(ahead uint16) {
	waits := ahead < uint16(m.slots)
	m.frame.Again = waits && m.here>>(ahead&63)&1 != 0
	m.frame.Room = waits && !m.frame.Again
}

// top takes byte i of the marks of a Nak, at most 7.
func (m *Module) top(i, b uint8) {
	for j := range uint8(8) {
		if b>>j&1 != 0 {
			m.frame.Top = ((i&7)*8 + j + 1) & 127
		}
	}
}

// hello takes the fields of a hello that are complete before byte k.
func (m *Module) hello(k uint8) {
	low := uint32(m.field)
	switch k {
	case atFixed:
		flags := uint8(m.field >> 32)
		window := uint16(low)
		m.fixed = uint8(m.field >> 40)
		m.frame.Hello = m.fixed >= minFixed && m.fixed <= maxFixed && flags == 0 && low>>16 >= linkport.MaxPacket && window != 0
		m.frame.Window = uint8(min(window, MaxSlots)) & 127
	case atKept:
		m.frame.Keeps = uint16(low) != 0
	case atLargest:
		largest := uint16(low)
		m.frame.Fits = m.datagram == 0 || largest >= MinDatagram
		m.frame.Largest = min(largest, m.datagram)
	case atMap:
		m.frame.SameMap = low == 0 || m.mapHash == 0 || low == m.mapHash
	case atHost:
		m.frame.Host = low
	default:
	}
}
