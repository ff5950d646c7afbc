package mcu

import (
	"fmt"
	"strings"
)

// Numbers of registers as GDB has them: x0 to x31 are 0 to 31, pc is NumberPC, and a CSR is its
// own number after NumberCSR.
const (
	NumberPC  = 32
	NumberCSR = 65
)

// A CSR is a control and status register.
type CSR struct {
	Number uint16
	Name   string
}

// CSRs returns the CSRs that a debugger shows, by number (Privileged Architecture 20211203,
// tables 2.5 and 2.6).
func CSRs() []CSR {
	return []CSR{
		{0x300, "mstatus"}, {0x301, "misa"}, {0x304, "mie"}, {0x305, "mtvec"},
		{0x340, "mscratch"}, {0x341, "mepc"}, {0x342, "mcause"}, {0x343, "mtval"}, {0x344, "mip"},
		{0xb00, "mcycle"}, {0xb02, "minstret"}, {0xb80, "mcycleh"}, {0xb82, "minstreth"},
	}
}

// Description returns the target description for GDB (Debugging with GDB, appendix G, "Target
// Descriptions").
func Description() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
<architecture>riscv:rv32</architecture>
<feature name="org.gnu.gdb.riscv.cpu">
`)
	for i := range NumberPC {
		fmt.Fprintf(&b, `<reg name="x%d" bitsize="32" regnum="%d" type="int"/>`+"\n", i, i)
	}
	fmt.Fprintf(&b, `<reg name="pc" bitsize="32" regnum="%d" type="code_ptr"/>`+"\n", NumberPC)
	b.WriteString("</feature>\n" + `<feature name="org.gnu.gdb.riscv.csr">` + "\n")
	for _, c := range CSRs() {
		fmt.Fprintf(&b, `<reg name="%s" bitsize="32" regnum="%d" type="int" group="csr"/>`+"\n", c.Name, NumberCSR+int(c.Number))
	}
	b.WriteString("</feature>\n</target>\n")
	return b.String()
}
