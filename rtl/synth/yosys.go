package synth

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A netlist is the output of one run of yosys.
type netlist struct {
	log  string
	stat []byte // output of stat -json
	json []byte // the netlist, of a run with flattened blocks
}

// script returns the commands of a run. mapping has the options of the mapping to cells. The first check sees every module as it
// was written. Those of the synthesis see it flattened, before unused and
// undriven nets are optimised away.
func script(s Source, target Target, apart bool, mapping string) string {
	var b strings.Builder
	b.WriteString("read_verilog -D SYNTHESIS")
	for _, f := range s.Files {
		if strings.HasSuffix(f.Name, ".v") {
			b.WriteString(" " + f.Name)
		}
	}
	if s.Cells {
		b.WriteString("\n" + models(target))
	}
	fmt.Fprintf(&b, "\nhierarchy -check -top %s\nproc\ncheck\n", s.Top)
	if apart {
		for _, m := range s.Blocks {
			fmt.Fprintf(&b, "setattr -mod -set keep_hierarchy 1 %s\n", s.selection(m))
		}
	}
	fmt.Fprintf(&b, "scratchpad -set abc9.D %.0f\n", picoseconds/cmp.Or(s.MHz, GoalMHz)/2)
	fmt.Fprintf(&b, "synth_%s -top %s%s", target, s.Top, mapping)
	if !apart {
		b.WriteString(" -json netlist.json")
	}
	b.WriteString("\ntee -q -o stat.json stat -json\n")
	return b.String()
}

// selection returns what selects a block after the hierarchy is elaborated. Yosys renames
// a module with parameters, once for each set of values.
func (s Source) selection(block string) string {
	for _, f := range s.Files {
		if bytes.Contains(f.Text, []byte("\nmodule "+block+" #(")) {
			return `$paramod*\` + block + "*"
		}
	}
	return block
}

// picoseconds in a microsecond, to convert a clock in MHz.
const picoseconds = 1e6

// mapping returns the options of the mapping to cells. The mapper gets half of the
// clock period, since wires take the other half: then it minimises cells and not the
// longest path. On iCE40 it also gets the flip-flops, and drops those that equal
// another. On ECP5 it makes no LUTs of more than four inputs, which are two or more
// with a multiplexer.
func mapping(target Target) string {
	if target == ICE40 {
		return " -abc9 -device hx -dff"
	}
	return " -abc9 -nowidelut"
}

// models returns the command that reads the cells of a family, without their contents.
func models(target Target) string {
	if target == ICE40 {
		return "read_verilog -D ICE40_HX -lib -specify +/ice40/cells_sim.v"
	}
	return "read_verilog -lib -specify +/ecp5/cells_sim.v +/ecp5/cells_bb.v"
}

// synthesise runs yosys in a temporary directory.
func synthesise(s Source, target Target, apart bool) (*netlist, error) {
	dir, err := scratch(s.Files)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return synthesiseIn(dir, s, target, apart)
}

// synthesiseIn runs yosys in the directory of the files.
func synthesiseIn(dir string, s Source, target Target, apart bool) (*netlist, error) {
	out, err := yosys(dir, script(s, target, apart, mapping(target)))
	if err != nil && target == ICE40 && strings.Contains(out, unmapped) {
		out, err = yosys(dir, script(s, target, apart, apartFromFF))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", ErrYosys, err, tail(out))
	}
	n := &netlist{}
	log, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil {
		return nil, err
	}
	n.log = string(log)
	if n.stat, err = os.ReadFile(filepath.Join(dir, "stat.json")); err != nil {
		return nil, err
	}
	if !apart {
		n.json, err = os.ReadFile(filepath.Join(dir, "netlist.json"))
	}
	return n, err
}

// unmapped is what ABC of yosys 0.23 prints when it finds no mapping with the flip-flops, and
// apartFromFF the options without them, with which it does (YosysHQ/yosys issue 4766).
const (
	unmapped    = "Mapping of GIA has failed"
	apartFromFF = " -abc9 -device hx"
)

// yosys runs a script in dir and returns the output.
func yosys(dir, script string) (string, error) {
	if err := os.WriteFile(filepath.Join(dir, "run.ys"), []byte(script), 0o666); err != nil {
		return "", err
	}
	out, err := command(dir, "yosys", "-q", "-l", "log.txt", "-s", "run.ys")
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log.txt"))
		out += "\n" + string(log)
	}
	return out, err
}

// scratch returns a temporary directory with the files.
func scratch(files []verilog.File) (string, error) {
	dir, err := os.MkdirTemp("", "hilgpu-synth-")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666); err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}

// command runs a tool in dir and returns its output.
func command(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.String(), err
}

// tail returns the last lines of a tool's output.
func tail(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
