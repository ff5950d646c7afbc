// Package cobs is the framing of a byte stream at the board's end of a link: frames are
// stuffed and have a delimiter after them. See docs/design.md "Link layers", Frames.
package cobs

import "github.com/hilgpu/hilgpu/rtl/link/linkport"

// textKind is the first byte of a piece of text.
const textKind = 255

// Decoder finds frames in a stream of bytes and removes the stuffing.
//
//	In      in linkport.Byte, also one in every clock
//	Out     Piece
//	Timing  a byte of a frame follows a clock after its byte on the line
//	Reset   no frame in work
//	Order   that of the line
//	Paths   none
//	Size    22 bits
//	Faults  a frame with wrong stuffing, or in which a byte was lost, is Damaged. Text is
//	        dropped. The size of a frame is for the receiver to check
//	Source  Cheshire and Baker, Consistent Overhead Byte Stuffing, IEEE/ACM Transactions
//	        on Networking 7(2), 1999
type Decoder struct {
	begun bool  // inside a piece
	skips bool  // the rest of the piece is dropped
	left  uint8 // bytes left of a group, and 1
	out   linkport.Piece
}

// NewDecoder returns a decoder after reset.
func NewDecoder() Decoder {
	var m Decoder
	m.Reset()
	return m
}

// Reset drops the frame in work.
func (m *Decoder) Reset() { m.begun, m.skips, m.left, m.out = false, false, 1, linkport.Piece{} }

// Piece returns what was found in the last clock.
func (m *Decoder) Piece() linkport.Piece { return m.out }

// Tick is one rising clock edge.
func (m *Decoder) Tick(in linkport.Byte) {
	zero, group := in.Data == 0, m.left == 1
	ends := in.Valid && zero && m.begun && !m.skips
	m.out = linkport.Piece{
		Valid:   in.Valid && !zero && m.begun && !m.skips && !in.Broken,
		End:     ends && group && !in.Broken,
		Damaged: ends && !group || in.Broken && !m.skips,
	}
	if !group {
		m.out.Data = in.Data // the code of a group is the zero before it
	}
	if in.Valid {
		m.left--
		if zero {
			m.left = 1
		} else if group {
			m.left = in.Data
		}
	}
	if in.Valid && zero {
		m.begun, m.skips = false, false
	} else if in.Broken {
		m.begun, m.skips = true, true
	} else if in.Valid {
		m.skips = m.skips || !m.begun && in.Data == textKind
		m.begun = true
	}
}
