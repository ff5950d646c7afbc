package export

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// The elements of CMSIS-SVD 1.3, in the order of its schema.

type svdDevice struct {
	XMLName     xml.Name        `xml:"device"`
	Schema      string          `xml:"schemaVersion,attr"`
	Instance    string          `xml:"xmlns:xs,attr"`
	Location    string          `xml:"xs:noNamespaceSchemaLocation,attr"`
	Vendor      string          `xml:"vendor"`
	Name        string          `xml:"name"`
	Version     string          `xml:"version"`
	Description string          `xml:"description"`
	AddressUnit int             `xml:"addressUnitBits"`
	Width       int             `xml:"width"`
	Size        int             `xml:"size"`
	Access      string          `xml:"access"`
	Peripherals []svdPeripheral `xml:"peripherals>peripheral"`
}

type svdPeripheral struct {
	Name        string        `xml:"name"`
	Description string        `xml:"description"`
	Base        string        `xml:"baseAddress"`
	Block       svdBlock      `xml:"addressBlock"`
	Registers   []svdRegister `xml:"registers>register"`
}

type svdBlock struct {
	Offset string `xml:"offset"`
	Size   string `xml:"size"`
	Usage  string `xml:"usage"`
}

type svdRegister struct {
	Name        string     `xml:"name"`
	Description string     `xml:"description"`
	Offset      string     `xml:"addressOffset"`
	Size        int        `xml:"size"`
	Access      string     `xml:"access"`
	Reset       string     `xml:"resetValue"`
	Mask        string     `xml:"resetMask"`
	Modified    string     `xml:"modifiedWriteValues,omitempty"`
	Read        string     `xml:"readAction,omitempty"`
	Fields      []svdField `xml:"fields>field"`
}

type svdField struct {
	Name        string   `xml:"name"`
	Description string   `xml:"description"`
	Bits        string   `xml:"bitRange"`
	Values      *svdEnum `xml:"enumeratedValues"`
}

type svdEnum struct {
	Values []svdValue `xml:"enumeratedValue"`
}

type svdValue struct {
	Name  string `xml:"name"`
	Value int    `xml:"value"`
}

func svdAll(w *bytes.Buffer, blocks []reg.Block)  { svd(w, blocks, false) }
func svdSafe(w *bytes.Buffer, blocks []reg.Block) { svd(w, blocks, true) }

// svd writes CMSIS-SVD without derived or repeated elements. Addresses are offsets in BAR0. With
// safe a register whose read has an effect is write-only.
func svd(w *bytes.Buffer, blocks []reg.Block, safe bool) {
	d := svdDevice{
		Schema: "1.3", Instance: "http://www.w3.org/2001/XMLSchema-instance", Location: "CMSIS-SVD.xsd",
		Vendor: "hilgpu", Name: "HILGPU", Version: "1.0",
		Description: fmt.Sprintf("BAR0 of hilgpu, %#x bytes. Addresses are offsets in it.", pcicfg.BAR0Size),
		AddressUnit: 8, Width: 32, Size: 32, Access: "read-write",
	}
	for _, b := range blocks {
		d.Peripherals = append(d.Peripherals, svdPeripheralOf(b, safe))
	}
	w.WriteString(xml.Header)
	note(w, "<!-- ", " -->")
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		panic(err) // plain data can be encoded
	}
	w.WriteByte('\n')
}

func svdPeripheralOf(b reg.Block, safe bool) svdPeripheral {
	p := svdPeripheral{
		Name: b.Name, Description: b.Doc, Base: fmt.Sprintf("%#08x", b.Base),
		Block: svdBlock{"0x0", fmt.Sprintf("%#x", b.Size), "registers"},
	}
	for _, r := range b.Regs {
		p.Registers = append(p.Registers, svdRegisterOf(b, r, safe))
	}
	return p
}

func svdRegisterOf(b reg.Block, r reg.Reg, safe bool) svdRegister {
	out := svdRegister{
		Name: r.Name, Description: about(b, r), Offset: fmt.Sprintf("%#x", r.Off), Size: 32,
		Access: [...]string{reg.RO: "read-only", reg.RW: "read-write", reg.W1C: "read-write", reg.WO: "write-only"}[r.Access],
		Reset:  fmt.Sprintf("%#08x", r.Reset), Mask: "0xffffffff",
	}
	if r.Config {
		out.Reset, out.Mask = "0x00000000", "0x00000000"
	}
	if r.Access == reg.W1C {
		out.Modified = "oneToClear"
	}
	switch {
	case r.Read == reg.Plain:
	case safe:
		out.Access = "write-only"
	default:
		out.Read = "modifyExternal"
	}
	for _, f := range fields(r) {
		high, low := span(f)
		field := svdField{Name: f.Name, Description: aboutField(f), Bits: fmt.Sprintf("[%d:%d]", high, low)}
		if len(f.Enum) > 0 {
			field.Values = &svdEnum{}
		}
		for v, name := range f.Enum {
			field.Values.Values = append(field.Values.Values, svdValue{name, v})
		}
		out.Fields = append(out.Fields, field)
	}
	return out
}
