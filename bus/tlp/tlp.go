// Package tlp is the codec of PCI Express transaction-layer packets (PCIe 3.0
// §2.2) for an endpoint and a root port: memory and type-0 configuration
// requests, their completions, and INTx and vendor-defined messages. Every
// other type is recognised and refused.
//
// A packet is in network order, as in the specification: byte 0 of the header
// first, header fields big-endian, the payload in memory order.
//
//	byte 0        byte 1                     byte 2             byte 3
//	Fmt 7..5      T9 7  TC 6..4  T8 3        TD 7  EP 6         Length 7..0
//	Type 4..0     Attr2 2  R 1  TH 0         Attr 5..4  AT 3..2
//	                                         Length 9..8
//
// Design note: the specification allows a receiver to ignore reserved bits.
// This one refuses them, as all of hilgpu does, so that a decoded packet
// encodes to the same bytes and a defect of the peer is detected early.
package tlp

import (
	"errors"
	"fmt"
)

// MaxLen is the largest length of a packet, in dwords.
const MaxLen = 1024

// MaxSize is the largest size of a packet in bytes: header, payload, digest.
const MaxSize = 16 + 4*MaxLen + 4

// Number of tags of a requester: five bits unless the Extended Tag Field is
// enabled, then eight (PCIe 3.0 §2.2.6.2, §7.8.4), or ten where both ends have
// 10-bit tags; the 256 tags that fit in eight bits are then not used (PCIe 4.0
// §2.2.6.2).
const (
	Tags         = 32
	TagsExtended = 256
	TagsTenBit   = 768
)

// Error kinds. An unsupported request is completed with status UR if it is
// non-posted. A malformed one is not completed, because none of its fields can
// be trusted (PCIe 3.0 §2.3, §6.2.3).
var (
	ErrMalformed   = errors.New("tlp: malformed")
	ErrUnsupported = errors.New("tlp: unsupported request")
)

// A Kind is the format and type in the header of a packet.
type Kind uint8

// The kinds. The first ten can be encoded and decoded; the others are only
// named.
const (
	None Kind = iota
	MRd32
	MRd64
	MWr32
	MWr64
	CfgRd0
	CfgWr0
	Cpl
	CplD
	Msg
	MsgD

	MRdLk32
	MRdLk64
	IORd
	IOWr
	CfgRd1
	CfgWr1
	TCfgRd
	TCfgWr
	CplLk
	CplDLk
	FetchAdd32
	FetchAdd64
	Swap32
	Swap64
	CAS32
	CAS64
	kinds
)

// Supported reports whether packets of the kind can be encoded and decoded.
func (k Kind) Supported() bool { return k > None && k < MRdLk32 }

// HasData reports whether packets of the kind have a payload.
func (k Kind) HasData() bool { return k < kinds && table[k].fmt&fmtData != 0 }

// HeaderLen returns the size of the header in bytes, 12 or 16; 0 for None.
func (k Kind) HeaderLen() int {
	switch {
	case k == None || k >= kinds:
		return 0
	case table[k].fmt&fmtLong != 0:
		return 16
	}
	return 12
}

// Class returns the flow-control class of the kind.
func (k Kind) Class() Class {
	switch k {
	case MWr32, MWr64, Msg, MsgD:
		return Posted
	case Cpl, CplD, CplLk, CplDLk:
		return Completion
	}
	return NonPosted
}

