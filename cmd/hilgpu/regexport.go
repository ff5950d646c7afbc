package main

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/wave/savefile"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/output"
)

func newRegExport(f *regFlags) *cobra.Command {
	var out, against string
	var formats strings.Builder
	for _, x := range export.Formats() {
		fmt.Fprintf(&formats, "  %-9s %s\n", x.Name, x.Doc)
	}
	c := &cobra.Command{
		Use:   "export FORMAT",
		Short: "Write the register map in the format of another tool",
		Long: `Export writes the registers of BAR0 to standard output or a file. It needs no board. The
formats:

` + formats.String() + `
The formats gtkw and surfer are for a viewer of the file that --wave of other commands writes. Each
is a folder, which -o names. Start the viewer in it, because it looks for the names of values there:

  gtkwave ../gpu.vcd hilgpu.gtkw
  surfer -c hilgpu.sucl ../gpu.vcd

With --against it instead compares the map with an older one in the format json, and prints
a line for each change. A line begins with "breaks" if a driver that was written for the
older map may fail, and with "adds" if not. The exit code is 1 if a change breaks. With -o it
also writes the export.`,
		Example: `  hilgpu reg export svd -o hilgpu.svd
  hilgpu reg export c > hilgpu.h
  hilgpu reg export gtkw -o gtkw
  hilgpu reg export json --against old.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("board") {
				return fmt.Errorf("%w: --board: the export is that of this program, for every board", exit.ErrInput)
			}
			return exportRegs(f, args[0], out, against)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`file` or folder for the export; standard output by default, but not for a folder")
	c.Flags().StringVar(&against, "against", "", "`file` with an older map, in the format json")
	return c
}

// changesJSON is the output of reg export --against --json.
type changesJSON struct {
	Changes []regmap.Change `json:"changes"`
}

// exportJSON is the output of reg export --json: with the text, or the file or folder that has it.
type exportJSON struct {
	Format string   `json:"format"`
	File   string   `json:"file,omitempty"`
	Files  []string `json:"files,omitempty"` // of a folder
	Bytes  int      `json:"bytes"`
	Text   string   `json:"text,omitempty"`
}

// exportRegs writes the map in a format, compares it with an older one, or both.
func exportRegs(f *regFlags, name, out, against string) error {
	format, err := export.Find(name)
	if err != nil {
		return err
	}
	if format.Folder() && out == "" && against == "" {
		return fmt.Errorf("%w: %s has several files, want a folder with -o", exit.ErrInput, name)
	}
	var changes []regmap.Change
	if against != "" {
		if changes, err = changesFrom(f, against); err != nil {
			return err
		}
	}
	files := format.Files()
	if out != "" {
		if err := writeExport(f, format, files, out); err != nil {
			return err
		}
	}
	if against != "" {
		return showChanges(f, changes)
	}
	return showExport(f, format, files, out)
}

// writeExport writes the files of a format: one to the file out, several to the folder out, the
// one to open as the last.
func writeExport(f *regFlags, format export.Format, files []savefile.File, out string) error {
	if !format.Folder() {
		w, err := f.app.Links.Outputs.Create(out)
		if err != nil {
			return err
		}
		defer w.Discard()
		if _, err := w.Write(files[0].Data); err != nil {
			return err
		}
		return w.Commit()
	}
	for _, x := range slices.Backward(files) {
		dir, name := path.Split(x.Name)
		if err := output.Replace(filepath.Join(out, filepath.FromSlash(dir)), []output.Entry{{Name: name, Data: x.Data}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// showExport prints what was written to out, or the text if out is "".
func showExport(f *regFlags, format export.Format, files []savefile.File, out string) error {
	j := exportJSON{Format: format.Name, File: out}
	for _, x := range files {
		j.Bytes += len(x.Data)
		if format.Folder() {
			j.Files = append(j.Files, x.Name)
		}
	}
	if out == "" {
		j.Text = string(files[0].Data)
	}
	var err error
	switch {
	case f.app.Document(j):
	case out == "":
		_, err = f.app.Out.Write(files[0].Data)
	default:
		_, err = fmt.Fprintf(f.app.Out, "%s: %d bytes, map %#08x\n", out, j.Bytes, regmap.Hash())
	}
	return err
}

// changesFrom returns the changes from the map in a file.
func changesFrom(f *regFlags, file string) ([]regmap.Change, error) {
	old, err := f.app.Links.Outputs.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", exit.ErrInput, err)
	}
	changes, err := regmap.Compare(old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return append([]regmap.Change{}, changes...), nil
}

// showChanges prints changes, and fails with exit.ErrCheck if one breaks a driver.
func showChanges(f *regFlags, changes []regmap.Change) error {
	breaks := 0
	var b strings.Builder
	for _, c := range changes {
		if c.Breaks {
			breaks++
		}
		fmt.Fprintln(&b, c)
	}
	if !f.app.Document(changesJSON{changes}) {
		if _, err := io.WriteString(f.app.Out, b.String()); err != nil {
			return err
		}
	}
	if breaks > 0 {
		return fmt.Errorf("%w: %d of %d changes break a driver", exit.ErrCheck, breaks, len(changes))
	}
	return nil
}
