package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

const registersIntro = `BAR0 has %#x bytes of 32-bit registers. Offsets are in bytes; an access is one whole dword. What is
in no table below is unmapped: an access to it is refused and counted in ID.ERR_COUNT.

The map hash is 0x%08x. A device reports its own in ID.MAP_HASH; where they differ, these tables are
not about that device.`

const registersKey = `Access: *ro* ignores writes; *rw* reads back what was written, within the fields; *w1c* clears the bits
written as 1; *wo* reads as 0. Effects: a *latch* read copies the other half of a 64-bit value, a
*trigger* write starts something, a *doorbell* write tells an engine that work is there. A *volatile*
register may change by itself. Poke says when a person may write the register: *safe* at any time,
*idle* while nothing runs, *destructive* if work in flight is lost or memory is written. A reset value
of *config* depends on the configuration of the GPU. What is there only if a field of ID.CAPS or
ID.CAPS2 says so is unmapped otherwise.`

// registersDoc makes the page about BAR0.
func registersDoc() ([]byte, error) {
	m := regmap.New()
	p := newPage("Registers")
	p.text(registersIntro, pcicfg.BAR0Size, regmap.Hash())
	p.text(registersKey)
	var rows [][]string
	for _, b := range m.Blocks() {
		rows = append(rows, []string{b.Name, fmt.Sprintf("0x%04x", b.Base), fmt.Sprintf("%#x", b.Size), b.Doc + there(b.Needs)})
	}
	p.heading(2, "Blocks")
	p.table([]string{"block", "base", "size", "what it is"}, rows)

	seen := map[string]string{} // the tables of a block to the first block that has them
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
	return p.Bytes(), nil
}

// blockTables returns the table of registers and, if there is one, the table of fields.
func blockTables(b reg.Block) string {
	var p page
	var regs, fields [][]string
	for _, r := range b.Regs {
		regs = append(regs, regRow(r))
		for _, f := range r.Fields {
			fields = append(fields, []string{r.Name, f.Bits(), f.Name, f.Write.String(), f.Unit, enum(f.Enum), f.Doc})
		}
	}
	p.table([]string{"offset", "register", "access", "reset", "read effect", "write effect", "volatile", "poke", "unit", "what it is"}, regs)
	if fields != nil {
		p.table([]string{"register", "bits", "field", "write effect", "unit", "values", "what it is"}, fields)
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

// there returns that a device without these capabilities does not have it, as the
// end of a description.
func there(needs caps.Set) string {
	if needs == 0 {
		return ""
	}
	return "; there if " + condition(needs)
}

// condition returns what ID.CAPS and ID.CAPS2 read of these capabilities, as in
// "CAPS.NODES is 2".
func condition(needs caps.Set) string {
	var all []string
	for word, off := range []uint32{idreg.Caps, idreg.Caps2} {
		i := slices.IndexFunc(idreg.Block.Regs, func(r reg.Reg) bool { return r.Off == off })
		r := idreg.Block.Regs[i]
		for _, f := range r.Fields {
			if v := f.Get(needs.Word(word)); v != 0 {
				all = append(all, fmt.Sprintf("%s.%s is %d", r.Name, f.Name, v))
			}
		}
	}
	return strings.Join(all, " and ")
}
