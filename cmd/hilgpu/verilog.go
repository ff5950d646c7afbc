package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// verilogFlags are the flags of verilog.
type verilogFlags struct {
	config string
	source string
	out    string
	app    *command.App
}

func newVerilog(a *command.App) *cobra.Command {
	f := verilogFlags{app: a}
	c := &cobra.Command{
		Use:   "verilog",
		Short: "Write the GPU as Verilog",
		Long: `Verilog translates the RTL of the GPU to Verilog-2001. It writes one file per module,
files.f with their names for a simulator or synthesis tool, and manifest.json with the
ports, registers and memories and the location of each in the Go source. It removes
Verilog files that the files.f of an earlier run lists and this run does not write. Code
outside the supported subset of Go is refused; docs/rtl.md explains each error.`,
		Example: `  hilgpu verilog -o out/verilog
  hilgpu verilog --config small -o out/small && yosys -p 'read_verilog out/small/*.v'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVerilog(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	fl.StringVarP(&f.out, "output", "o", "", "`directory` to write to, created if missing")
	a.AddJSON(fl)
	if err := c.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	return c
}

// verilogSummary is the output of the command.
type verilogSummary struct {
	Config string `json:"config"`
	verilog.Summary
}

// runVerilog translates, writes and reports.
func runVerilog(f verilogFlags) error {
	config, err := boards.Config(f.config)
	if err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	g, err := gpu.New(config)
	if err != nil {
		return err
	}
	design, err := verilog.Translate(root, g)
	if err != nil {
		return err
	}
	if err := writeDesign(f.out, design); err != nil {
		return err
	}
	s := verilogSummary{f.config, design.Summary()}
	if f.app.Document(s) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.Out, "%s: top %s, %d files, %d lines, %d registers of %d bits, %d memories, register map %s\n",
		f.out, s.Top, s.Files, s.Lines, s.Registers, s.Bits, s.Memories, s.MapHash)
	return err
}

// writeDesign writes the files of a design to dir and removes the files of the
// previous design.
func writeDesign(dir string, d *verilog.Design) error {
	files, err := d.Folder()
	if err != nil {
		return err
	}
	var entries []output.Entry
	for _, f := range files {
		entries = append(entries, output.Entry{Name: f.Name, Data: f.Text})
	}
	return output.Replace(dir, entries, verilog.Listed(dir))
}
