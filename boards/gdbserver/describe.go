package gdbserver

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Numbers of registers: x0 to x31, pc, and a CSR by its own number after regCSR, as GDB has
// them.
const (
	regPC  = 32
	regCSR = 65
)

// csrs returns the CSRs that a client sees, by number (Privileged Architecture 20211203,
// tables 2.5 and 2.6).
func csrs() []csr {
	return []csr{
		{0x300, "mstatus"}, {0x301, "misa"}, {0x304, "mie"}, {0x305, "mtvec"},
		{0x340, "mscratch"}, {0x341, "mepc"}, {0x342, "mcause"}, {0x343, "mtval"}, {0x344, "mip"},
		{0xb00, "mcycle"}, {0xb02, "minstret"}, {0xb80, "mcycleh"}, {0xb82, "minstreth"},
	}
}

type csr struct {
	number uint32
	name   string
}

// isCSR reports whether a register is a CSR that a client sees.
func isCSR(n uint32) bool {
	for _, c := range csrs() {
		if regCSR+c.number == n {
			return true
		}
	}
	return false
}

// description returns the target description (Debugging with GDB, appendix G, "Target
// Descriptions").
func description() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
<architecture>riscv:rv32</architecture>
<feature name="org.gnu.gdb.riscv.cpu">
`)
	for i := range regPC {
		fmt.Fprintf(&b, `<reg name="x%d" bitsize="32" regnum="%d" type="int"/>`+"\n", i, i)
	}
	fmt.Fprintf(&b, `<reg name="pc" bitsize="32" regnum="%d" type="code_ptr"/>`+"\n", regPC)
	b.WriteString("</feature>\n" + `<feature name="org.gnu.gdb.riscv.csr">` + "\n")
	for _, c := range csrs() {
		fmt.Fprintf(&b, `<reg name="%s" bitsize="32" regnum="%d" type="int" group="csr"/>`+"\n", c.name, regCSR+c.number)
	}
	b.WriteString("</feature>\n</target>\n")
	return b.String()
}

// features answers qXfer:features:read with a part of the target description.
func (s *session) features(args string) (string, error) {
	name, part, _ := strings.Cut(args, ":")
	from, size, err := pair(part)
	switch {
	case err != nil:
		return "", err
	case name != "target.xml":
		return "", fmt.Errorf("%w: %s, want target.xml", errRequest, name)
	}
	all := description()
	rest := all[min(uint64(from), uint64(len(all))):]
	if uint64(size) >= uint64(len(rest)) {
		return "l" + rest, nil
	}
	return "m" + rest[:size], nil
}

const help = `reset   restart the processor; it is halted before the instruction at address 0
help    this text
`

// monitor answers qRcmd, a line that a user typed after "monitor".
func (s *session) monitor(args string) (string, error) {
	line, err := decode(args)
	if err != nil {
		return "", err
	}
	text := ""
	switch strings.TrimSpace(string(line)) {
	case "reset":
		if err := s.target.Reset(); err != nil {
			return "", err
		}
		s.interrupted = false
		text = "The processor is halted before the instruction at address 0. The command \"maintenance flush register-cache\" shows it.\n"
	case "help", "":
		text = help
	default:
		text = fmt.Sprintf("There is no command %q. Commands are:\n%s", line, help)
	}
	return hex.EncodeToString([]byte(text)), nil
}
