// Package linkreg declares the registers of the link (LINK): a vendor-specific extended
// capability in configuration space (PCIe 3.0 §7.19), which a board with a link in hardware
// answers in place of its GPU.
package linkreg

import "github.com/hilgpu/hilgpu/rtl/abi/reg"

// Offsets from Base in configuration space, in bytes. A device without the capability reads
// as 0 at Base: a header without an ID (PCIe 3.0 §7.9.1).
const (
	Base = 0x100
	Size = 0x80

	Header = 0x00
	VSEC   = 0x04
	State  = 0x08
	Rate   = 0x0c
	Clock  = 0x10

	Station = 0x14 // the addresses of a station, from here on
	MACLow  = 0x18
	IP      = 0x1c

	MAC      = 0x20 // eight counters, in the order of rtl/eth
	Counters = 0x40 // of the link
	UART     = 0x60 // counters of the UART
)

// Values of Header and VSEC.
const (
	CapID    = 0x000b // extended capability ID: vendor-specific
	Version  = 1
	ID       = 0x4c4b
	Revision = 1

	HeaderValue = CapID | Version<<16 // the last capability
	VSECValue   = ID | Revision<<16 | Size<<20
)

// Fields of State and of Rate.
const (
	StateUp    = 1 << 0
	StateCause = 7 << 4
	StateUART  = 1 << 8
	StateMAC   = 1 << 9

	StationMAC  = 0xffff // bytes 0 and 1 of the MAC address
	StationPort = 0xffff << 16

	RatePeriod = 0xffff
)

// Places of the counters from Counters, in dwords.
const (
	Sessions = iota
	Received
	Refused
	Repeated
	Naks
	Packets
	NumCounters
)

// Places of the counters from UART, in dwords.
const (
	Framing = iota
	Glitches
	Breaks
	NumUART
)

// NumMAC is the number of counters from MAC on.
const NumMAC = 8

// Block describes the registers. Its base is in configuration space.
var Block = reg.Block{Name: "LINK", Base: Base, Size: Size, Doc: "link between the host and the GPU", Regs: []reg.Reg{
	{Off: Header, Name: "HEADER", Reset: HeaderValue, Doc: "extended capability (PCIe 3.0 §7.9.3). 0 on a device without these registers", Fields: []reg.Field{
		{Mask: 0xffff, Name: "ID", Doc: "vendor-specific"},
		{Mask: 0xf << 16, Name: "VERSION", Doc: "of the capability"},
		{Mask: 0xfff << 20, Name: "NEXT", Unit: "bytes", Doc: "offset of the next capability; 0: none"},
	}},
	{Off: VSEC, Name: "VSEC", Reset: VSECValue, Doc: "vendor-specific header (PCIe 3.0 §7.19.2)", Fields: []reg.Field{
		{Mask: 0xffff, Name: "ID", Doc: "of this layout"},
		{Mask: 0xf << 16, Name: "REV", Doc: "of this layout"},
		{Mask: 0xfff << 20, Name: "LENGTH", Unit: "bytes", Doc: "of the capability, both headers included"},
	}},
	{Off: State, Name: "STATE", Config: true, Volatile: true, Doc: "state of the link", Fields: []reg.Field{
		{Mask: StateUp, Name: "UP", Doc: "a session is up"},
		{Mask: StateCause, Name: "CAUSE", Enum: Causes, Doc: "why the last session ended"},
		{Mask: StateUART, Name: "UART", Doc: "the line is that of a UART: RATE and the counters from FRAMING on are present"},
		{Mask: StateMAC, Name: "MAC", Doc: "the line is an Ethernet: the addresses and the counters from RUNTS to INVALID are present"},
	}},
	{Off: Rate, Name: "RATE", Config: true, Volatile: true, Doc: "present rate of the UART: CLOCK * 16 / PERIOD bits per second", Fields: []reg.Field{
		{Mask: RatePeriod, Name: "PERIOD", Unit: "1/16 clocks", Doc: "of a bit; 0 on Ethernet"},
	}},
	{Off: Clock, Name: "CLOCK", Config: true, Unit: "Hz", Doc: "clock of the link"},
	{Off: Station, Name: "STATION", Config: true, Doc: "port of the station, and its MAC address. The first byte of an address is the most significant one", Fields: []reg.Field{
		{Mask: StationMAC, Name: "MAC_HI", Doc: "bytes 0 and 1 of the MAC address"},
		{Mask: StationPort, Name: "PORT", Doc: "UDP port"},
	}},
	{Off: MACLow, Name: "MAC_LO", Config: true, Doc: "bytes 2 to 5 of the MAC address"},
	{Off: IP, Name: "IP", Config: true, Doc: "IPv4 address"},
	counter(MAC+4*0, "RUNTS", "carriers with less than 64 bytes, or without a delimiter"),
	counter(MAC+4*1, "OVERSIZED", "Ethernet frames above 1518 bytes"),
	counter(MAC+4*2, "BAD", "Ethernet frames with a wrong FCS, or with an error of the PHY"),
	counter(MAC+4*3, "FILTERED", "good Ethernet frames for others"),
	counter(MAC+4*4, "GOOD", "good Ethernet frames for this board or for all"),
	counter(MAC+4*5, "NO_ROOM", "of these, dropped because the buffer was full"),
	counter(MAC+4*6, "IGNORED", "of these, for another IP address, or of another protocol"),
	counter(MAC+4*7, "INVALID", "of these, fragments, IP options, and wrong lengths and checksums"),
	counter(Counters+4*Sessions, "SESSIONS", "sessions that began since the reset"),
	counter(Counters+4*Received, "RECEIVED", "frames of the session that had a right check, without the one that began it"),
	counter(Counters+4*Refused, "REFUSED", "pieces of the line that were no frame, frames with a wrong check or of no session, and data frames out of order"),
	counter(Counters+4*Repeated, "REPEATED", "data frames that were sent again"),
	counter(Counters+4*Naks, "NAKS", "requests to send frames again"),
	counter(Counters+4*Packets, "PACKETS", "packets in good frames that were dropped or refused"),
	counter(UART+4*Framing, "FRAMING", "bytes whose stop bit was low"),
	counter(UART+4*Glitches, "GLITCHES", "levels shorter than half a bit"),
	counter(UART+4*Breaks, "BREAKS", "times that the line was low for two bytes"),
}}

// Causes are the names of the values of STATE.CAUSE, those of linkport.Cause.
var Causes = []string{"NONE", "CLOSED", "REPLAY", "DEAD", "PROTOCOL", "NEW_SESSION"}

// counter describes a counter, modulo 2^16.
func counter(off uint32, name, doc string) reg.Reg {
	return reg.Reg{Off: off, Name: name, Volatile: true, Doc: doc}
}
