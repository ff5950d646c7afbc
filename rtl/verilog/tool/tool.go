// Package tool lists the external programs that commands and tests run, such as
// Verilog simulators, and finds those that are missing on this machine.
package tool

import (
	"fmt"
	"os/exec"
	"slices"
)

// A Program is an external command.
type Program struct {
	Name    string // of the command
	Package string // Debian package that contains it, "" if Debian has none
}

// String returns "NAME (Debian package PACKAGE)", or "NAME (not in Debian)".
func (p Program) String() string {
	if p.Package == "" {
		return p.Name + " (not in Debian)"
	}
	return fmt.Sprintf("%s (Debian package %s)", p.Name, p.Package)
}

// Programs returns every external program that a command or test runs. make tools
// installs their packages. Programs that Debian does not have are taken from the path.
func Programs() []Program {
	return []Program{
		{"verilator", "verilator"}, {"make", "make"}, {"g++", "g++"},
		{"iverilog", "iverilog"}, {"vvp", "iverilog"},
		{"yosys", "yosys"}, {"yosys-abc", "yosys"}, {"nextpnr-ice40", "nextpnr-ice40"},
		{"icepack", "fpga-icestorm"}, {"iceunpack", "fpga-icestorm"}, {"icetime", "fpga-icestorm"},
		{"icebox_chipdb", "fpga-icestorm"}, {"icebox_vlog", "fpga-icestorm"}, {"iceprog", "fpga-icestorm"},
		{"nextpnr-ecp5", ""}, {"ecppack", ""},
		{"qemu-system-riscv32", "qemu-system-misc"}, {"riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"}, {"gdb-multiarch", "gdb-multiarch"},
		{"tshark", "tshark"}, {"ping", "iputils-ping"}, {"chromium", "chromium"}, {"gtkwave", "gtkwave"}, {"broadwayd", "libgtk-3-bin"}, {"gcc", "gcc"}, {"git", "git"}, {"bash", "bash"},
	}
}

// SkipReason is the start of a skipped test's reason when a program is missing.
// The program follows, in the format of Program.String.
const SkipReason = "missing tool: "

// FastSet is the environment variable that is 1 where only the tests of the fast set run.
const FastSet = "HILGPU_FAST"

// LongReason is the reason of a skipped test that is not in the fast set.
const LongReason = "long: make test-long runs it"

// Missing returns the first of the named programs that is not on the path, and
// whether there is one. It panics for a name that is not in Programs.
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
