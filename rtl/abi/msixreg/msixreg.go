// Package msixreg declares the MSI-X table and pending bits in BAR0 (PCI 3.0
// §6.8.2). The entry of vector v is at Base + v*Stride.
package msixreg

import (
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// Offsets from Base + v*Stride in BAR0, in bytes, and field masks.
const (
	Base   = pcicfg.MSIXTableOffset
	Stride = 0x10

	AddrLo  = 0x0
	AddrHi  = 0x4
	Data    = 0x8
	Control = 0xc

	ControlMask = 1 << 0

	PendingBase = pcicfg.MSIXPendingOffset
)

// Table describes the vector table.
var Table = reg.Block{Name: "MSIX", Base: Base, Size: Stride * pcicfg.Vectors, Doc: "MSI-X vector table", Regs: entries()}

// Pending describes the pending bits.
var Pending = reg.Block{Name: "PBA", Base: PendingBase, Size: 8, Doc: "MSI-X pending bits", Regs: []reg.Reg{
	{Off: 0, Name: "PENDING_LO", Access: reg.RO, Volatile: true, Doc: "bit v: vector v waits for its mask to clear"},
	{Off: 4, Name: "PENDING_HI", Access: reg.RO, Doc: "always 0"},
}}

func entries() []reg.Reg {
	var rs []reg.Reg
	for v := range uint32(pcicfg.Vectors) {
		n := strconv.Itoa(int(v))
		rs = append(rs,
			reg.Reg{Off: v*Stride + AddrLo, Name: "ADDR_LO" + n, Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "host address of the message, a multiple of 4, low half"},
			reg.Reg{Off: v*Stride + AddrHi, Name: "ADDR_HI" + n, Access: reg.RW, Poke: reg.Destructive, Unit: "bytes", Doc: "high half; address bits from ID.HOST_BITS on are not sent"},
			reg.Reg{Off: v*Stride + Data, Name: "DATA" + n, Access: reg.RW, Poke: reg.Destructive, Doc: "data of the message"},
			reg.Reg{Off: v*Stride + Control, Name: "CONTROL" + n, Access: reg.RW, Poke: reg.Idle, Reset: ControlMask, Doc: "vector control", Fields: []reg.Field{
				{Mask: ControlMask, Name: "MASK", Doc: "1: the vector is held pending"},
			}},
		)
	}
	return rs
}
