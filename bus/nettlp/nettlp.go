// Package nettlp carries PCIe packets as NetTLP does (github.com/NetTLP): each in one
// UDP datagram, to a device in software or from an adapter in a PC.
//
// A datagram is a header and a packet of the transaction layer. Its port depends on the
// tag of the packet; both ends use the same number.
//
//	bytes 0..1   number of the datagram, big-endian; libtlp sends 0
//	bytes 2..5   time stamp, big-endian; libtlp sends 0
//	from 6 on    the packet, as package tlp encodes it
//
//	0x3000 + tag         requests of the device, and their completions
//	0x4000 + tag mod 16  requests of the host, and their completions
//	0x2fff               questions of the device to the driver of the adapter
//
// A [Port] is the host's end, a [Device] that of a device.
//
// # Reliability
//
// Nothing acknowledges a datagram. A write that is lost, or arrives twice, cannot be
// noticed. A read that is lost fails after a time-out, and is not sent again because a
// read can have side effects. A completion must match its request in requester, tag,
// status, length, byte count and lower address; others are dropped and counted. A tag
// without an answer is not used again for a time that is longer than a datagram can be
// late.
//
// # Order
//
// A datagram that waits at one port can have been sent before one that waits at another.
// Both ends take all that wait, and then writes before everything else, as PCIe allows
// (PCIe 3.0 §2.4.1). The host sends all requests to one port.
package nettlp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hilgpu/hilgpu/bus"
)

// Notice tells what cannot be known of a link by NetTLP, in one line.
const Notice = "NetTLP acknowledges nothing: a write that is lost or repeated on the network is not noticed, and a lost read fails; use udp: or eth: between two hilgpu"

// The UDP ports.
const (
	DevicePorts = 0x3000 // first of 256: requests of the device and their completions
	HostPorts   = 0x4000 // first of 16: requests of the host and their completions
	MessagePort = 0x2fff // questions to the driver of the adapter
)

const (
	deviceTags = 256
	hostTags   = 16
)

// Layout of the window, which is BAR 4 of the adapter, in bytes.
const (
	WindowSize  = 256 << 20
	ApertureAt  = WindowSize / 2 // BAR 2 of the GPU; BAR 0 is at 0
	MaxAperture = WindowSize - ApertureAt
)

// Times of the options by default.
const (
	DefaultTimeout    = time.Second
	DefaultQuarantine = 10 * time.Second
)

// rest is the time before a tag that was answered is used again by a device: a repeated
// datagram is not later.
const rest = 10 * time.Millisecond

// Error kinds.
var (
	ErrFrame   = errors.New("nettlp: bad datagram")
	ErrAddress = errors.New("nettlp: bad address")
	ErrSystem  = errors.New("nettlp: NetTLP is available on Linux only")
	ErrPeer    = fmt.Errorf("%w: nettlp: no device at the address", bus.ErrLinkDown) // its system refuses requests
)

// An Ends names both ends of a link. Local may be invalid: the address of this machine
// that the system uses towards Peer.
type Ends struct {
	Local, Peer netip.Addr
}

// Stats counts datagrams since the end was opened.
type Stats struct {
	Sent     uint64
	Received uint64
	Timeouts uint64 // reads of this end without an answer

	Refused [refusals]uint64 // by Refusal
	Last    string           // last refused datagram and the reason, or ""
}

// A Refusal is why a datagram was refused.
type Refusal uint8

// The refusals.
const (
	Malformed  Refusal = iota // not a packet, or of a kind that NetTLP does not carry
	WrongPort                 // not at the port of its tag
	Unexpected                // completion without a request that waits
	Mismatch                  // completion that does not match its request
	Disabled                  // request of a device that may not access memory, or outside of BAR 4
	refusals
)

// String returns the reason in words.
func (r Refusal) String() string {
	if r < refusals {
		return [...]string{"malformed", "wrong port", "unexpected", "mismatch", "disabled"}[r]
	}
	return fmt.Sprintf("refusal %d", uint8(r))
}

// refuse counts a refused datagram.
func (s *Stats) refuse(why Refusal, format string, args ...any) {
	s.Refused[why]++
	s.Last = fmt.Sprintf("%v: %s", why, fmt.Sprintf(format, args...))
}

// All returns the number of refused datagrams.
func (s Stats) All() (n uint64) {
	for _, r := range s.Refused {
		n += r
	}
	return n
}
