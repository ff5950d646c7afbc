package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// Sizes of an ELF file of 32 bits (System V ABI, edition 4.1, chapters 4 and 5), in bytes.
const (
	headerBytes  = 52
	programBytes = 32
)

// Notes of a core file. The first is that of Linux, and the others are those that GDB writes
// for a processor without an operating system (binutils, include/elf/common.h).
const (
	noteStatus      = 1          // NT_PRSTATUS, CORE
	noteCSRs        = 0x900      // NT_RISCV_CSR, GDB
	noteDescription = 0xff000000 // NT_GDB_TDESC, GDB
)

// The structure elf_prstatus of a processor of 32 bits (binutils, bfd/elfnn-riscv.c): offsets in
// bytes. The registers are pc and x1 to x31.
const (
	statusBytes     = 204
	statusSignal    = 12
	statusProcess   = 24
	statusRegisters = 72
)

// Signals that GDB shows as the cause of a halt, with the numbers of Linux.
const (
	sigint  = 2
	sigtrap = 5
	sigxcpu = 24
)

// signal returns the signal for the cause of a halt: SIGXCPU after the watchdog, SIGTRAP at a
// point or an EBREAK, and else SIGINT.
func signal(c mcu.Cause) uint16 {
	switch c {
	case mcu.Hung:
		return sigxcpu
	case mcu.None, mcu.Requested:
		return sigint
	}
	return sigtrap
}

// Bytes returns the core file: a note with the registers, one with the CSRs, whose order a
// target description has, and a segment for each range.
func (s State) Bytes() []byte {
	notes := note(nil, "CORE", noteStatus, s.status())
	notes = note(notes, "GDB", noteDescription, append([]byte(mcu.Description()), 0))
	var csrs []byte
	for _, v := range s.CSRs {
		csrs = binary.LittleEndian.AppendUint32(csrs, v)
	}
	notes = note(notes, "GDB", noteCSRs, csrs)
	at := uint32(headerBytes + programBytes*(1+len(s.Ranges)))
	programs := []elf.Prog32{{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint32(len(notes)), Align: 4}}
	body := notes
	for _, r := range s.Ranges {
		size := uint32(len(r.Data))
		programs = append(programs, elf.Prog32{
			Type: uint32(elf.PT_LOAD), Off: at + uint32(len(body)), Vaddr: r.Addr, Filesz: size, Memsz: size,
			Flags: uint32(elf.PF_R | elf.PF_W | elf.PF_X), Align: 4,
		})
		body = append(body, r.Data...)
	}
	var b bytes.Buffer
	for _, part := range []any{header(len(programs)), programs} {
		binary.Write(&b, binary.LittleEndian, part) // a Buffer has no errors
	}
	return append(b.Bytes(), body...)
}

// header returns the header of a core file with some program headers after it.
func header(programs int) elf.Header32 {
	h := elf.Header32{
		Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_RISCV), Version: uint32(elf.EV_CURRENT), Phoff: headerBytes,
		Ehsize: headerBytes, Phentsize: programBytes, Phnum: uint16(programs),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS32), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	return h
}

// status returns an elf_prstatus.
func (s State) status() []byte {
	b := make([]byte, statusBytes)
	binary.LittleEndian.PutUint16(b[statusSignal:], signal(s.Cause))
	binary.LittleEndian.PutUint32(b[statusProcess:], 1)
	binary.LittleEndian.PutUint32(b[statusRegisters:], s.PC)
	for i, v := range s.Registers[1:] {
		binary.LittleEndian.PutUint32(b[statusRegisters+4+4*i:], v)
	}
	return b
}

// note appends a note. Its name and its content are padded to a multiple of 4 bytes.
func note(b []byte, name string, kind uint32, content []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)+1))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = append(b, name...)
	b = append(b, make([]byte, 4-len(name)%4)...)
	b = append(b, content...)
	return append(b, make([]byte, -len(content)&3)...)
}
