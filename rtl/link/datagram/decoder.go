// Package datagram is the framing of datagrams at the board's end of a link: a datagram has
// frames, each after its length in bytes, a big-endian word of 16 bits. See docs/design.md
// "Link layers", Datagrams.
package datagram

import "github.com/hilgpu/hilgpu/rtl/link/linkport"

// An Arrived is a byte of a datagram that has arrived.
//
//	Valid    there is a byte
//	Last     it is the last one of its datagram
//	Foreign  of the first byte: the datagram is dropped
//	Data     the byte
type Arrived struct {
	Valid   bool
	Last    bool
	Foreign bool
	Data    uint8
}

type place uint8

const (
	placeHigh place = iota // of the length
	placeLow
	placeBody
	placeRest // the rest of the datagram is dropped
)

// Decoder finds the frames of datagrams.
//
//	In      in Arrived, also one in every clock
//	Out     Piece
//	Timing  a byte of a frame follows a clock after its byte in the datagram
//	Reset   before a datagram
//	Order   that of the datagrams
//	Paths   none
//	Size    33 bits
//	Faults  a frame without bytes, or one that its datagram cuts off, is Damaged, and so are
//	        bytes after the last frame. The size of a frame is for the receiver to check
//	Source  docs/design.md "Link layers", Datagrams
type Decoder struct {
	place  place
	left   uint16 // bytes of the frame to come
	begun  bool   // inside a datagram
	whole  bool   // a frame has ended
	broken bool   // a frame was cut off
	out    linkport.Piece
}

// NewDecoder returns a decoder after reset.
func NewDecoder() Decoder { return Decoder{} }

// Reset drops the datagram in work.
func (m *Decoder) Reset() {
	m.place, m.begun, m.whole, m.broken, m.out = placeHigh, false, false, false, linkport.Piece{}
}

// Piece returns what was found in the last clock.
func (m *Decoder) Piece() linkport.Piece { return m.out }

// Tick is one rising clock edge.
func (m *Decoder) Tick(in Arrived) {
	body := in.Valid && m.place == placeBody
	ends := body && m.left == 1
	empty := in.Valid && m.place == placeLow && m.left == 0 && in.Data == 0
	foreign := in.Foreign && !m.begun
	cut := in.Valid && in.Last && m.place != placeRest && !ends && !foreign
	m.out = linkport.Piece{Valid: body, End: m.whole, Damaged: m.broken, Data: in.Data}
	m.whole, m.broken = ends, cut || empty
	if !in.Valid {
		return
	}
	m.begun = !in.Last
	switch {
	case in.Last:
		m.place = placeHigh
	case foreign || empty:
		m.place = placeRest
	case m.place == placeHigh:
		m.place, m.left = placeLow, uint16(in.Data)<<8
	case m.place == placeLow:
		m.place, m.left = placeBody, m.left|uint16(in.Data)
	case ends:
		m.place = placeHigh
	case body:
		m.left--
	default:
	}
}
