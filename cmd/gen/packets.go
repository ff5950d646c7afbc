package main

import (
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

const packetsIntro = `A command processor executes packets from its ring and from indirect buffers. A packet is a header
dword and a body of dwords, little-endian. Reserved bits are zero; a set reserved bit is a fault.
A packet in the ring may continue at the start of the ring.`

const addressIntro = `A GPU address is in bytes. Bit 63 selects host memory, with the address in bits 62..0; otherwise the
address is an offset in VRAM. Fields of the kinds *read* and *write* hold an address that the packet
reads or writes; *surface* is read by later packets if Surface is SOURCE, and written if it is DEST;
*window* bounds the memory that later packets may access.`

const apertureIntro = `With CAPS2.GART bit 40 of an address without bit 63 selects the aperture. It has 2^31 bytes from 2^40 on, of which the first
GART.PAGES pages of 4096 bytes can be accessed. Page i has entry i of the table at GART.TABLE, of 8 bytes: bit 0 valid, bit 1
writable, bits 51..12 the page of host memory. All other bits are 0, and so are those of the page above ID.HOST_BITS. The source and the destination of
COPY and COPY_2D and the destination of FILL and FILL_2D may be in the aperture. Ranges and windows are checked before translation. Everything else
that has an address is not translated, and an address in the aperture is then outside of memory: rings, indirect buffers and the table
itself, and the operands of all other packets but the bases of SET_STATE and SET_WINDOW.`

const translationIntro = `A packet moves its bytes in parts, in order, that end where the source or the destination reaches a page of the aperture. For each part
the source is translated, then the destination. A page with an entry that is not valid, a page that is written with an entry
that is not writable, and a table that cannot be read are the fault PAGE. Everything before that part is then written, and
nothing after. Entries are read 8 at a time and may be kept until GART.FLUSH, in any number. Overlapping ranges of
memory count as overlapping whatever their addresses in the aperture are.`

const retireIntro = `A packet retires when its last check has passed and its effect is complete: the last byte of a COPY, COPY_2D, FILL,
FILL_2D or SAVE_STATE was sent, the word of a FENCE, SIGNAL or TIMESTAMP was sent, the value of a PREDICATE or RESTORE_STATE has arrived,
WAIT_FENCE has reached its value, or the register of a WRITE_REG was written. A PREDICATE that skips retires after the dwords that it
skips, and an INDIRECT when its buffer has ended. Packets retire in the order of the buffers. Then RPTR, or in an indirect buffer
IB_LEFT, moves past the packet, and PACKETS of the node counts it, one for each of these opcodes, for NOP, SET_STATE and
SET_WINDOW too, and for a packet that moves 0 bytes. PACKETS does not count a packet that a PREDICATE skips, that faults or that a
preemption interrupts; that one counts once, when it retires after it was resumed.`

const skipIntro = `A body that a NOP skips, and what a PREDICATE skips, may have any content. With CAPS.PREEMPTION a node does not
need to read it in an indirect buffer: it takes at most 64 of these dwords and moves over the rest, and an error in the answer to a read of
them is no fault. Elsewhere each of them is read, and such an error is the fault READ_ERROR.`

const causesIntro = `A node stops at a fault. It latches the cause in FAULT_INFO, the address of the packet in
FAULT_ADDR, its header in FAULT_OP and the refused operand in FAULT_BAD. A packet that fails one of
the checks 1 to 4 below has accessed no memory.`

// order is how the causes of a packet rank.
var order = []string{
	"In the header: OPCODE, RESERVED, LENGTH, PRIVILEGE.",
	"In the body: RESERVED, then ALIGN, then the fields that are out of range (LENGTH, REGISTER, STATE). Of several dwords with the same cause, the first counts.",
	"The surfaces of a 2D packet: the source is not set, the destination is not set, their formats.",
	"The ranges of the packet, the source before the destination: ADDRESS, then WINDOW.",
	"While it is executed: FENCE, STATE of a word of RESTORE_STATE, READ_ERROR, WRITE_ERROR, PAGE: the one of the first bytes that are not moved.",
}

// packetsDoc generates docs/packets.md.
func packetsDoc() ([]byte, error) {
	p := newPage("Packets")
	p.text(packetsIntro)
	p.table([]string{"bits", "header field"}, [][]string{
		{bitRange(pkt.HeaderOp), "opcode"},
		{bitRange(pkt.HeaderReserved), "reserved"},
		{bitRange(pkt.HeaderBody), "dwords in the body"},
	})
	p.text(addressIntro)

	var rows [][]string
	for _, l := range pkt.Table {
		rows = append(rows, []string{fmt.Sprintf("0x%02x", l.Op), l.Name, body(l), yes(l.Privileged, "ring only")})
	}
	p.heading(2, "Opcodes")
	p.table([]string{"opcode", "packet", "body", "legal in"}, rows)

	for _, l := range pkt.Table {
		p.heading(2, l.Name)
		p.text("%s", sentence(l.Doc)+exists(l))
		p.table([]string{"dword", "bits", "field", "kind", "values", "unit", "description"}, layoutRows(l))
	}
	p.heading(2, "The aperture")
	p.text(apertureIntro)
	p.text(translationIntro)
	p.heading(2, "Retirement")
	p.text(retireIntro)
	p.text(skipIntro)
	causes(p)
	return p.Bytes(), nil
}

func body(l pkt.Layout) string {
	if l.Variable {
		return fmt.Sprintf("0 to %d", l.Body)
	}
	return fmt.Sprint(l.Body)
}

// layoutRows returns a row for each field and for each run of reserved bits.
// Reserved bits are above the fields of their dword.
func layoutRows(l pkt.Layout) [][]string {
	var rows [][]string
	for i, f := range l.Fields {
		dword := fmt.Sprint(f.Dword)
		if f.Mask>>32 != 0 {
			dword = fmt.Sprintf("%d, %d", f.Dword, f.Dword+1)
		}
		rows = append(rows, []string{dword, bitRange(f.Mask), f.Name, f.Kind.String(), values(f), f.Unit, f.Doc + reserved(f)})
		last := i+1 == len(l.Fields) || l.Fields[i+1].Dword != f.Dword
		if r := l.Reserved(f.Dword); last && f.Dword > 0 && r != 0 {
			rows = append(rows, []string{dword, bitRange(uint64(r)), "", "reserved", "0", "", ""})
		}
	}
	return rows
}

// exists returns the last sentence of the description of a packet that depends on
// capabilities.
func exists(l pkt.Layout) string {
	if l.Needs == 0 {
		return ""
	}
	return fmt.Sprintf(" It exists if %s; otherwise the opcode is unknown.", idreg.Condition(l.Needs))
}

// reserved returns the end of the description of a field that depends on capabilities.
func reserved(f pkt.Field) string {
	if f.Needs == 0 {
		return ""
	}
	return fmt.Sprintf("; reserved unless %s", idreg.Condition(f.Needs))
}

// values says what a field may be, beyond the width of its bits.
func values(f pkt.Field) string {
	limit, align := "", ""
	if f.Max != 0 && f.Enum == nil {
		limit = fmt.Sprintf("0 to %d", f.Max)
	}
	if f.Align != 0 {
		align = fmt.Sprintf("a multiple of %d", f.Align)
	}
	return join(", ", enum(f.Enum), limit, align)
}

// bitRange formats a run of bits as "5" or "7..4".
func bitRange(mask uint64) string {
	hi, lo := 63-bits.LeadingZeros64(mask), bits.TrailingZeros64(mask)
	if hi == lo {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d..%d", hi, lo)
}

func causes(p *page) {
	p.heading(2, "Fault causes")
	p.text(causesIntro)
	var rows [][]string
	for i, name := range cpreg.Causes {
		rows = append(rows, []string{fmt.Sprint(i), name, cpreg.CauseDocs[i]})
	}
	p.table([]string{"cause", "name", "meaning"}, rows)
	p.text("If a packet has several mistakes, the first in this order is its cause:")
	for i, line := range order {
		p.text("%d. %s", i+1, line)
	}
}
