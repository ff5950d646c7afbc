package synth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Device is the device that Place targets.
const Device = "iCE40HX8K-CT256"

// The resources of the device, and the limits for the GPU: most cells and block
// RAMs, and lowest clock. The microcontroller alone has that clock too. The logic that
// connects a design to pins does not count.
const (
	DeviceCells = 7680
	DeviceRAM   = 32
	GoalCells   = 6092
	GoalRAM     = 26
	GoalMHz     = 24.0
)

// A Placement is the result of placing a design on Device, with logic that connects it to
// pins.
//
//	Cells     logic cells of the design: those of both less those of that logic
//	PinCells  logic cells of that logic, packed on its own
//	RAM       block RAMs
//	Fits      whether the device has enough of both
//	MHz       highest clock after routing, 0 if it does not fit
//	Findings  findings in the log of both
type Placement struct {
	Device   string    `json:"device"`
	Cells    int       `json:"cells"`
	PinCells int       `json:"pin_cells"`
	RAM      int       `json:"ram"`
	Fits     bool      `json:"fits"`
	MHz      float64   `json:"mhz"`
	Goals    []Goal    `json:"goals"`
	Findings []Finding `json:"findings"`
}

// A Goal is a limit and the measured value.
type Goal struct {
	Name  string  `json:"name"`
	Got   float64 `json:"got"`
	Want  float64 `json:"want"` // upper limit; of the clock, lower limit
	Holds bool    `json:"holds"`
	kind  Kind    // of the finding if it does not hold
}

// goals returns the goals of the placement of a GPU.
func (p *Placement) goals() []Goal {
	most := func(name string, got, want int) Goal {
		return Goal{name, float64(got), float64(want), got <= want, Size}
	}
	return []Goal{most("logic cells", p.Cells, GoalCells), most("block RAMs", p.RAM, GoalRAM), p.clock()}
}

// clock returns the goal of the clock. One that could not be measured misses it.
func (p *Placement) clock() Goal { return Goal{"MHz", p.MHz, GoalMHz, p.MHz >= GoalMHz, Clock} }

// PlaceTools returns ErrTool if a tool of Place is missing.
func PlaceTools() error { return Tools("yosys", "nextpnr-ice40") }

// Place places a GPU with its pin port on Device. A GPU that does not fit is not
// an error: its cells are still counted. It fails with ErrTool, ErrYosys or
// ErrPlace.
func Place(d *verilog.Design) (*Placement, error) {
	board, err := onPins(d)
	if err != nil {
		return nil, err
	}
	p, err := placed(board, pinport())
	if err != nil {
		return nil, err
	}
	p.Goals = p.goals()
	return p, nil
}

// PlaceAlone places a block of a GPU with a shift register for its ports, as Place does. Its
// goal is the clock.
func PlaceAlone(d *verilog.Design) (*Placement, error) {
	board, chain := onChain(d)
	p, err := placed(board, chain)
	if err != nil {
		return nil, err
	}
	p.Goals = []Goal{p.clock()}
	return p, nil
}

// placed places a board. pins is the part of it that does not count.
func placed(s, pins Source) (*Placement, error) {
	if err := PlaceTools(); err != nil {
		return nil, err
	}
	apart, err := synthesise(pins, ICE40, false)
	if err != nil {
		return nil, err
	}
	pinCells, err := pack(apart)
	if err != nil {
		return nil, err
	}
	board, err := synthesise(s, ICE40, false)
	if err != nil {
		return nil, err
	}
	all, err := blocks(board.stat, s.Top)
	if err != nil {
		return nil, err
	}
	cells, err := pack(board)
	if err != nil {
		return nil, err
	}
	p := &Placement{Device: Device, Cells: cells - pinCells, PinCells: pinCells, RAM: all[0].RAM, Findings: findings(board.log)}
	p.Fits = cells <= DeviceCells && p.RAM <= DeviceRAM
	if p.Fits {
		if p.MHz, err = route(board); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// nextpnr runs nextpnr-ice40 on a netlist. It returns the output and the working
// directory, which the caller removes.
func nextpnr(n *netlist, args ...string) (out, dir string, err error) {
	dir, err = scratch([]verilog.File{{Name: "netlist.json", Text: n.json}})
	if err != nil {
		return "", "", err
	}
	args = append(HX8K().netlist(1, GoalMHz), args...)
	out, err = command(dir, "nextpnr-ice40", args...)
	if err != nil {
		err = fmt.Errorf("%w: %w\n%s", ErrPlace, err, tail(out))
	}
	return out, dir, err
}

// pack returns the number of logic cells of a netlist. A cell takes a LUT, a
// flip-flop and a carry that belong together. The number may exceed that of the
// device.
func pack(n *netlist) (int, error) {
	out, dir, err := nextpnr(n, "--pack-only")
	os.RemoveAll(dir)
	if err != nil {
		return 0, err
	}
	return packed(out)
}

// packed returns the sum of the logic cells in the packer's report.
func packed(out string) (int, error) {
	cells, found := 0, 0
	for _, m := range regexp.MustCompile(`(\d+) LCs used as (LUT4 only|LUT4 and DFF|DFF only|CARRY only)`).FindAllStringSubmatch(out, -1) {
		k, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrPlace, err)
		}
		cells += k
		found++
	}
	if found != 4 {
		return 0, fmt.Errorf("%w: the packer reports %d of 4 kinds of logic cell\n%s", ErrPlace, found, tail(out))
	}
	return cells, nil
}

// route places and routes a netlist and returns the highest clock in MHz.
func route(n *netlist) (float64, error) {
	_, dir, err := nextpnr(n, "--timing-allow-fail", "--report", "report.json")
	defer os.RemoveAll(dir)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return 0, err
	}
	return slowest(text)
}

// A clock is one in a report of nextpnr, in MHz. Constraint is 0 if it has none.
type clock struct {
	Achieved   float64 `json:"achieved"`
	Constraint float64 `json:"constraint"`
}

// clocks returns the clocks in a report of nextpnr, by name.
func clocks(report []byte) (map[string]clock, error) {
	var r struct {
		Fmax map[string]clock `json:"fmax"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("%w: report: %w", ErrPlace, err)
	}
	if len(r.Fmax) == 0 {
		return nil, fmt.Errorf("%w: the report has no clock", ErrPlace)
	}
	return r.Fmax, nil
}

// slowest returns the lowest achieved clock in a report of nextpnr, in MHz.
func slowest(report []byte) (float64, error) {
	all, err := clocks(report)
	mhz := 0.0
	for _, c := range all {
		if mhz == 0 || c.Achieved < mhz {
			mhz = c.Achieved
		}
	}
	return mhz, err
}

// missed returns a finding for each clock in a report of nextpnr that is slower than its
// constraint, or than want MHz if it has none.
func missed(report []byte, want float64) (found []Finding, err error) {
	all, err := clocks(report)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		if least := cmp.Or(c.Constraint, want); c.Achieved < least {
			found = append(found, Finding{Clock, fmt.Sprintf("%s: %.2f MHz by nextpnr, want %.5g MHz", name, c.Achieved, least)})
		}
	}
	return found, err
}
