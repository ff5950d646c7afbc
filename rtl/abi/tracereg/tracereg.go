// Package tracereg declares the registers of a node's trace: the last packets that its
// command processor has executed. Those of node n are at Base + n*Stride.
package tracereg

import (
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base in BAR0, in bytes. Entry i is at i*Entry.
const (
	Base   = 0x1200
	Stride = 0x100
	Nodes  = 2

	Header = 0x0
	Time   = 0x4
	AddrLo = 0x8
	AddrHi = 0xc

	Entry   = 0x10
	Entries = 16
)

// Valid is the bit of ADDR_LO that is set in an entry with a packet. The address of a packet
// is a multiple of 4.
const Valid = 1 << 0

// Block returns the description of node n's registers.
func Block(n int) reg.Block {
	suffix := strconv.Itoa(n)
	needs := caps.Trace | [Nodes]caps.Set{0, caps.Node1}[n]
	return reg.Block{Name: "TRACE" + suffix, Base: Base + uint32(n)*Stride, Size: Stride, Needs: needs, Regs: registers(),
		Doc: "the last 16 packets that node " + suffix + " has executed, the newest in entry 0. A packet is in the trace when it has retired, an INDIRECT when its buffer begins. A packet that a PREDICATE skips, that is refused or that a preemption interrupts is not. A reset of the node keeps the trace, and ID.RESET clears it. The entries move with each packet, so read them while the node is idle or stopped"}
}

func registers() []reg.Reg {
	var rs []reg.Reg
	for i := range uint32(Entries) {
		suffix := strconv.Itoa(int(i))
		rs = append(rs,
			reg.Reg{Off: i*Entry + Header, Name: "HEADER" + suffix, Access: reg.RO, Volatile: true, Doc: "header dword of the packet in entry " + suffix + ", 0 if there is none"},
			reg.Reg{Off: i*Entry + Time, Name: "TIME" + suffix, Access: reg.RO, Volatile: true, Unit: "clocks", Doc: "low half of ID.TIME when it retired, or when the buffer of an INDIRECT began"},
			reg.Reg{Off: i*Entry + AddrLo, Name: "ADDR_LO" + suffix, Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "GPU address of its header, low half, and bit 0 set; 0 if there is no packet"},
			reg.Reg{Off: i*Entry + AddrHi, Name: "ADDR_HI" + suffix, Access: reg.RO, Volatile: true, Unit: "bytes", Doc: "high half"},
		)
	}
	return rs
}
