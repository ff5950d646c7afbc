package report

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A Block is a block of registers.
type Block struct {
	Name, Doc string
	Registers []Register
	Unread    []string // registers whose value is not known, with the last write
}

// A Register has the value that the last read of the log gave.
type Register struct {
	Name, Offset, Value, Reset string
	Event                      uint64 // the read
	Written                    string // value of a later write, whose effect no read shows
	Fields                     []Field
}

// A Field is a field of a register.
type Field struct {
	Name, Bits, Value, Reset, Doc string
	Changed                       bool // from the value after reset
}

// An access is the last one of a kind to a register.
type access struct {
	value uint32
	event uint64
}

// registers has the last accesses to each offset of BAR0.
type registers struct{ reads, writes map[uint32]access }

// add keeps an access. Only the first dword of a longer one is in the log.
func (r *registers) add(e *eventlog.Event) {
	if e.Fields[0] != 0 || e.HasText() {
		return
	}
	if r.reads == nil {
		r.reads, r.writes = map[uint32]access{}, map[uint32]access{}
	}
	to := r.reads
	if e.Kind == eventlog.Write {
		to = r.writes
	}
	to[uint32(e.Fields[1])] = access{uint32(e.Fields[3]), e.ID}
}

// blocks returns the registers by block, those of the map and, at the end, others.
func (r *registers) blocks(of *run) (out []Block) {
	known := map[uint32]bool{}
	if !of.OtherMap {
		for _, b := range regmap.New().Blocks() {
			block := Block{Name: b.Name, Doc: b.Doc}
			for _, one := range b.Regs {
				off := b.Base + one.Off
				known[off] = true
				if read, ok := r.reads[off]; ok {
					block.Registers = append(block.Registers, r.register(b, one, read))
				} else {
					block.Unread = append(block.Unread, one.Name+r.written(off))
				}
			}
			out = append(out, block)
		}
	}
	others := Block{Name: "others", Doc: "offsets without a register in the map of this program"}
	for off, read := range r.reads {
		if !known[off] {
			others.Registers = append(others.Registers, Register{Name: fmt.Sprintf("0x%04x", off), Offset: fmt.Sprintf("0x%04x", off), Value: fmt.Sprintf("%#x", read.value), Event: read.event})
		}
	}
	slices.SortFunc(others.Registers, func(a, b Register) int { return compare(a.Offset, b.Offset) })
	if len(others.Registers) > 0 {
		out = append(out, others)
	}
	return out
}

// written returns what the host wrote last to a register that it has not read, as a text, or "".
func (r *registers) written(off uint32) string {
	if w, ok := r.writes[off]; ok {
		return fmt.Sprintf(" (last written %#x)", w.value)
	}
	return ""
}

// compare compares offsets of the same length.
func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (r *registers) register(b reg.Block, one reg.Reg, read access) Register {
	out := Register{Name: one.Name, Offset: fmt.Sprintf("0x%04x", b.Base+one.Off), Value: fmt.Sprintf("%#x", read.value), Reset: resetOf(one, one.Reset), Event: read.event}
	if w, ok := r.writes[b.Base+one.Off]; ok && w.event > read.event {
		out.Written = fmt.Sprintf("%#x", w.value)
	}
	for _, f := range one.Fields {
		out.Fields = append(out.Fields, Field{
			Name: f.Name, Bits: f.Bits(), Doc: f.Doc, Value: f.Format(f.Get(read.value)), Reset: fieldReset(one, f),
			Changed: !one.Config && f.Get(read.value) != f.Get(one.Reset),
		})
	}
	if len(one.Fields) == 0 {
		out.Fields = []Field{{Bits: "31..0", Doc: one.Doc, Value: out.Value, Reset: resetOf(one, one.Reset), Changed: !one.Config && read.value != one.Reset}}
	}
	return out
}

// resetOf returns the value after reset.
func resetOf(one reg.Reg, v uint32) string {
	if one.Config {
		return "of the configuration"
	}
	return fmt.Sprintf("%#x", v)
}

func fieldReset(one reg.Reg, f reg.Field) string {
	if one.Config {
		return "of the configuration"
	}
	return f.Format(f.Get(one.Reset))
}
