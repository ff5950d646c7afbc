package synth

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

//go:embed pll.v
var pllText []byte

// unpacked is the module around a bitstream that was unpacked.
const unpacked = "unpacked"

// UnpackTools are the programs that Unpack needs, listed in package tool.
func UnpackTools() []string { return []string{"yosys", "iceunpack", "icebox_vlog"} }

// Unpack returns a bitstream for iCE40 as Verilog again, for a simulator: what is in the
// logic cells, block RAMs and wires that the bitstream programs. clock is the pin of the
// clock. The PLL passes it on unchanged. The ports are clk, rst, which nothing uses, and the
// pins by name, with _ for brackets: led[0] is led_0. It fails with ErrTool or ErrPlace.
func Unpack(bitstream, pins []byte, clock string) (*verilog.Design, error) {
	if err := Tools(UnpackTools()...); err != nil {
		return nil, err
	}
	dir, err := scratch([]verilog.File{{Name: "in.bin", Text: bitstream}, {Name: "pins.pcf", Text: pins}})
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if out, err := command(dir, "iceunpack", "in.bin", "in.asc"); err != nil {
		return nil, fmt.Errorf("%w: iceunpack: %w\n%s", ErrPlace, err, tail(out))
	}
	c := exec.Command("icebox_vlog", "-s", "-n", "chip", "-p", "pins.pcf", "in.asc")
	c.Dir = dir
	chip, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: icebox_vlog: %w", ErrPlace, err)
	}
	return around(bytes.ReplaceAll(chip, []byte("SB_PLL40_CORE"), []byte("pll_model")), clock)
}

// header is a port of the module chip: its direction and its name, which may be escaped.
var header = regexp.MustCompile(`(input|output) \\?([^\s,)]+)`)

// around returns the module chip with the models of its cells, and a module with plain
// names around it.
func around(chip []byte, clock string) (*verilog.Design, error) {
	_, rest, _ := strings.Cut(string(chip), "module chip (")
	head, _, found := strings.Cut(rest, ");")
	if !found {
		return nil, fmt.Errorf("%w: icebox_vlog wrote no module", ErrPlace)
	}
	cells, err := cellModels(chip)
	if err != nil {
		return nil, err
	}
	d := &verilog.Design{Manifest: verilog.Manifest{Top: unpacked, Ports: []verilog.Port{
		{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
	}}}
	outer, inner := []string{"input wire clk", "input wire rst"}, []string{}
	for _, m := range header.FindAllStringSubmatch(head, -1) {
		name := strings.TrimSuffix(strings.ReplaceAll(m[2], "[", "_"), "]")
		if m[2] == clock {
			inner = append(inner, fmt.Sprintf(".\\%s (clk)", m[2]))
			continue
		}
		d.Manifest.Ports = append(d.Manifest.Ports, verilog.Port{Name: name, Input: m[1] == "input", Width: 1, Go: name})
		outer = append(outer, m[1]+" wire "+name)
		inner = append(inner, fmt.Sprintf(".\\%s (%s)", m[2], name))
	}
	text := fmt.Sprintf("module %s(%s);\n  chip chip(%s);\nendmodule\n", unpacked, strings.Join(outer, ", "), strings.Join(inner, ", "))
	d.Files = []verilog.File{
		{Name: "cells.v", Text: cells}, {Name: "pll.v", Text: pllText}, {Name: "chip.v", Text: chip}, {Name: unpacked + ".v", Text: []byte(text)},
	}
	return d, nil
}
