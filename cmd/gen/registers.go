package main

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

const registersIntro = `BAR0 has %#x bytes of 32-bit registers. Offsets are in bytes; an access is one complete dword. Offsets
not in the tables below are unmapped: an access is refused and counted in ID.ERR_COUNT.

The map hash is 0x%08x. A device reports its own hash in ID.MAP_HASH; if they differ, these tables do
not describe that device.`

const registersKey = `Access: *ro* ignores writes; *rw* reads back the written value, within the fields; *w1c* clears the bits
written as 1; *wo* reads as 0. Effects: a *latch* read copies the other half of a 64-bit value, a
*trigger* write starts something, a *doorbell* write signals new work to an engine. A *volatile*
register may change without a write. Poke tells when a user may write the register: *safe* at any time,
*idle* while nothing runs, *destructive* if work in flight is lost or memory is written. A reset value
of *config* depends on the configuration of the GPU. A register that depends on a field of ID.CAPS or
ID.CAPS2 is unmapped on a device without the capability.`

const registersExport = "`hilgpu reg export` writes the registers for other tools. Its format html is a page that shows the\n" +
	"fields of a value:\n\n![a value of CP0.STATUS and its fields](decoder.png)"

const linkIntro = `The link between the host and the GPU has its registers in configuration space, from %#x on: a vendor-specific
extended capability (PCIe 3.0 §7.19). Each board with gateware of this repository has them, whether its link is hardwired or runs a program, and so has that gateware at its pins. An emulator reads as 0
there, which is a header without a capability. All registers are read-only. Counters are those since the reset of the board, modulo 65536:
a host takes differences. They are no part of the map hash.`

// registersDoc generates docs/registers.md.
func registersDoc() ([]byte, error) {
	m := regmap.New()
	p := newPage("Registers")
	p.text(registersIntro, pcicfg.BAR0Size, regmap.Hash())
	p.text(registersKey)
	p.text(registersExport)
	var rows [][]string
	for _, b := range m.Blocks() {
		rows = append(rows, []string{b.Name, fmt.Sprintf("0x%04x", b.Base), fmt.Sprintf("%#x", b.Size), b.Doc + there(b.Needs)})
	}
	p.heading(2, "Blocks")
	p.table([]string{"block", "base", "size", "description"}, rows)

	seen := map[string]string{} // tables of a block, by the first block that has them
	for _, b := range m.Blocks() {
		p.heading(2, b.Name)
		tables := blockTables(b)
		if first, ok := seen[tables]; ok {
			p.text("%s. The registers of %s, from %#04x on.", sentence(b.Doc), first, b.Base)
			continue
		}
		seen[tables] = b.Name
		p.text("%s. Offsets are from %#04x.", sentence(b.Doc), b.Base)
		p.WriteString(tables)
	}
	p.heading(2, linkreg.Block.Name)
	p.text(linkIntro, linkreg.Base)
	p.WriteString(blockTables(linkreg.Block))
	return p.Bytes(), nil
}

// blockTables returns the table of registers and, if there are fields, the
// table of fields.
func blockTables(b reg.Block) string {
	var p page
	var regs, fields [][]string
	for _, r := range b.Regs {
		regs = append(regs, regRow(r))
		for _, f := range r.Fields {
			fields = append(fields, []string{r.Name, f.Bits(), f.Name, f.Write.String(), f.Unit, enum(f.Enum), f.Doc})
		}
	}
	p.table([]string{"offset", "register", "access", "reset", "read effect", "write effect", "volatile", "poke", "unit", "description"}, regs)
	if fields != nil {
		p.table([]string{"register", "bits", "field", "write effect", "unit", "values", "description"}, fields)
	}
	return p.String()
}

func regRow(r reg.Reg) []string {
	reset := fmt.Sprintf("%#x", r.Reset)
	if r.Config {
		reset = "config"
	}
	poke := r.Poke.String()
	if r.Access == reg.RO {
		poke = ""
	}
	return []string{
		fmt.Sprintf("0x%02x", r.Off), r.Name, r.Access.String(), reset,
		r.Read.String(), r.Write.String(), yes(r.Volatile, "volatile"), poke, r.Unit, r.Doc + there(r.Needs),
	}
}

// there returns the end of the description of something that only devices with the given
// capabilities have.
func there(needs caps.Set) string {
	if needs == 0 {
		return ""
	}
	return "; present if " + idreg.Condition(needs)
}
