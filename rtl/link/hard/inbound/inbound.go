// Package inbound is the transaction layer in RTL for packets of the host: requests for the
// GPU's target port, and completions of the GPU's reads.
package inbound

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// A state of the packet in work.
type state uint8

const (
	stateIdle     state = iota // waits for a packet
	stateHead                  // collects the header
	stateJudge                 // decides what the packet is
	stateChunk                 // cuts a request to the next multiple of 128 bytes
	stateWrite                 // offers the header of a write
	stateData                  // collects data of a write or a completion
	stateSingle                // collects a dword that is written byte by byte
	stateRun                   // picks the next enabled bytes of it
	stateRunWrite              // offers the header of their write
	stateRunData               // waits until their beat is taken
	stateRead                  // waits until the completion before it was sent
	stateAnswer                // tells what completion is to be made
	stateReadHead              // offers the header of a read
	stateLook                  // looks up a read of the GPU
	stateMatch                 // compares a completion with it
	stateUpdate                // counts what has arrived of it
	stateSweep                 // looks up the next read that may have expired
	stateExpire                // ends it, or notes that it was seen
	stateDone                  // frees the packet
)

// A Wish is what a completion for the host is made of.
type Wish uint8

// The wishes. Those from Refuse on need nothing of the GPU.
const (
	Nothing Wish = iota
	Data         // data of the GPU
	Silent       // the GPU answers; nothing is sent
	Flush        // zeros, if the register Command that the GPU returns has memory enabled
	Success      // no data
	Refuse       // unsupported
)

// An Answer is a completion to be made.
//
//	Wish    what of; Nothing: none
//	Len     dwords of data
//	High    the first dword is in the upper half of its beat
//	Class   byte 1 of the header
//	Attr    byte 2 of the header
//	Tag     of the request
//	Lower   address of the first byte, bits 6..0
//	Bytes   that remain, 4096 as 0
//	Requester  of the request
type Answer struct {
	Wish      Wish
	Len       uint8 `w:"6"`
	High      bool
	Class     uint8
	Attr      uint8
	Tag       uint8
	Lower     uint8  `w:"7"`
	Bytes     uint16 `w:"12"`
	Requester uint16
}

// An Issue is a read of the GPU that is taken.
//
//	Valid  there is one
//	Tag    of the GPU
//	Len    dwords
//	Lower  dword of its address, bits 6..2
//	Epoch  upper two bits of its tag for the host
type Issue struct {
	Valid bool
	Epoch uint8 `w:"2"`
	Tag   uint8 `w:"6"`
	Len   uint8 `w:"6"`
	Lower uint8 `w:"5"`
}

// An offer is data for the GPU: a beat of a write, or of a completion.
type offer struct {
	beat   bool
	last   bool
	cpl    port.Status
	tag    uint8 `w:"6"`
	enable uint8
	data   uint64
}

// Module turns packets into requests and completions.
//
//	In      p receive.Packet; up, a session is up; issue Issue; answered, no completion for the
//	        host waits for the GPU, and failed, the last one was a failure; expires, a pulse,
//	        reads that were sent before the last one end; reqReady, dataReady of the target
//	Out     Fetch, Release, for the receiver; Answer, a pulse; Target, Complete, for the GPU;
//	        ID, of the function; Epoch, of a read that is issued; Idle; Refused, a pulse
//	Timing  a byte of a packet in every clock, and about 12 clocks of overhead
//	Reset   no packet, no read of the GPU
//	Order   that of the packets. A read waits for the completion of the one before it
//	Paths   none
//	Size    64 words of 16 bits
//	Faults  a packet with a wrong size or wrong fields is dropped: Refused. A request that
//	        has a completion and is not supported is completed so. Without a session, and
//	        after the time-out, reads of the GPU are aborted
//	Source  PCIe 3.0 §2; bus/endpoint
type Module struct {
	table hdl.RAM // of the reads of the GPU, by tag
	due   uint64  // tags of reads without a completion
	epoch uint8   `w:"2"` // changes when a read has timed out; a part of the tag for the host
	late  bool    // a time-out is due
	sweep uint8   `w:"6"` // tag in a sweep
	lost  bool    // the sweep has aborted a read

	state  state
	at     uint8 `w:"4"` // byte of the header
	form   uint8 `w:"2"`
	mask   uint8 // groups of a short header that follow
	masked bool  // it was read
	left   uint8 // bytes of the packet that were not read
	short  bool  // there were too few
	hi, lo uint64
	wide   bool // the header has 16 bytes

	id     uint16
	dwords uint16 `w:"11"` // left
	chunk  uint8  `w:"6"`  // dwords of the present request
	dw     uint8  `w:"6"`  // of these, left
	first  uint8  `w:"4"`  // enables of the next dword
	last   uint8  `w:"4"`  // of the last one
	config bool   // a configuration request
	bytes  uint16 `w:"13"`
	lower  uint8  `w:"7"`
	wish   Wish
	parts  bool // a completion of the read was given to the GPU

	lane   uint8 `w:"3"` // of the next byte
	full   bool  // the data is complete
	half   bool  // it is only in the lower half
	gather uint64
	enable uint8
	run    uint8 `w:"4"` // enabled bytes that are written
	cpl    bool  // the data is of a completion
	out    offer

	refused bool
}

