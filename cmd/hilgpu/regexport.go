package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
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
With --against it instead compares the map with an older one in the format json, and prints
a line for each change. A line begins with "breaks" if a driver that was written for the
older map may fail, and with "adds" if not. The exit code is 1 if a change breaks. With -o it
also writes the export.`,
		Example: `  hilgpu reg export svd -o hilgpu.svd
  hilgpu reg export c > hilgpu.h
  hilgpu reg export json --against old.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("board") {
				return fmt.Errorf("%w: --board: the export is that of this program, for every board", exit.ErrInput)
			}
			return exportRegs(f, args[0], out, against)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`file` for the export; standard output by default")
	c.Flags().StringVar(&against, "against", "", "`file` with an older map, in the format json")
	return c
}

// changesJSON is the output of reg export --against --json.
type changesJSON struct {
	Changes []regmap.Change `json:"changes"`
}

// exportJSON is the output of reg export --json: with the text, or the file that has it.
type exportJSON struct {
	Format string `json:"format"`
	File   string `json:"file,omitempty"`
	Bytes  int    `json:"bytes"`
	Text   string `json:"text,omitempty"`
}

// exportRegs writes the map in a format, compares it with an older one, or both.
func exportRegs(f *regFlags, format, file, against string) error {
	text, err := export.Bytes(format)
	if err != nil {
		return err
	}
	var changes []regmap.Change
	if against != "" {
		if changes, err = changesFrom(against); err != nil {
			return err
		}
	}
	out, err := f.app.Links.Outputs.Create(file)
	if err != nil {
		return err
	}
	defer out.Discard()
	if out != nil {
		if _, err := out.Write(text); err != nil {
			return err
		}
		if err := out.Commit(); err != nil {
			return err
		}
	}
	if against != "" {
		return showChanges(f, changes)
	}
	j := exportJSON{Format: format, File: file, Bytes: len(text)}
	if out == nil {
		j.Text = string(text)
	}
	switch {
	case f.app.Document(j):
	case out == nil:
		_, err = f.app.Out.Write(text)
	default:
		_, err = fmt.Fprintf(f.app.Out, "%s: %d bytes, map %#08x\n", file, len(text), regmap.Hash())
	}
	return err
}

// changesFrom returns the changes from the map in a file.
func changesFrom(file string) ([]regmap.Change, error) {
	old, err := os.ReadFile(file)
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
