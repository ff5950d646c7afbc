package synth

import (
	"fmt"
	"strings"
)

// A Part is an FPGA, with the options that the tools take for it.
//
//	Name    as on the part
//	Place   options of nextpnr
//	Timing  options of icetime, for iCE40 only
//	LUTs    of the part, ECP5 only; a design may use four fifths of them, since a part
//	        that is fuller is slow or cannot be routed
//	RAMs    block RAMs of the part, ECP5 only
type Part struct {
	Name   string
	Target Target
	Place  []string
	Timing []string
	LUTs   int
	RAMs   int
}

// HX8K is Device, with DeviceCells logic cells and DeviceRAM block RAMs.
func HX8K() Part {
	return Part{Name: Device, Target: ICE40, Place: []string{"--hx8k", "--package", "ct256"}, Timing: []string{"-d", "hx8k", "-P", "ct256"}}
}

// LFE5U returns an ECP5 in the package of 381 balls, by the thousands of LUTs in its name:
// 12, 25 or 85. The 12 is the die of the 25 (Lattice FPGA-DS-02012, table 1.1; nextpnr).
func LFE5U(thousands int) Part {
	p := Part{
		Name: fmt.Sprintf("LFE5U-%dF-6BG381C", thousands), Target: ECP5, LUTs: 24_288, RAMs: 56,
		Place: []string{fmt.Sprintf("--%dk", thousands), "--package", "CABGA381", "--speed", "6"},
	}
	if thousands == 85 {
		p.LUTs, p.RAMs = 83_640, 208
	}
	return p
}

// counted returns the resources of the part that synthesis has used, and findings if that
// is too much. There are none for a part whose resources are not known.
func (p Part) counted(c Cells) (all []Resource, found []Finding) {
	if p.LUTs == 0 {
		return nil, nil
	}
	if most := p.LUTs * 4 / 5; c.LUT > most {
		found = append(found, Finding{Size, fmt.Sprintf("%d LUTs, want at most %d of %d", c.LUT, most, p.LUTs)})
	}
	if c.RAM > p.RAMs {
		found = append(found, Finding{RAM, fmt.Sprintf("%d block RAMs, want at most %d", c.RAM, p.RAMs)})
	}
	return []Resource{{"LUT4", c.LUT, p.LUTs}, {"TRELLIS_FF", c.FF, p.LUTs}, {"DP16KD", c.RAM, p.RAMs}}, found
}

// netlist returns the options of nextpnr for netlist.json, with a seed and a clock.
func (p Part) netlist(seed int, mhz float64) []string {
	return append(p.Place[:len(p.Place):len(p.Place)], "--json", "netlist.json", "--seed", fmt.Sprint(seed), "--freq", fmt.Sprint(mhz))
}

// ClockConstraint returns the constraint of a clock that comes in at a port, in MHz, for an
// ECP5. Other clocks have that of the design.
func ClockConstraint(port string, mhz float64) []byte {
	return fmt.Appendf(nil, "FREQUENCY PORT \"%s\" %g MHZ;\n", port, mhz)
}

// A backend is what turns the netlist of a family into a bitstream.
//
//	place, pack  programs
//	pins         file and option of the constraints
//	routed       file and option of the placed and routed design
//	bits         suffix of the bitstream
//	args         of the packer, before the routed design and the bitstream
type backend struct {
	place, pack    string
	pins, pinsOpt  string
	routed, outOpt string
	bits           string
	args           []string
}

// backend returns that of the family of the part.
func (p Part) backend() backend {
	if p.Target == ICE40 {
		return backend{"nextpnr-ice40", "icepack", "pins.pcf", "--pcf", "routed.asc", "--asc", ".bin", nil}
	}
	return backend{"nextpnr-ecp5", "ecppack", "pins.lpf", "--lpf", "routed.config", "--textcfg", ".bit", []string{"--compress"}}
}

// Suffix returns that of the name of a bitstream.
func (p Part) Suffix() string { return p.backend().bits }

// PinsFile returns the name of the file with the constraints.
func (p Part) PinsFile() string { return p.backend().pins }

// Constraints returns the constraints that connect ports to pins, as the tools of the part
// read them. Each pin is a port, such as led[0], and its ball.
func (p Part) Constraints(pins [][2]string) []byte {
	var b strings.Builder
	for _, pin := range pins {
		if p.Target == ICE40 {
			fmt.Fprintf(&b, "set_io %s %s\n", pin[0], pin[1])
			continue
		}
		fmt.Fprintf(&b, "LOCATE COMP \"%s\" SITE \"%s\";\nIOBUF PORT \"%[1]s\" IO_TYPE=LVCMOS33;\n", pin[0], pin[1])
	}
	return []byte(b.String())
}