// New returns the module after reset.
func New() Module {
	m := Module{table: hdl.NewNarrowRAM(64, 16)}
	m.Reset()
	return m
}

// Reset drops the packet in work. The GPU is reset too.
func (m *Module) Reset() {
	m.due, m.epoch, m.late, m.sweep, m.lost = 0, 0, false, 0, false
	m.state, m.at, m.form, m.mask, m.masked, m.left, m.short = stateIdle, 0, 0, 0, false, 0, false
	m.hi, m.lo, m.wide, m.id = 0, 0, false, 0
	m.dwords, m.chunk, m.dw, m.first, m.last, m.config = 0, 0, 0, 0, 0, false
	m.bytes, m.lower, m.wish, m.parts = 0, 0, Nothing, false
	m.lane, m.full, m.half, m.gather, m.enable, m.run, m.cpl = 0, false, false, 0, 0, 0, false
	m.out, m.refused = offer{}, false
}

// Fetch reports whether the next byte of the packet is taken in this clock.
func (m *Module) Fetch() bool {
	switch m.state {
	case stateHead:
		return m.left != 0 && (!m.masked || m.present())
	case stateData:
		return m.moves()
	case stateSingle:
		return true
	default:
		return false
	}
}

// Release reports whether the packet is done with in this clock.
func (m *Module) Release() bool { return m.state == stateDone }

// moves reports whether a byte of data is taken in this clock.
func (m *Module) moves() bool { return m.dw != 0 && (!m.full || !m.out.beat) }

// Idle reports whether there is no packet in work and no read of the GPU.
func (m *Module) Idle() bool { return m.state == stateIdle && m.due == 0 }

// Free reports whether there is no packet in work.
func (m *Module) Free() bool {
	return m.state == stateIdle || m.state == stateSweep || m.state == stateExpire
}

// ID returns the bus, device and function of the board.
func (m *Module) ID() uint16 { return m.id }

// Epoch returns the upper two bits of the tag of a read that is issued.
func (m *Module) Epoch() uint8 { return m.epoch }

// Refused reports for one clock that a packet was dropped or refused.
func (m *Module) Refused() bool { return m.refused }

// Answer returns the completion to be made, for one clock.
func (m *Module) Answer() Answer {
	wish := Nothing
	if m.state == stateAnswer {
		wish = m.wish
	}
	return Answer{
		Wish: wish, Len: m.chunk, High: m.lo&4 != 0, Class: uint8(m.hi>>48) & 0xfc, Attr: uint8(m.hi>>40) & 0x30,
		Tag: uint8(m.hi >> 8), Lower: m.lower, Bytes: m.bytes & 0xfff, Requester: uint16(m.hi >> 16),
	}
}

// Target returns the inputs of the GPU's target port.
func (m *Module) Target() (req port.Request, beat port.Beat) {
	req = port.Request{Kind: port.None, Len: m.chunk, Addr: m.lo}
	switch m.state {
	case stateWrite:
		req.Kind = port.MemWrite
	case stateRunWrite:
		req.Kind = port.MemWrite
		if m.config {
			req.Kind = port.CfgWrite
		}
	case stateReadHead:
		req.Kind = port.MemRead
		if m.config {
			req.Kind = port.CfgRead
		}
	default:
	}
	return req, port.Beat{Valid: m.out.beat, Last: m.out.last, Enable: m.out.enable, Data: m.out.data}
}

// Complete returns a beat of a completion for the GPU's initiator port.
func (m *Module) Complete() port.Completion {
	return port.Completion{Tag: m.out.tag, Status: m.out.cpl, Last: m.out.last, Data: m.out.data}
}
