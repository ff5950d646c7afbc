// Package tool lists the programs outside Go that commands and tests run, such as
// simulators of the Verilog, and finds those that a machine lacks.
package tool

import (
	"fmt"
	"os/exec"
	"slices"
)

// A Program is a command that a machine may lack.
type Program struct {
	Name    string // of the command
	Package string // Debian package that has it
}

// String returns "NAME (Debian package PACKAGE)".
func (p Program) String() string { return fmt.Sprintf("%s (Debian package %s)", p.Name, p.Package) }

// Programs returns every program that some command or test runs. make tools
// installs their packages.
func Programs() []Program {
	return []Program{
		{"verilator", "verilator"}, {"make", "make"}, {"g++", "g++"},
		{"iverilog", "iverilog"}, {"vvp", "iverilog"},
		{"yosys", "yosys"}, {"yosys-abc", "yosys"}, {"nextpnr-ice40", "nextpnr-ice40"},
		{"tshark", "tshark"}, {"git", "git"}, {"bash", "bash"},
	}
}

// SkipReason begins the reason of a test that is skipped for want of a program,
// which follows as String returns it.
const SkipReason = "missing tool: "

// Missing returns the first of the named programs that is not on the path, and
// whether there is one. It panics for a name that Programs does not have.
func Missing(names ...string) (Program, bool) {
	all := Programs()
	for _, name := range names {
		i := slices.IndexFunc(all, func(p Program) bool { return p.Name == name })
		if i < 0 {
			panic("tool: no program " + name)
		}
		if _, err := exec.LookPath(name); err != nil {
			return all[i], true
		}
	}
	return Program{}, false
}
