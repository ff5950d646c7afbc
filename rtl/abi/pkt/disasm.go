package pkt

import (
	"fmt"
	"strings"
)

// Disassemble returns one line per packet of b, whose first byte is at GPU
// address addr: the address, the name and the fields.
//
//	0x8000000000012340 COPY src=VRAM+0x1000 dst=HOST+0x2000 bytes=64
//
// If the fields of a packet are illegal, the error follows after a semicolon. A
// dword that is not a header, or whose packet b does not contain, gets its own
// line, as do the last one to three bytes of b:
//
//	0x8000000000012358 .word 0xdeadbeef ; pkt: unknown opcode: 0xde in header 0xdeadbeef
//	0x800000000001235c .byte 01 02
func Disassemble(b []byte, addr uint64) []string {
	var lines []string
	for len(b) > 0 {
		text, n := disassembleOne(b)
		lines = append(lines, fmt.Sprintf("0x%016x %s", addr, text))
		b = b[n:]
		addr += uint64(n)
	}
	return lines
}

// disassembleOne returns the first line for b and the number of bytes it covers.
func disassembleOne(b []byte) (string, int) {
	if len(b) < 4 {
		return fmt.Sprintf(".byte % x", b), len(b)
	}
	l, n, err := splitHeader(b)
	if err != nil {
		return fmt.Sprintf(".word 0x%08x ; %v", le.Uint32(b), err), 4
	}
	text := l.format(b[:n])
	if err := l.check(b[:n]); err != nil {
		text += " ; " + err.Error()
	}
	return text, n
}

// format returns the name and the fields of the packet p, which may be illegal.
func (l Layout) format(p []byte) string {
	var s strings.Builder
	s.WriteString(l.Name)
	for _, f := range l.Fields {
		fmt.Fprintf(&s, " %s=%s", strings.ToLower(f.Name), f.Format(f.Get(p)))
	}
	return s.String()
}

// Format returns a value v of the field as disassembly shows it: an enumeration
// by name, an address by FormatAddr, patterns and offsets in hex.
func (f Field) Format(v uint64) string {
	switch {
	case v < uint64(len(f.Enum)):
		return f.Enum[v]
	case f.Kind.Address():
		return FormatAddr(v)
	case f.Kind == Pattern || f.Kind == RegOffset:
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}

// apertureLog2 tells addresses in the aperture, as gartreg.StartLog2 does.
const apertureLog2 = 40

// FormatAddr returns a GPU address as "VRAM+0x1000", "HOST+0x1000" or "APERTURE+0x1000".
func FormatAddr(addr uint64) string {
	if addr&Host != 0 {
		return fmt.Sprintf("HOST+%#x", addr&^Host)
	}
	if addr>>apertureLog2 == 1 {
		return fmt.Sprintf("APERTURE+%#x", addr-1<<apertureLog2)
	}
	return fmt.Sprintf("VRAM+%#x", addr)
}
