package export

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

//go:embed page.html
var pageText string

// A page is what the template of the HTML reference shows.
type page struct {
	Hash, Size string
	Blocks     []pageBlock
}

type pageBlock struct {
	Name, Doc, Base, Size string
	Registers             []pageRegister
}

type pageRegister struct {
	Name, Offset, Access, Reset, Doc string
	Fields                           []pageField
}

// A pageField has its names of values joined by spaces, which they do not contain.
type pageField struct {
	Name, Bits, Mask, Doc, Names string
	Values                       []string
}

// html writes one page that needs nothing else, with a decoder for values.
func html(w *bytes.Buffer, blocks []reg.Block) {
	p := page{Hash: fmt.Sprintf("%#08x", regmap.Hash()), Size: fmt.Sprintf("%#x", pcicfg.BAR0Size)}
	for _, b := range blocks {
		block := pageBlock{b.Name, b.Doc, fmt.Sprintf("0x%04x", b.Base), fmt.Sprintf("%#x", b.Size), nil}
		for _, r := range b.Regs {
			block.Registers = append(block.Registers, pageRegisterOf(b, r))
		}
		p.Blocks = append(p.Blocks, block)
	}
	t := template.Must(template.New("page").Parse(pageText))
	if err := t.Execute(w, p); err != nil {
		panic(err) // a buffer takes everything
	}
}

func pageRegisterOf(b reg.Block, r reg.Reg) pageRegister {
	out := pageRegister{
		Name: b.Name + "." + r.Name, Offset: fmt.Sprintf("0x%04x", b.Base+r.Off), Access: r.Access.String(),
		Reset: fmt.Sprintf("%#x", r.Reset), Doc: about(b, r),
	}
	if r.Config {
		out.Reset = "config"
	}
	for _, f := range fields(r) {
		field := pageField{Name: f.Name, Bits: f.Bits(), Mask: fmt.Sprintf("%#x", f.Mask), Doc: aboutField(f), Names: strings.Join(f.Enum, " ")}
		if len(r.Fields) == 0 {
			field.Doc = ""
		}
		for v, name := range f.Enum {
			field.Values = append(field.Values, fmt.Sprintf("%d %s", v, name))
		}
		out.Fields = append(out.Fields, field)
	}
	return out
}
