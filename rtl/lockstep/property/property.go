// Package property proves properties of the GPU's Verilog with yosys: statements that
// hold for all inputs and not only for the traffic of a simulation.
//
// A property is a checker, a Verilog module with assertions on signals of one module of
// the design and assumptions on its inputs. The checker is instantiated in that module's
// text, as emitted. Instances that the property does not need are left out, and their
// outputs may have any value in any clock.
package property

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Property is a statement about a module of the design.
type Property struct {
	Name    string // subject.property; its checker is checks/subject_property.v
	Text    string // one sentence
	Assumes string // assumptions on the inputs, "" if there are none
	Source  string // the document or Go declaration that promises it
	Module  string // Verilog module of which it is a property
	Keep    []string
	Connect map[string]string // expressions for ports of the checker that are not named after a signal
	Inside  map[string]string // registers of instances, as INSTANCE.REGISTER, for further ports
}

//go:embed checks
var checks embed.FS

// checker returns the name and the text of the checker.
func (p Property) checker() (name string, text []byte) {
	name = strings.ReplaceAll(p.Name, ".", "_")
	text, err := checks.ReadFile("checks/" + name + ".v")
	if err != nil {
		panic(err)
	}
	include := regexp.MustCompile("(?m)^`include \"(.*)\"\n")
	text = include.ReplaceAllFunc(text, func(line []byte) []byte {
		shared, err := checks.ReadFile("checks/" + string(include.FindSubmatch(line)[1]))
		if err != nil {
			panic(err)
		}
		return shared
	})
	return name, text
}

// A port is a port of a checker or a signal of a module. The width is "" for one bit.
type port struct {
	name, width string
	out         bool
}

// ports returns the ports of a checker.
func ports(text []byte) []port {
	declared := regexp.MustCompile(`(?m)^\s*(input|output)\s+(?:reg\s+|wire\s+)?(\[[^]]*\])?\s*(\w+),?$`)
	var out []port
	for _, m := range declared.FindAllSubmatch(text, -1) {
		out = append(out, port{name: string(m[3]), width: string(m[2]), out: string(m[1]) == "output"})
	}
	return out
}

// signals returns the widths of the signals of a module by name.
func signals(text []byte) map[string]string {
	declared := regexp.MustCompile(`(?m)^\s*(?:input\s+|output\s+)?(?:reg|wire)\s+(\[[^]]*\])?\s*(\w+)(?:,|;| =|$)`)
	out := map[string]string{}
	for _, m := range declared.FindAllSubmatch(text, -1) {
		out[string(m[2])] = string(m[1])
	}
	return out
}

// file returns the text of a module of the design, and whether it exists.
func file(d *verilog.Design, module string) ([]byte, bool) {
	i := slices.IndexFunc(d.Files, func(f verilog.File) bool { return f.Name == module+".v" })
	if i < 0 {
		return nil, false
	}
	return d.Files[i].Text, true
}

// Missing returns the first signal of the property that the design does not have, as
// MODULE or MODULE.SIGNAL, because its configuration leaves it out. It returns "" if
// there is none.
func (p Property) Missing(d *verilog.Design) string {
	text, ok := file(d, p.Module)
	if !ok {
		return p.Module
	}
	_, check := p.checker()
	known := signals(text)
	for _, port := range ports(check) {
		_, ok := known[port.name]
		if !ok && p.Connect[port.name] == "" && p.Inside[port.name] == "" && !port.out && port.name != begun {
			return p.Module + "." + port.name
		}
	}
	return ""
}

// begun is the port of a checker that is set after the first clock, in which rst is set.
const begun = "begun"

// bind returns the text of the property's module with an instance of its checker. It
// fails if the widths of a port and its signal differ.
func (p Property) bind(text []byte) ([]byte, error) {
	name, check := p.checker()
	known := signals(text)
	var wires, links strings.Builder
	for _, port := range ports(check) {
		width, from := known[port.name], port.name
		switch given, ok := p.Connect[port.name]; {
		case ok:
			from = given
		case port.out || port.name == begun || p.Inside[port.name] != "":
			from = "check_" + port.name
			fmt.Fprintf(&wires, "  wire %s %s;\n", port.width, from)
		case width != port.width:
			return nil, fmt.Errorf("%w: %s: %s is %q in the checker and %q in %s", ErrYosys, p.Name, port.name, port.width, width, p.Module)
		}
		fmt.Fprintf(&links, "    .%s(%s),\n", port.name, from)
	}
	var set []string
	for _, m := range regexp.MustCompile(`(?m)^\s*parameter (\w+)`).FindAllSubmatch(check, -1) {
		set = append(set, fmt.Sprintf(".%s(%s)", m[1], m[1]))
	}
	if set != nil {
		name += " #(" + strings.Join(set, ", ") + ")"
	}
	end := strings.LastIndex(string(text), "endmodule")
	if end < 0 {
		return nil, fmt.Errorf("%w: %s: no module in %s.v", ErrYosys, p.Name, p.Module)
	}
	bound := fmt.Sprintf("%s  started started (.clk(clk), .rst(rst), .begun(check_begun));\n  %s check (\n%s\n  );\nendmodule\n",
		wires.String(), name, strings.TrimSuffix(links.String(), ",\n"))
	return append(slices.Clone(text[:end]), bound...), nil
}
