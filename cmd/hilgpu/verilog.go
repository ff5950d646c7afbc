package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// verilogFlags are the flags of verilog.
type verilogFlags struct {
	config string
	source string
	out    string
	app    *app
}

func newVerilog(a *app) *cobra.Command {
	f := verilogFlags{app: a}
	c := &cobra.Command{
		Use:   "verilog",
		Short: "Write the GPU as Verilog",
		Long: `Verilog translates the RTL of the GPU to Verilog-2001. It writes one file for each
module, files.f with their names for a simulator or a synthesiser, and
manifest.json with the ports, registers and memories and where each one is in
the Go source. Verilog files that the files.f of an earlier run names and this one
does not have are removed. What is outside the subset of Go is refused;
docs/rtl.md explains each error.`,
		Example: `  hilgpu verilog -o out/verilog
  hilgpu verilog --config small -o out/small && yosys -p 'read_verilog out/small/*.v'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVerilog(f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, and options of the board emu, as small?vramports=1")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	fl.StringVarP(&f.out, "output", "o", "", "`directory` to write to, made if it is not there")
	a.addJSON(fl)
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
	s := summarize(f.config, design)
	if f.app.document(s) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.stdout, "%s: top %s, %d files, %d lines, %d registers of %d bits, %d memories, register map %s\n",
		f.out, s.Top, s.Files, s.Lines, s.Registers, s.Bits, s.Memories, s.MapHash)
	return err
}

// writeDesign writes the files of a design, their list and the manifest to dir, all
// or none, and removes those of the design that was there before.
func writeDesign(dir string, d *verilog.Design) error {
	manifest, err := json.MarshalIndent(d.Manifest, "", "\t")
	if err != nil {
		return err
	}
	before := listed(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	var list strings.Builder
	for _, f := range d.Files {
		fmt.Fprintln(&list, f.Name)
	}
	files := append(slices.Clone(d.Files),
		verilog.File{Name: "manifest.json", Text: append(manifest, '\n')},
		verilog.File{Name: fileList, Text: []byte(list.String())})
	if err := writeFiles(dir, files); err != nil {
		return err
	}
	for _, name := range before {
		if !slices.ContainsFunc(files, func(f verilog.File) bool { return f.Name == name }) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w: %w", errInput, err)
			}
		}
	}
	return nil
}

// fileList is the list of a design's files.
const fileList = "files.f"

// listed returns the names of the Verilog files that the list in dir has, none
// without a list.
func listed(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, fileList))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool {
		return filepath.Base(name) != name || filepath.Ext(name) != ".v"
	})
}

// writeFiles writes all files, or none.
func writeFiles(dir string, files []verilog.File) error {
	var outs []*output
	defer func() {
		for _, o := range outs {
			o.discard()
		}
	}()
	for _, f := range files {
		o, err := newOutput(filepath.Join(dir, f.Name))
		if err != nil {
			return err
		}
		outs = append(outs, o)
		if _, err := o.Write(f.Text); err != nil {
			return err
		}
	}
	for _, o := range outs {
		if err := o.commit(); err != nil {
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
