// Package linkport declares the ports of the blocks of a link.
package linkport

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// MaxPacket is the size of the largest packet of a hardwired link, in bytes: a header of 16
// and a payload of 128.
const MaxPacket = 144

// Place returns the address of a byte of a packet in a memory with MaxPacket bytes a slot.
func Place(slot, at uint8) uint32 { return uint32(slot)<<7 + uint32(slot)<<4 + uint32(at) }

// GPU is the outputs of the GPU's two ports: a completion of its target port, a header and
// a beat of its initiator port.
type GPU struct {
	Cpl  port.Completion
	Req  port.Request
	Beat port.Beat
}

// Byte is a byte that has arrived on a line.
//
//	Valid   there is a byte
//	Broken  a byte was lost: the frame in work is damaged
//	Data    the byte
type Byte struct {
	Valid  bool
	Broken bool
	Data   uint8
}

// Piece is what a framing has found in a clock. A frame is its bytes, each in a clock, and
// then End.
//
//	Valid    there is a byte of a frame
//	End      the frame is complete; there is no byte in this clock
//	Damaged  the bytes since the last frame are no frame
//	Data     the byte
type Piece struct {
	Valid   bool
	End     bool
	Damaged bool
	Data    uint8
}

// Sent is a byte of a frame for a framing, valid/ready.
//
//	Valid  there is a byte
//	Last   it is the last one of its frame
//	Size   bytes of its frame
//	Data   the byte
type Sent struct {
	Valid bool
	Last  bool
	Size  uint8
	Data  uint8
}

// A Cause is why a session ended.
type Cause uint8

// The causes. Those to Protocol have the number of a Down frame.
const (
	NoCause    Cause = iota // there was none
	Closed                  // the host closed it
	Replay                  // the limit of replays was reached
	Dead                    // nothing was received
	Protocol                // the host reported a violation
	NewSession              // the host began another one
)

// A Status is the state of the link. The fields from Began on are pulses, to be counted: each
// is set for a clock.
//
//	Up        a session is up
//	Cause     why the last session ended
//	Began     a session has begun
//	Received  a frame of the session has arrived
//	Refused   a frame was damaged, of no session, or not the next one
//	Repeated  a data frame is sent again
//	Nak       one is sent
//	Packet    a packet was dropped or refused
type Status struct {
	Up       bool
	Cause    Cause
	Began    bool
	Received bool
	Refused  bool
	Repeated bool
	Nak      bool
	Packet   bool
}
