package sim

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// tunedTop is the module around a tuned design. Its inputs pass through registers.
const tunedTop = "hilgpu_tuned"

// tunedFlags are the flags of g++ for a tuned design.
const tunedFlags = "-O3 -march=native"

// tuned returns d in the form that Verilator simulates fastest. The inputs pass
// through registers, so that no logic depends on an input of the model, and both edges
// of clk are clocks, so that each evaluation is one. With waves, only the ports of the
// top and the registers are traced.
func tuned(d *verilog.Design, waves bool) *verilog.Design {
	out := &verilog.Design{Manifest: d.Manifest}
	out.Manifest.Top = tunedTop
	traced := map[string]map[string]bool{}
	if waves {
		traced = tracedNames(d)
	}
	for _, f := range d.Files {
		text := strings.ReplaceAll(string(f.Text), "@(posedge clk)", "@(edge clk)")
		if waves && strings.HasSuffix(f.Name, ".v") {
			text = traceOnly(text, traced)
		}
		out.Files = append(out.Files, verilog.File{Name: f.Name, Text: []byte(text)})
	}
	top := registeredInputs(&d.Manifest)
	if waves {
		top = traceOnly(top, traced)
	}
	out.Files = append(out.Files, verilog.File{Name: tunedTop + ".v", Text: []byte(top)})
	return out
}

// registeredInputs returns the module around the design.
func registeredInputs(m *verilog.Manifest) string {
	var ports, regs, clocked, wires []string
	for i, p := range m.Ports {
		wide := fmt.Sprintf("[%d:0] ", p.Width-1)
		switch {
		case i == 0:
			ports, wires = append(ports, "  input wire clk"), append(wires, "    .clk(clk)")
		case p.Input:
			ports = append(ports, "  input wire "+wide+p.Name)
			regs = append(regs, "  reg "+wide+"registered_"+p.Name+" = 0;\n")
			clocked = append(clocked, "    registered_"+p.Name+" <= "+p.Name+";\n")
			wires = append(wires, "    ."+p.Name+"(registered_"+p.Name+")")
		default:
			ports = append(ports, "  output wire "+wide+p.Name)
			wires = append(wires, "    ."+p.Name+"("+p.Name+")")
		}
	}
	return fmt.Sprintf("module %s (\n%s\n);\n%s  initial registered_rst = 1;\n  always @(edge clk) begin\n%s  end\n  %s %s (\n%s\n  );\nendmodule\n",
		tunedTop, strings.Join(ports, ",\n"), strings.Join(regs, ""), strings.Join(clocked, ""), m.Top, m.Top, strings.Join(wires, ",\n"))
}

// Lines of a design.
var (
	moduleLine   = regexp.MustCompile(`^module (\w+)`)
	instanceLine = regexp.MustCompile(`^\s+(\w+)(?: #\(.*?\))? (\w+) \(`)
	nameLine     = regexp.MustCompile(`^\s*(?:\(\*.*?\*\) )?(?:input|output|reg|wire|integer)\s(?:(?:reg|wire)\s)?\s*(?:\[.*?\])?\s*(\w+)`)
)

// tracedNames returns the declarations that waves show, by module: registers, and the
// ports of the top except rst.
func tracedNames(d *verilog.Design) map[string]map[string]bool {
	instances, in := map[string]map[string]string{}, "" // modules of the instances of each module
	var lines []string
	for _, f := range d.Files {
		lines = append(lines, strings.Split(string(f.Text), "\n")...)
	}
	for _, line := range lines {
		if m := moduleLine.FindStringSubmatch(line); m != nil {
			instances[m[1]] = map[string]string{}
		}
	}
	for _, line := range lines {
		if m := moduleLine.FindStringSubmatch(line); m != nil {
			in = m[1]
		}
		if m := instanceLine.FindStringSubmatch(line); m != nil && instances[m[1]] != nil {
			instances[in][m[2]] = m[1]
		}
	}
	names := map[string]map[string]bool{}
	add := func(module, name string) {
		if names[module] == nil {
			names[module] = map[string]bool{}
		}
		names[module][name] = true
	}
	for _, p := range d.Manifest.Ports {
		if p.Name != "rst" {
			add(d.Manifest.Top, p.Name)
		}
	}
	for _, r := range d.Manifest.Registers {
		path := strings.Split(r.Verilog, ".")
		module := d.Manifest.Top
		for _, instance := range path[:len(path)-1] {
			module = instances[module][instance]
		}
		add(module, path[len(path)-1])
	}
	return names
}

// traceOnly limits the tracing of a file to the named declarations.
func traceOnly(text string, names map[string]map[string]bool) string {
	var b strings.Builder
	in := ""
	for line := range strings.Lines(text) {
		if m := moduleLine.FindStringSubmatch(line); m != nil {
			in = m[1]
		}
		if m := nameLine.FindStringSubmatch(line); m != nil && !names[in][m[1]] {
			line = "/*verilator tracing_off*/\n" + strings.TrimRight(line, "\n") + "\n/*verilator tracing_on*/\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
