package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A constant is a name with a value of a header or a package.
type constant struct {
	name  string
	value uint32
	doc   string
}

// constants returns those of a block, without a prefix: the base of the block, and of each
// register the offset in BAR0, the value after reset if it is known, and of each field
// the mask, the shift and the named values.
func constants(b reg.Block) []constant {
	all := []constant{{b.Name + "_BASE", b.Base, b.Doc}}
	for _, r := range b.Regs {
		name := b.Name + "_" + r.Name
		all = append(all, constant{name, b.Base + r.Off, about(b, r)})
		if !r.Config {
			all = append(all, constant{name + "_RESET", r.Reset, ""})
		}
		for _, f := range r.Fields {
			_, low := span(f)
			field := name + "_" + f.Name
			all = append(all, constant{field + "_MASK", f.Mask, aboutField(f)}, constant{field + "_SHIFT", uint32(low), ""})
			for v, value := range f.Enum {
				all = append(all, constant{field + "_IS_" + value, uint32(v), ""})
			}
		}
	}
	return all
}

const cHead = `#ifndef HILGPU_REGISTERS_H
#define HILGPU_REGISTERS_H

/* Offsets are in bytes from the base of BAR0; an access is one aligned dword. F_MASK and F_SHIFT
   are those of the field F. HILGPU_GET takes a field out of a value, HILGPU_SET puts it in. */
#define HILGPU_GET(value, field) (((value) & field##_MASK) >> field##_SHIFT)
#define HILGPU_SET(value, field, x) (((value) & ~field##_MASK) | (((x) << field##_SHIFT) & field##_MASK))
`

// cHeader writes a header in C.
func cHeader(w *bytes.Buffer, blocks []reg.Block) {
	note(w, "/* ", " */")
	w.WriteString(cHead)
	for _, b := range blocks {
		fmt.Fprintln(w)
		for _, c := range constants(b) {
			if c.doc != "" {
				fmt.Fprintf(w, "/* %s */\n", strings.ReplaceAll(c.doc, "*/", "* /"))
			}
			fmt.Fprintf(w, "#define HILGPU_%s 0x%08xu\n", c.name, c.value)
		}
	}
	w.WriteString("\n#endif\n")
}

// systemVerilog writes a package of SystemVerilog.
func systemVerilog(w *bytes.Buffer, blocks []reg.Block) {
	note(w, "// ", "")
	w.WriteString("// Offsets are in bytes from the base of BAR0.\npackage hilgpu_registers;\n")
	for _, b := range blocks {
		fmt.Fprintln(w)
		for _, c := range constants(b) {
			if c.doc != "" {
				fmt.Fprintf(w, "\t// %s\n", c.doc)
			}
			fmt.Fprintf(w, "\tlocalparam logic [31:0] %s = 32'h%08x;\n", c.name, c.value)
		}
	}
	w.WriteString("endpackage\n")
}

// liteX writes the csr.csv of LiteX. It has no fields and no effects; W1C and WO are rw there.
func liteX(w *bytes.Buffer, blocks []reg.Block) {
	note(w, "# ", "")
	for _, b := range blocks {
		fmt.Fprintf(w, "csr_base,%s,0x%08x,,\n", strings.ToLower(b.Name), b.Base)
	}
	for _, b := range blocks {
		for _, r := range b.Regs {
			mode := "rw"
			if r.Access == reg.RO {
				mode = "ro"
			}
			fmt.Fprintf(w, "csr_register,%s_%s,0x%08x,1,%s\n", strings.ToLower(b.Name), strings.ToLower(r.Name), b.Base+r.Off, mode)
		}
	}
	w.WriteString("constant,config_csr_data_width,32,,\nconstant,config_csr_alignment,32,,\n")
}
