package synth

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Cells counts the cells of a netlist.
//
//	LUT     4-input LUTs; on ECP5 also the two in every carry cell and the six in every
//	        LUT RAM, four with its words and two with its write port
//	FF      flip-flops
//	Carry   carry cells, of one bit on iCE40 and two on ECP5
//	RAM     block RAMs, of 4 kbit on iCE40 and 18 kbit on ECP5
//	LUTRAM  RAMs of 16x4 bits made of LUTs, ECP5 only
//	DSP     multipliers
//	Other   other cells, such as wide multiplexers
type Cells struct {
	LUT    int `json:"lut"`
	FF     int `json:"ff"`
	Carry  int `json:"carry"`
	RAM    int `json:"ram"`
	LUTRAM int `json:"lutram"`
	DSP    int `json:"dsp"`
	Other  int `json:"other"`
}

// add counts n cells of a type.
func (c *Cells) add(kind string, n int) {
	switch {
	case kind == "SB_LUT4" || kind == "LUT4":
		c.LUT += n
	case strings.HasPrefix(kind, "SB_DFF") || kind == "TRELLIS_FF":
		c.FF += n
	case kind == "SB_CARRY":
		c.Carry += n
	case kind == "CCU2C":
		c.Carry += n
		c.LUT += 2 * n
	case strings.HasPrefix(kind, "SB_RAM40_4K") || kind == "DP16KD" || kind == "PDPW16KD":
		c.RAM += n
	case kind == "TRELLIS_DPR16X4":
		c.LUTRAM += n
		c.LUT += 6 * n
	case kind == "SB_MAC16" || kind == "MULT18X18D" || kind == "ALU54B":
		c.DSP += n
	default:
		c.Other += n
	}
}

// A Block is a module and the cells of one instance of it, without those of its
// instances.
type Block struct {
	Name      string `json:"name"`
	Instances int    `json:"instances"`        // in the complete design
	Budget    int    `json:"budget,omitempty"` // most LUTs of one instance, 0 if there is no limit
	Cells
}

// blocks parses the output of stat -json. The top is first, the others are sorted
// by name. Modules without an instance are left out.
func blocks(stat []byte, top string) ([]Block, error) {
	var s struct {
		Modules map[string]struct {
			Cells map[string]int `json:"num_cells_by_type"`
		} `json:"modules"`
	}
	if err := json.Unmarshal(stat, &s); err != nil {
		return nil, fmt.Errorf("%w: stat: %w", ErrYosys, err)
	}
	cells := map[string]map[string]int{}
	for name, m := range s.Modules {
		cells[plain(name)] = m.Cells
	}
	if cells[top] == nil {
		return nil, fmt.Errorf("%w: stat has no module %s", ErrYosys, top)
	}
	n := map[string]int{}
	var count func(name string, times int)
	count = func(name string, times int) {
		n[name] += times
		for kind, k := range cells[name] {
			if cells[plain(kind)] != nil {
				count(plain(kind), times*k)
			}
		}
	}
	count(top, 1)
	var out []Block
	for name, times := range n {
		b := Block{Name: name, Instances: times}
		for kind, k := range cells[name] {
			if cells[plain(kind)] == nil {
				b.add(kind, k)
			}
		}
		out = append(out, b)
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i].Name == top, out[j].Name == top; a != b {
			return a
		}
		return out[i].Name < out[j].Name
	})
	return out, nil
}

// plain returns a name without yosys's prefix for public names. A module with parameters,
// $paramod\cp\base=16'0001000000000000, is cp(base=16'h1000). If its parameters are long,
// yosys has their hash in the name, and so has plain.
func plain(name string) string {
	rest, with := strings.CutPrefix(name, "$paramod")
	parts := strings.Split(rest, `\`)
	switch {
	case !with || len(parts) < 2:
		return strings.TrimPrefix(name, `\`)
	case parts[0] != "":
		return parts[1] + "(" + strings.TrimPrefix(parts[0], "$") + ")"
	}
	for i, p := range parts[2:] {
		field, bits, _ := strings.Cut(p, "'")
		if v, err := strconv.ParseUint(bits, 2, 64); err == nil {
			parts[i+2] = fmt.Sprintf("%s'h%x", field, v)
		}
	}
	return parts[1] + "(" + strings.Join(parts[2:], ", ") + ")"
}
