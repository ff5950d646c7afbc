package synth

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A cellList is the module of a netlist of yosys. A bit is a number, or a constant as text.
type cellList struct {
	Cells map[string]struct {
		Type        string           `json:"type"`
		Connections map[string][]any `json:"connections"`
	} `json:"cells"`
	Nets map[string]struct {
		Bits []any `json:"bits"`
	} `json:"netnames"`
}

// owners returns the registers and memories of the design by the cells in which nextpnr
// puts them. instance is the design in the top of the netlist.
func owners(netlist []byte, top, instance string, m *verilog.Manifest) (map[string]End, error) {
	var file struct {
		Modules map[string]cellList `json:"modules"`
	}
	if err := json.Unmarshal(netlist, &file); err != nil {
		return nil, fmt.Errorf("%w: netlist: %w", ErrYosys, err)
	}
	list, ok := file.Modules[top]
	if !ok {
		return nil, fmt.Errorf("%w: the netlist has no module %s", ErrYosys, top)
	}
	ends, luts := list.registers(instance, m), list.luts()
	out := map[string]End{}
	for name, c := range list.Cells {
		switch {
		case isFF(c.Type):
			e, ok := ends[bit(c.Connections["Q"])]
			if !ok {
				continue
			}
			// nextpnr puts a flip-flop into the cell of the LUT before it, and names a
			// cell without a LUT after the flip-flop.
			out[name+"_DFFLC"], out[name] = e, e
			if lut, ok := luts[bit(append(c.Connections["D"], c.Connections["DI"]...))]; ok {
				out[lut+"_LC"] = e
			}
		case strings.Contains(c.Type, "RAM") || strings.HasSuffix(c.Type, "16KD"):
			if e, ok := memory(name, instance, m); ok {
				out[name+"_RAM"], out[name] = e, e
			}
		}
	}
	return out, nil
}

// isFF reports whether a type of cell is a flip-flop.
func isFF(kind string) bool {
	var c Cells
	c.add(kind, 1)
	return c.FF == 1
}

// bit returns the number of the only bit of a connection, or 0, which no net has.
func bit(bits []any) int {
	if len(bits) == 1 {
		if n, ok := bits[0].(float64); ok {
			return int(n)
		}
	}
	return 0
}

// registers returns the registers by bit of the netlist.
func (l *cellList) registers(instance string, m *verilog.Manifest) map[int]End {
	out := map[int]End{}
	for _, r := range m.Registers {
		for i, b := range l.Nets[instance+"."+r.Verilog].Bits {
			e := End{Go: r.Go, Pos: r.Pos}
			if r.Width > 1 {
				e.Go += fmt.Sprintf("[%d]", i)
			}
			if n := bit([]any{b}); n != 0 {
				out[n] = e
			}
		}
	}
	return out
}

// luts returns the LUTs by the bit that they drive.
func (l *cellList) luts() map[int]string {
	out := map[int]string{}
	for name, c := range l.Cells {
		if c.Type == "SB_LUT4" {
			out[bit(c.Connections["O"])] = name
		}
	}
	delete(out, 0)
	return out
}

// memory returns the memory of a block RAM.
func memory(cell, instance string, m *verilog.Manifest) (End, bool) {
	for _, mem := range m.Memories {
		if strings.HasPrefix(cell, instance+"."+mem.Verilog+".") {
			return End{Go: mem.Go}, true
		}
	}
	return End{}, false
}
