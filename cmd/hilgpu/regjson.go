package main

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// registersJSON is what reg list --json prints.
type registersJSON struct {
	Registers []regJSON `json:"registers"`
}

// readJSON is what reg read --json prints.
type readJSON struct {
	Board     string      `json:"board"`
	MapHash   string      `json:"map_hash"`
	Registers []regJSON   `json:"registers"`
	Skipped   []regs.Skip `json:"skipped"`
}

// writesJSON is what reg write --json prints: the writes that were made.
type writesJSON struct {
	Board  string        `json:"board"`
	Writes []writtenJSON `json:"writes"`
}

// snapJSON is what reg snap --json prints of a file.
type snapJSON struct {
	File      string `json:"file"`
	Board     string `json:"board"`
	MapHash   string `json:"map_hash"`
	Registers int    `json:"count"`
}

// diffJSON is what reg diff --json prints.
type diffJSON struct {
	A string `json:"a"`
	B string `json:"b"`
	regs.Difference
}

// regJSON is a register as JSON.
type regJSON struct {
	Name     string      `json:"name"`
	Offset   regs.Hex    `json:"offset"`
	Bits     int         `json:"bits"`
	Value    string      `json:"value,omitempty"`
	Access   string      `json:"access"`
	Reset    string      `json:"reset"` // "config" if the configuration decides
	Volatile bool        `json:"volatile"`
	Read     string      `json:"read_effect,omitempty"`
	Write    string      `json:"write_effect,omitempty"`
	Poke     string      `json:"poke,omitempty"`
	Unit     string      `json:"unit,omitempty"`
	Doc      string      `json:"doc"`
	Fields   []fieldJSON `json:"fields,omitempty"`
}

type fieldJSON struct {
	Name    string   `json:"name"`
	Mask    regs.Hex `json:"mask"`
	Value   *uint32  `json:"value,omitempty"`
	Meaning string   `json:"meaning,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Enum    []string `json:"enum,omitempty"`
	Doc     string   `json:"doc"`
}

// newRegJSON describes a target; value is nil if it was not read.
func newRegJSON(t regs.Target, value *uint64) regJSON {
	r := t.Entry.Reg
	j := regJSON{
		Name: t.Name(), Offset: regs.Hex(t.Entry.Off()), Bits: t.Bits(), Access: r.Access.String(), Reset: fmt.Sprintf("%#x", r.Reset),
		Volatile: r.Volatile, Read: r.Read.String(), Write: r.Write.String(), Unit: r.Unit, Doc: r.Doc,
	}
	if r.Config {
		j.Reset = "config"
	}
	if r.Access != reg.RO {
		j.Poke = r.Poke.String()
	}
	fields := r.Fields
	if t.Field != nil {
		fields = []reg.Field{*t.Field}
	}
	for _, f := range fields {
		j.Fields = append(j.Fields, newFieldJSON(t, f, value))
	}
	if value != nil {
		j.Value = fmt.Sprintf("%#x", *value)
	}
	return j
}

func newFieldJSON(t regs.Target, f reg.Field, value *uint64) fieldJSON {
	j := fieldJSON{Name: strings.ToLower(f.Name), Mask: regs.Hex(f.Mask), Unit: f.Unit, Enum: f.Enum, Doc: f.Doc}
	if value == nil {
		return j
	}
	v := uint32(*value)
	if t.Field == nil {
		v = f.Get(v)
	}
	j.Value = &v
	if int64(v) < int64(len(f.Enum)) {
		j.Meaning = f.Enum[v]
	}
	return j
}

// writtenJSON is one write as JSON.
type writtenJSON struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	Sent   string `json:"sent"`
	After  string `json:"after,omitempty"`
}
