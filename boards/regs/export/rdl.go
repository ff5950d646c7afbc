package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// systemRDL writes SystemRDL 2.0: a regfile for each block, in one addrmap. It has no word for
// a read or a write with an effect on another register; the descriptions name these.
func systemRDL(w *bytes.Buffer, blocks []reg.Block) {
	note(w, "// ", "")
	w.WriteString("addrmap hilgpu {\n\tname = \"hilgpu BAR0\";\n\tdefault regwidth = 32;\n\tdefault accesswidth = 32;\n\tlittleendian;\n")
	for _, b := range blocks {
		fmt.Fprintf(w, "\n\tregfile {\n\t\tname = %s;\n\t\tdesc = %s;\n", quoted(b.Name), quoted(b.Doc))
		for _, r := range b.Regs {
			rdlRegister(w, b, r)
		}
		fmt.Fprintf(w, "\t} %s @0x%04x;\n", b.Name, b.Base)
	}
	w.WriteString("};\n")
}

func rdlRegister(w *bytes.Buffer, b reg.Block, r reg.Reg) {
	fmt.Fprintf(w, "\t\treg {\n\t\t\tname = %s;\n\t\t\tdesc = %s;\n", quoted(r.Name), quoted(about(b, r)))
	for _, f := range fields(r) {
		if len(f.Enum) == 0 {
			continue
		}
		fmt.Fprintf(w, "\t\t\tenum %s_e {\n", f.Name)
		for v, name := range f.Enum {
			fmt.Fprintf(w, "\t\t\t\t%s = %d;\n", name, v)
		}
		w.WriteString("\t\t\t};\n")
	}
	for _, f := range fields(r) {
		high, low := span(f)
		fmt.Fprintf(w, "\t\t\tfield {\n\t\t\t\tdesc = %s;\n\t\t\t\t%s\n", quoted(aboutField(f)), rdlAccess(r))
		if len(f.Enum) > 0 {
			fmt.Fprintf(w, "\t\t\t\tencode = %s_e;\n", f.Name)
		}
		fmt.Fprintf(w, "\t\t\t} %s[%d:%d]", f.Name, high, low)
		if !r.Config {
			fmt.Fprintf(w, " = %d'h%x", high-low+1, f.Get(r.Reset))
		}
		w.WriteString(";\n")
	}
	fmt.Fprintf(w, "\t\t} %s @0x%02x;\n", r.Name, r.Off)
}

// rdlAccess returns the properties of the fields of a register. hw is what the device does:
// it writes what is volatile or depends on the configuration, and reads what software writes.
func rdlAccess(r reg.Reg) string {
	hw := "r"
	switch {
	case r.Access == reg.RO && (r.Volatile || r.Config):
		hw = "w"
	case r.Access == reg.RO:
		hw = "na"
	case r.Volatile:
		hw = "rw"
	}
	sw := map[reg.Access]string{reg.RO: "sw = r;", reg.RW: "sw = rw;", reg.W1C: "sw = rw; onwrite = woclr;", reg.WO: "sw = w;"}[r.Access]
	return sw + " hw = " + hw + ";"
}

// quoted returns a string of SystemRDL, in which only quotes and backslashes are escaped.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
