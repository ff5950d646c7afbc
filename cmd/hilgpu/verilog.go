package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/testbench/lockstep"
)

// verilogFlags are the flags of verilog.
type verilogFlags struct {
	config string
	source string
	out    string
	json   bool
}

func newVerilog() *cobra.Command {
	var f verilogFlags
	c := &cobra.Command{
		Use:   "verilog",
		Short: "Write the GPU as Verilog",
		Long: `Verilog translates the RTL of the GPU to Verilog-2001. It writes one file for each
module, files.f with their names for a simulator or a synthesiser, and
manifest.json with the ports, registers and memories and where each one is in
the Go source. What is outside the subset of Go is refused; docs/rtl.md explains
each error.

` + exitCodes,
		Example: `  hilgpu verilog -o out/verilog
  hilgpu verilog --config small -o out/small && yosys -p 'read_verilog out/small/*.v'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVerilog(c.OutOrStdout(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, and options of the board emu, as small?vramports=1")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	fl.StringVarP(&f.out, "output", "o", "", "`directory` to write to, made if it is not there")
	fl.BoolVar(&f.json, "json", false, "print the summary as JSON")
	if err := c.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	return c
}

// verilogSummary is what the command prints.
type verilogSummary struct {
	Config    string `json:"config"`
	MapHash   string `json:"map_hash"`
	Top       string `json:"top"`
	Files     int    `json:"files"`
	Lines     int    `json:"lines"`
	Registers int    `json:"registers"`
	Bits      int    `json:"bits"` // of the registers
	Memories  int    `json:"memories"`
}

// runVerilog translates, writes and reports.
func runVerilog(stdout io.Writer, f verilogFlags) error {
	config, err := lockstep.Config(f.config)
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
		return fmt.Errorf("%w: %w", errInput, err)
	}
	s := summarize(f.config, design)
	if f.json {
		return json.NewEncoder(stdout).Encode(s)
	}
	_, err = fmt.Fprintf(stdout, "%s: top %s, %d files, %d lines, %d registers of %d bits, %d memories, register map %s\n",
		f.out, s.Top, s.Files, s.Lines, s.Registers, s.Bits, s.Memories, s.MapHash)
	return err
}

// writeDesign writes the files of a design, their list and the manifest to dir.
func writeDesign(dir string, d *verilog.Design) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	manifest, err := json.MarshalIndent(d.Manifest, "", "\t")
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, f := range d.Files {
		fmt.Fprintln(&list, f.Name)
	}
	files := append([]verilog.File{}, d.Files...)
	files = append(files,
		verilog.File{Name: "files.f", Text: []byte(list.String())},
		verilog.File{Name: "manifest.json", Text: append(manifest, '\n')})
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func summarize(config string, d *verilog.Design) verilogSummary {
	s := verilogSummary{
		Config: config, MapHash: fmt.Sprintf("%08x", d.Manifest.MapHash), Top: d.Manifest.Top,
		Files: len(d.Files), Registers: len(d.Manifest.Registers), Memories: len(d.Manifest.Memories),
	}
	for _, f := range d.Files {
		s.Lines += strings.Count(string(f.Text), "\n")
	}
	for _, r := range d.Manifest.Registers {
		s.Bits += r.Width
	}
	return s
}