// String returns the specification's name, with the address width.
func (k Kind) String() string {
	if k < kinds {
		return table[k].name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// A Class is one of the three flow-control classes (PCIe 3.0 §2.6.1).
type Class uint8

// The classes. A posted request has no completion.
const (
	Posted Class = iota
	NonPosted
	Completion
)

// String returns P, NP or Cpl.
func (c Class) String() string { return [...]string{"P", "NP", "Cpl"}[min(c, Completion)] }

// An ID names a function: bus 15..8, device 7..3, function 2..0.
type ID uint16

// MakeID returns the ID of a function; bits out of range are dropped.
func MakeID(bus, device, function uint8) ID {
	return ID(bus)<<8 | ID(device&31)<<3 | ID(function&7)
}

// String returns the ID as bus:device.function.
func (i ID) String() string { return fmt.Sprintf("%02x:%02x.%d", uint8(i>>8), uint8(i>>3)&31, i&7) }

// Attr are the attributes of a packet (PCIe 3.0 §2.2.6.3).
type Attr uint8

// The attributes.
const (
	NoSnoop Attr = 1 << iota
	RelaxedOrdering
	IDOrdering
)

// A Status is the status of a completion (PCIe 3.0 §2.2.9). Values not declared
// here are reserved and mean UR; see Effective.
type Status uint8

// The statuses.
const (
	SC  Status = 0 // successful completion
	UR  Status = 1 // unsupported request
	CRS Status = 2 // configuration request retry status
	CA  Status = 4 // completer abort
)

// Effective returns the status as a requester interprets it: s, or UR for a
// reserved value (PCIe 3.0 §2.3.2).
func (s Status) Effective() Status {
	switch s {
	case SC, CRS, CA:
		return s
	}
	return UR
}

// String returns the specification's abbreviation.
func (s Status) String() string {
	switch s {
	case SC:
		return "SC"
	case UR:
		return "UR"
	case CRS:
		return "CRS"
	case CA:
		return "CA"
	}
	return fmt.Sprintf("reserved%d", uint8(s))
}

// A Code is the code of a message (PCIe 3.0 §2.2.8).
type Code uint8

// The supported codes: the messages that replace the INTx wires (§2.2.8.1),
// where the code of a wire is that of INTA plus 0 to 3, and the vendor-defined
// messages (§2.2.8.6).
const (
	AssertINTA   Code = 0x20
	DeassertINTA Code = 0x24
	Vendor0      Code = 0x7e // receivers that do not know it report UR
	Vendor1      Code = 0x7f // receivers that do not know it drop it
)

// INTx returns the wire, 0 for INTA to 3 for INTD, and whether the message
// asserts it; ok is false if c is not an INTx code.
func (c Code) INTx() (wire int, assert, ok bool) {
	if c < AssertINTA || c > DeassertINTA+3 {
		return 0, false, false
	}
	return int(c & 3), c < DeassertINTA, true
}

// A Route is the routing of a message (PCIe 3.0 §2.2.8).
type Route uint8

// The routes of the supported messages.
const (
	ToRoot    Route = 0
	ByID      Route = 2
	Broadcast Route = 3
	Local     Route = 4 // INTx
)

// A Packet is one transaction-layer packet. Fields that its kind does not have
// are zero.
//
//	Kind       format and type
//	TC         traffic class, 0 to 7
//	Attr       attributes
//	EP         the payload is poisoned and must not be used
//	TD         a 4-byte digest follows the payload; it is not checked
//	Len        dwords, 1 to MaxLen: of the payload, or requested by a read;
//	           0 where the length is reserved: Cpl and Msg
//	Requester  function that sent the request
//	Tag        of the transaction, 0 to 1023; above 255 only with 10-bit tags
//	First      enables of the bytes of the first dword, bit i for byte i
//	Last       enables of the bytes of the last dword, 0 if Len is 1
//	Addr       in bytes, a multiple of 4; for configuration the offset, 0 to 0xffc
//	Completer  completing function; for configuration the addressed function
//	Status     completion status
//	BCM        byte count modified, set by PCI-X completers only
//	ByteCount  bytes remaining, including this packet, 1 to 4096
//	Lower      address of the first byte of a completion, bits 6..0
//	Code       of a message
//	Route      of a message
//	Vendor     bytes 8 to 15 of the header of a vendor-defined message
//	Data       payload, 4*Len bytes in memory order
//	Digest     if TD is set
type Packet struct {
	Kind      Kind
	TC        uint8
	Attr      Attr
	EP        bool
	TD        bool
	Len       int
	Requester ID
	Tag       uint16
	First     uint8
	Last      uint8
	Addr      uint64
	Completer ID
	Status    Status
	BCM       bool
	ByteCount int
	Lower     uint8
	Code      Code
	Route     Route
	Vendor    uint64
	Data      []byte
	Digest    uint32
}

// Size returns the size of the encoded packet in bytes.
func (p *Packet) Size() int {
	n := p.Kind.HeaderLen()
	if p.Kind.HasData() {
		n += 4 * p.Len
	}
	if p.TD {
		n += 4
	}
	return n
}

// IsMemory reports whether p is a memory request.
func (p *Packet) IsMemory() bool { return p.Kind >= MRd32 && p.Kind <= MWr64 }

// IsConfig reports whether p is a configuration request of type 0.
func (p *Packet) IsConfig() bool { return p.Kind == CfgRd0 || p.Kind == CfgWr0 }

// IsCompletion reports whether p is a completion, with or without data.
func (p *Packet) IsCompletion() bool { return p.Kind == Cpl || p.Kind == CplD }

// IsMessage reports whether p is a message, with or without data.
func (p *Packet) IsMessage() bool { return p.Kind == Msg || p.Kind == MsgD }
