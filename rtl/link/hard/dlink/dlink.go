// Package dlink is the data link and the transaction layer of a board in RTL: between
// frames, whatever delimits them, and the two ports of a GPU.
package dlink

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/hard/inbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/outbound"
	"github.com/hilgpu/hilgpu/rtl/link/hard/receive"
	"github.com/hilgpu/hilgpu/rtl/link/hard/transmit"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// MaxFrame is the size of the largest frame of the board, in bytes: the largest packet, with
// head, acknowledgement and check.
const MaxFrame = linkport.MaxPacket + 8

// MinDatagram is the size of the smallest datagram with that frame, in bytes: its length comes
// first.
const MinDatagram = receive.MinDatagram

// Version is the version of the frames, that of bus/datalink.
const Version = 3

// Config configures a link. A tick is the unit of its times, and on a line that is slower
// for now the units of Replay and Nak are several.
//
//	MapHash     hash of the register map; 0: any
//	Window      frames in flight from the host, a power of two to 64
//	Send        frames in flight to the host, at most 64; 0: Window
//	Datagram    bytes of the largest datagram, at least MinDatagram; 0: a stream of bytes
//	TickClocks  clocks of a tick, 1 to 2^20
//	TickMicros  microseconds of a tick, rounded up
//	Ack         ticks that an acknowledgement waits for a frame to carry it, 1 to 255
//	Replay      units after which frames are sent again, more than the delay of the host's
//	            acknowledgement and the time of a window on the line, 1 to 255
//	Limit       replays without an acknowledgement after which the link goes down, 1 to 255
//	Nak         units between Naks for one gap, 1 to 255
//	Ping        ticks of silence after which the host is pinged, a power of two to 2^15
//	Dead        ticks of silence after which the link goes down, 1 to 2^16-1
//	Expiry      ticks after which a read of the GPU ends without a completion, and at most
//	            twice that, 1 to 2^16-1
type Config struct {
	MapHash    uint32
	Window     int
	Send       int
	Datagram   uint16
	TickClocks uint32
	TickMicros uint32
	Ack        uint8
	Replay     uint8
	Limit      uint8
	Nak        uint8
	Ping       uint16
	Dead       uint16
	Expiry     uint16
}

// Module is the data link and the transaction layer.
//
//	In      in linkport.Piece; ready, the byte for the framing is taken; gpu linkport.GPU;
//	        reqReady, dataReady, whether the GPU's target port takes a header and a beat;
//	        slow, the ticks by which a unit of Replay and Nak is longer than a tick
//	Out     Sent, for the framing, valid/ready, and Largest, bytes of a datagram at most;
//	        Target, Takes, Complete, for the GPU; Status
//	Timing  a byte in every clock in each direction
//	Reset   no session: the GPU's writes are lost and its reads are aborted
//	Order   that of PCIe, see outbound.Module
//	Paths   none
//	Size    146 bytes a frame of each window
//	Faults  a frame whose check is wrong sets only Status.Refused and may cause a Nak
//	Source  docs/design.md "Link layers"; bus/datalink
type Module struct {
	cfg   Config
	slots uint8 // of the replay buffer
	every uint8 // frames that are acknowledged without waiting

	rx   receive.Module
	tx   transmit.Module
	down inbound.Module
	up   outbound.Module

	time    clock
	session session
	send    sender
	ack     acknowledger
	credit  credits
	status  linkport.Status
}

// New returns a link after reset.
func New(c Config) Module {
	if c.Send == 0 {
		c.Send = c.Window
	}
	hdl.Assert(c.Datagram == 0 || c.Datagram >= MinDatagram && c.Datagram < 1<<12, "dlink: a datagram without room for a frame, or above 4095 bytes")
	hdl.Assert(c.TickClocks >= 1 && c.TickClocks <= 1<<20, "dlink: a tick of 0 clocks or more than 2^20")
	hdl.Assert(c.Ack > 0 && c.Replay > 0 && c.Limit > 0 && c.Nak > 0 && c.Ping > 0 && c.Ping&(c.Ping-1) == 0 && c.Dead > c.Ping && c.Expiry > 0, "dlink: a time of 0, or a period of pings that is no power of two")
	g := transmit.Greeting{MaxPacket: linkport.MaxPacket, Window: uint8(c.Window), Datagram: c.Datagram, AckMicros: uint32(c.Ack) * c.TickMicros, MapHash: c.MapHash}
	m := Module{
		cfg: c, rx: receive.New(c.Window, c.Datagram, c.MapHash), tx: transmit.New(c.Send, g), down: inbound.New(), up: outbound.New(),
		slots: uint8(c.Send), every: uint8(min(mostUnacked, max(1, c.Window/2))),
	}
	m.Reset()
	return m
}

// Reset ends the session.
func (m *Module) Reset() {
	m.rx.Reset()
	m.tx.Reset()
	m.down.Reset()
	m.up.Reset()
	m.time, m.session, m.send, m.ack, m.credit, m.status = clock{}, session{}, sender{}, acknowledger{}, credits{}, linkport.Status{}
}

// Sent returns a byte for the framing.
func (m *Module) Sent() linkport.Sent { return m.tx.Byte() }

// Largest returns the bytes of the largest datagram that may be sent, 0 of a stream. It is the
// smaller one of both ends in a session, and MinDatagram without one.
func (m *Module) Largest() uint16 {
	switch {
	case m.cfg.Datagram == 0:
		return 0
	case m.status.Up:
		return m.session.largest
	default:
		return MinDatagram
	}
}

// Target returns the inputs of the GPU's target port.
func (m *Module) Target() (req port.Request, beat port.Beat) { return m.down.Target() }

// Takes reports which outputs of the GPU are taken in this clock.
func (m *Module) Takes() (cpl, req, beat bool) { return m.up.Takes() }

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion { return m.down.Complete() }

// Status returns the state of the link.
func (m *Module) Status() linkport.Status { return m.status }
