package regs

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// group returns v in hexadecimal, in groups of four digits: 0x0000_0013.
func group(v uint64, digits int) string {
	s := fmt.Sprintf("%0*x", digits, v)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%4 == 0 {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return "0x" + b.String()
}

// bitRange returns the position of a field as [5] or [7:4].
func bitRange(f reg.Field) string { return "[" + strings.ReplaceAll(f.Bits(), "..", ":") + "]" }

// meaning formats a field's value with its name if it has one: 4 → ALIGN.
func meaning(f reg.Field, v uint32) string {
	if int64(v) < int64(len(f.Enum)) {
		return fmt.Sprintf("%d → %s", v, f.Enum[v])
	}
	return fmt.Sprint(v)
}

// unit returns a unit with a space before it, or "".
func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

// decimal reports whether the value of a register is a quantity that is useful
// in decimal: it has no fields and is not half of an address.
func decimal(r reg.Reg) bool {
	return len(r.Fields) == 0 && (r.Unit != "bytes" || !strings.Contains(r.Name, "_LO") && !strings.Contains(r.Name, "_HI"))
}

// String formats the value: a line for the register, and one for each field
// from bit 0 up.
//
//	cp0.status @0x1004 = 0x0000_0001   reset 0x1   volatile
//	  [0]    idle   1
//	  [7:4]  state  9
func (v Value) String() string {
	t, r := v.Target, v.Target.Entry.Reg
	var b strings.Builder
	fmt.Fprintf(&b, "%s @0x%04x", t.Name(), t.Entry.Off())
	if t.Field != nil {
		fmt.Fprintf(&b, "%s = %s%s\n", bitRange(*t.Field), meaning(*t.Field, uint32(v.Value)), unit(t.Field.Unit))
		return b.String()
	}
	fmt.Fprintf(&b, " = %s", group(v.Value, t.Bits()/4))
	if decimal(r) && (r.Unit != "" || r.Volatile && v.Value > 9) {
		fmt.Fprintf(&b, " (%s)", strings.TrimSpace(fmt.Sprint(v.Value)+unit(r.Unit)))
	}
	if !r.Config && t.High == nil {
		fmt.Fprintf(&b, "   reset %#x", r.Reset)
	}
	if r.Volatile || t.High != nil && t.High.Reg.Volatile {
		b.WriteString("   volatile")
	}
	b.WriteString("\n")
	fields := ascending(r.Fields)
	at, name := 0, 0
	for _, f := range fields {
		at, name = max(at, len(bitRange(f))), max(name, len(f.Name))
	}
	for _, f := range fields {
		x := f.Get(uint32(v.Value))
		fmt.Fprintf(&b, "  %-*s  %-*s  %s%s\n", at, bitRange(f), name, strings.ToLower(f.Name), meaning(f, x), unit(f.Unit))
	}
	if rest := uint32(v.Value) &^ r.Mask(); rest != 0 {
		fmt.Fprintf(&b, "  bits of no field: %#x\n", rest)
	}
	return b.String()
}

// ascending returns the fields in order from bit 0.
func ascending(fields []reg.Field) []reg.Field {
	var sorted []reg.Field
	for bit := range 32 {
		for _, f := range fields {
			if f.Mask&-f.Mask == 1<<bit {
				sorted = append(sorted, f)
			}
		}
	}
	return sorted
}

// short formats a register's value for one line of text, with its fields or in
// decimal: 0x1 (run=1 reset=0), 0x40 (64 dwords).
func short(r reg.Reg, v uint32) string {
	s := fmt.Sprintf("%#x", v)
	var parts []string
	for _, f := range ascending(r.Fields) {
		parts = append(parts, strings.ToLower(f.Name)+"="+f.Format(f.Get(v)))
	}
	if rest := v &^ r.Mask(); rest != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", rest))
	}
	if decimal(r) && (v > 9 || r.Unit != "") {
		parts = append(parts, fmt.Sprint(v)+unit(r.Unit))
	}
	if parts == nil {
		return s
	}
	return s + " (" + strings.Join(parts, " ") + ")"
}

// String describes the write in one line.
//
//	id.scratch0 0x0000_0000 → 0x0000_0005   written, read back ok
func (w Written) String() string {
	t := Target{Entry: w.Target.Entry, High: w.Target.High}
	var b strings.Builder
	b.WriteString(t.Name())
	if w.Before != nil {
		fmt.Fprintf(&b, " %s →", group(*w.Before, t.Bits()/4))
	} else {
		b.WriteString(" ←")
	}
	fmt.Fprintf(&b, " %s", group(w.Sent, t.Bits()/4))
	if f := w.Target.Field; f != nil {
		fmt.Fprintf(&b, "   (%s ", strings.ToLower(f.Name))
		if w.Before != nil {
			fmt.Fprintf(&b, "%s → ", f.Format(f.Get(uint32(*w.Before))))
		}
		fmt.Fprintf(&b, "%s)", f.Format(f.Get(uint32(w.Sent))))
	}
	switch {
	case w.After == nil:
		b.WriteString("   written\n")
	case *w.After == w.Sent:
		b.WriteString("   written, read back ok\n")
	default:
		fmt.Fprintf(&b, "   written, reads %s\n", group(*w.After, t.Bits()/4))
	}
	return b.String()
}
