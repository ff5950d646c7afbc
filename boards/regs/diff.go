package regs

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Change is a field, or a register without fields, that differs between two
// snapshots.
type Change struct {
	Name     string  `json:"name"`
	A        *uint32 `json:"a"` // null if A does not have it
	B        *uint32 `json:"b"`
	Volatile bool    `json:"volatile"`
	MeaningA string  `json:"meaning_a,omitempty"` // name of the value, if it has one
	MeaningB string  `json:"meaning_b,omitempty"`
}

// A Difference is the result of Diff.
type Difference struct {
	Changes   []Change `json:"changes"`   // configuration space, then registers, by offset
	Unchanged int      `json:"unchanged"` // dwords and registers
	Hidden    int      `json:"hidden"`    // volatile registers that differ but are not in Changes
}

// Diff compares two snapshots of functions with the same register map. It fails
// with ErrMapHash if the maps differ, and with ErrSnapshot for a register that
// the map does not have. Volatile registers, which the device itself changes,
// are hidden unless all is set.
func Diff(a, b *Snapshot, all bool) (Difference, error) {
	d := Difference{Changes: []Change{}}
	want := fmt.Sprintf("%08x", regmap.Hash())
	for _, s := range []*Snapshot{a, b} {
		if s.Identity.MapHash != want {
			return d, fmt.Errorf("%w: the snapshot of %s has %s, want %s", ErrMapHash, s.Board, s.Identity.MapHash, want)
		}
	}
	d.config(a, b)
	m := regmap.New()
	va, err := byEntry(m, a)
	if err != nil {
		return d, err
	}
	vb, err := byEntry(m, b)
	if err != nil {
		return d, err
	}
	for _, e := range m.Entries() {
		d.register(e, va[e.Off()], vb[e.Off()], all)
	}
	return d, nil
}

// byEntry returns the values by offset.
func byEntry(m *regmap.Map, s *Snapshot) (map[uint32]*uint32, error) {
	values := map[uint32]*uint32{}
	for _, r := range s.Registers {
		e, ok := m.Lookup(uint32(r.Off))
		if !ok || r.Name != (Target{Entry: e}).Name() {
			return nil, fmt.Errorf("%w: %s: no register %s at %#x in the register map", ErrSnapshot, s.Board, r.Name, uint32(r.Off))
		}
		v := uint32(r.Value)
		values[uint32(r.Off)] = &v
	}
	return values, nil
}

// config compares configuration space dword by dword.
func (d *Difference) config(a, b *Snapshot) {
	values := [2]map[Hex]*uint32{{}, {}}
	for i, s := range []*Snapshot{a, b} {
		for _, c := range s.Config {
			v := uint32(c.Value)
			values[i][c.Off] = &v
		}
	}
	for off := Hex(0); off <= 0xffc; off += 4 {
		d.compare(Change{Name: configName(int(off)), A: values[0][off], B: values[1][off]})
	}
}

// compare records a change or counts an equal value.
func (d *Difference) compare(c Change) {
	switch {
	case c.A == nil && c.B == nil:
	case c.A != nil && c.B != nil && *c.A == *c.B:
		d.Unchanged++
	default:
		d.Changes = append(d.Changes, c)
	}
}

// register compares one register, by field if both snapshots have it.
func (d *Difference) register(e regmap.Entry, a, b *uint32, all bool) {
	c := Change{Name: Target{Entry: e}.Name(), A: a, B: b, Volatile: e.Reg.Volatile}
	differ := a != nil && b != nil && *a != *b
	switch {
	case differ && e.Reg.Volatile && !all:
		d.Hidden++
	case differ && len(e.Reg.Fields) > 0:
		d.fields(e, c)
	default:
		d.compare(c)
	}
}

func (d *Difference) fields(e regmap.Entry, c Change) {
	fields := ascending(e.Reg.Fields)
	if rest := ^e.Reg.Mask(); (*c.A^*c.B)&rest != 0 {
		fields = append(fields, reg.Field{Name: "bits of no field", Mask: rest})
	}
	for i := range fields {
		f := &fields[i]
		a, b := f.Get(*c.A), f.Get(*c.B)
		if f.Name == "bits of no field" {
			a, b = *c.A&f.Mask, *c.B&f.Mask
		}
		if a == b {
			continue
		}
		d.Changes = append(d.Changes, Change{
			Name: c.Name + "." + strings.ToLower(f.Name), A: &a, B: &b, Volatile: c.Volatile,
			MeaningA: name(*f, a), MeaningB: name(*f, b),
		})
	}
}

// name returns the name of a value, or "" if it has none.
func name(f reg.Field, v uint32) string {
	if int64(v) < int64(len(f.Enum)) {
		return f.Enum[v]
	}
	return ""
}

// String returns the change in one line, as in cp0.wptr 0x40 → 0x58.
func (c Change) String() string {
	side := func(v *uint32, meaning string) string {
		switch {
		case v == nil:
			return "absent"
		case meaning != "":
			return meaning
		}
		return fmt.Sprintf("%#x", *v)
	}
	return fmt.Sprintf("%s  %s → %s", c.Name, side(c.A, c.MeaningA), side(c.B, c.MeaningB))
}

// String returns a line for each change and one for the unchanged and hidden
// registers.
func (d Difference) String() string {
	var b strings.Builder
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "%s\n", c)
	}
	fmt.Fprintf(&b, "unchanged %d", d.Unchanged)
	if d.Hidden > 0 {
		fmt.Fprintf(&b, " · volatile hidden %d (--all)", d.Hidden)
	}
	b.WriteString("\n")
	return b.String()
}

// ConfigNames returns the names of the dwords of configuration space declared
// by pcicfg and linkreg, in lower case, by offset in bytes.
func ConfigNames() map[int]string {
	names := map[int]string{
		pcicfg.ID: "id", pcicfg.Command: "command", pcicfg.Class: "class", pcicfg.Header: "header",
		pcicfg.BAR0: "bar0", pcicfg.BAR1: "bar1", pcicfg.BAR2: "bar2", pcicfg.BAR3: "bar3",
		pcicfg.BAR4: "bar4", pcicfg.BAR5: "bar5", pcicfg.SubID: "sub_id", pcicfg.ROM: "rom",
		pcicfg.CapPtr: "cap_ptr", pcicfg.IntLine: "int_line", pcicfg.MSIX: "msix",
		pcicfg.MSIXTable: "msix_table", pcicfg.MSIXPending: "msix_pending", pcicfg.PCIe: "pcie",
		pcicfg.DevCap: "dev_cap", pcicfg.DevCtl: "dev_ctl", pcicfg.LinkCap: "link_cap", pcicfg.LinkCtl: "link_ctl",
	}
	for _, r := range linkreg.Block.Regs {
		names[int(linkreg.Base+r.Off)] = "link_" + strings.ToLower(r.Name)
	}
	return names
}

// configName returns the name of a dword of configuration space: config.bar0,
// or config+0x80 for one without a name.
func configName(off int) string {
	if name, ok := ConfigNames()[off]; ok {
		return "config." + name
	}
	return fmt.Sprintf("config+0x%02x", off)
}
