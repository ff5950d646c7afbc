// Package synth synthesises the emitted Verilog with yosys for two FPGA families
// and counts the cells of each block. It checks the log: a latch, an undriven or
// multiply driven net, a loop, an unexplained warning or a memory in the wrong
// storage is a Finding.
package synth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// Errors of the tools. Problems of the design are Findings, not errors.
var (
	ErrTool   = errors.New("synth: missing tool")
	ErrTarget = errors.New("synth: unknown target")
	ErrTable  = errors.New("synth: no table of expected memories")
	ErrYosys  = errors.New("synth: yosys failed")
	ErrPlace  = errors.New("synth: nextpnr failed")
)

// VRAMBytes is the VRAM size of every synthesised configuration, the smallest
// one: 16 MiB do not fit into block RAM. Apart from VRAM itself, only the widths
// of VRAM offsets depend on it.
const VRAMBytes = 8 << 10

// A Target is a family of FPGAs.
type Target string

// The targets. iCE40 has 4-input LUTs and block RAMs of 4 kbit; ECP5 has block
// RAMs of 18 kbit and also makes 16x4 RAMs of LUTs.
const (
	ICE40 Target = "ice40"
	ECP5  Target = "ecp5"
)

// Targets returns all targets.
func Targets() []Target { return []Target{ICE40, ECP5} }

// Check returns ErrTarget if t is not a target.
func (t Target) Check() error {
	if t != ICE40 && t != ECP5 {
		return fmt.Errorf("%w: %q, want %s or %s", ErrTarget, t, ICE40, ECP5)
	}
	return nil
}

// Tools returns ErrTool with the Debian package of the first of the named tools
// that is missing.
func Tools(names ...string) error {
	if p, missing := tool.Missing(names...); missing {
		return fmt.Errorf("%w: %s", ErrTool, p)
	}
	return nil
}

// Shrink returns c with VRAMBytes of VRAM.
func Shrink(c gpu.Config) gpu.Config {
	c.VRAMBytes = VRAMBytes
	return c
}

// A Source is the input of synthesis.
//
//	Files   Verilog, in any order
//	Top     name of the top module
//	Blocks  modules that are counted one by one; all others become part of
//	        the block above them
//	Cells  whether the source has cells of the family, such as a PLL
//	MHz    clock that the mapper aims at, 0 for GoalMHz
type Source struct {
	Files  []verilog.File
	Top    string
	Blocks []string
	Cells  bool
	MHz    float64
}

// Of returns the source of a design. Its blocks are all modules except the
// primitives of rtl/hdl, whose cost depends on how the block uses them.
func Of(d *verilog.Design) Source {
	s := Source{Files: d.Files, Top: d.Manifest.Top}
	for _, f := range d.Files {
		if name, ok := strings.CutSuffix(f.Name, ".v"); ok && !strings.HasPrefix(name, "hdl_") {
			s.Blocks = append(s.Blocks, name)
		}
	}
	return s
}

// A Report is the result of synthesis for a target.
//
//	Config     name of the configuration, empty if it has none
//	VRAMBytes  of the design
//	Blocks     cells of one instance of each block, without the blocks in it,
//	           optimised within the block
//	Total      cells of the complete design, optimised across blocks
//	Budget     most LUTs of the complete design, 0 if there is no limit
//	Memories   storage of each memory of the complete design
//	Findings   findings in the logs, and differences from the expectation
//	Placement  on a device, nil if not requested
type Report struct {
	Config    string     `json:"config"`
	Target    Target     `json:"target"`
	VRAMBytes uint64     `json:"vram_bytes"`
	Blocks    []Block    `json:"blocks"`
	Total     Cells      `json:"total"`
	Budget    int        `json:"budget,omitempty"`
	Memories  []Memory   `json:"memories"`
	Findings  []Finding  `json:"findings"`
	Placement *Placement `json:"placement,omitempty"`
}

// Run synthesises s twice, once with separate blocks and once flattened, and
// compares the flattened design with want. It fails with ErrTarget, ErrTool or
// ErrYosys.
func Run(s Source, target Target, want Expectation) (*Report, error) {
	if err := target.Check(); err != nil {
		return nil, err
	}
	if err := Tools("yosys"); err != nil {
		return nil, err
	}
	type outcome struct {
		*netlist
		err error
	}
	apart := make(chan outcome)
	go func() {
		n, err := synthesise(s, target, true)
		apart <- outcome{n, err}
	}()
	flat, err := synthesise(s, target, false)
	parts := <-apart
	if err = errors.Join(err, parts.err); err != nil {
		return nil, err
	}
	r := &Report{Target: target, Memories: memories(flat.log, s.Top), Findings: []Finding{}}
	if r.Blocks, err = blocks(parts.stat, s.Top); err != nil {
		return nil, err
	}
	all, err := blocks(flat.stat, s.Top)
	if err != nil {
		return nil, err
	}
	r.Total = all[0].Cells
	r.Budget = want.LUT
	r.Findings = append(r.Findings, findings(flat.log, parts.log)...)
	r.Findings = append(r.Findings, want.compare(r)...)
	r.Findings = append(r.Findings, want.limit(r)...)
	return r, nil
}
