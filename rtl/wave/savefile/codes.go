package savefile

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/noc"
)

// codes are the names of a number's values. A name is "" if the value has none.
type codes struct {
	name  string
	width int // of the number, in bits
	names []string
	fault bool // each value but 0 is a fault
}

// allCodes returns the codes of every kind, from the tables of packets and registers.
func allCodes() []codes {
	return []codes{
		{"opcode", 8, opcodes(), false},
		{"format", 3, formats(), false},
		{"cause", 4, cpreg.Causes, true},
		{"access", 2, accesses(), true},
		{"writer", 2, writers(), false},
	}
}

// opcodes returns the names of the packets.
func opcodes() []string {
	names := make([]string, 256)
	for _, l := range pkt.Table {
		names[l.Op] = l.Name
	}
	return names
}

// formats returns the names of the formats of a surface.
func formats() []string {
	l, _ := pkt.Lookup(uint8(pkt.OpSetState))
	for _, f := range l.Fields {
		if f.Name == "Format" {
			return f.Enum
		}
	}
	panic("savefile: no field Format")
}

// accesses returns the causes that the PCIe function knows for a refused access.
func accesses() []string {
	for _, r := range idreg.Block.Regs {
		for _, f := range r.Fields {
			if r.Off == idreg.ErrInfo && f.Mask == idreg.ErrInfoCause {
				return f.Enum[:idreg.ErrDecode+1]
			}
		}
	}
	panic("savefile: no field CAUSE")
}

// writers returns the names of the blocks that write host memory.
func writers() []string {
	return []string{noc.WriteDMA: "DMA", noc.WriteFence0: "FENCE0", noc.WriteFence1: "FENCE1", noc.WriteMessage: "MESSAGE"}
}
