package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// regFlags are the flags of reg and its commands.
type regFlags struct {
	board    string
	forceMap bool
	all      bool
	out      string
	app      *command.App
}

const regNames = `Names are BLOCK.REGISTER or BLOCK.REGISTER.FIELD, in any case. Each part may be a
pattern with * ? [abc]. The halves NAME_LO and NAME_HI are also one 64-bit NAME. @0x1004
is the register at that offset in BAR0. An access with a side effect is refused unless the
name, or the command, ends in !.`

func newReg(a *command.App) *cobra.Command {
	f := regFlags{app: a}
	c := &cobra.Command{
		Use:     "reg",
		Short:   "Read and write the registers of a board by name",
		Long:    "Reg reads and writes registers by name, and takes and compares snapshots.\n\n" + regNames,
		Example: regExample,
	}
	p := c.PersistentFlags()
	command.AddBoard(p, &f.board, "; snap:FILE and capture:FILE play back a file, inspect:ADDR looks at a board in use")
	a.AddJSON(p)
	p.BoolVar(&f.forceMap, "force-map", false, "continue if the board has another register map; names may then refer to other registers")
	c.AddCommand(newRegList(&f), newRegRead(&f), newRegWrite(&f), newRegSnap(&f), newRegDiff(&f), newRegExport(&f))
	a.Links.Add(c)
	return c
}

const regExample = `  hilgpu reg list 'cp0.*'
  hilgpu reg read 'id.*' intc.status
  hilgpu reg write id.scratch0 0x5
  hilgpu reg snap -o before.json
  hilgpu reg diff before.json emu
  hilgpu reg read --board snap:before.json cp0.ring_base`

// withReg calls do with the registers of a board.
func withReg(f *regFlags, selector string, do func(*regs.Function) error) error {
	opt, err := f.app.Links.Options()
	if err == nil {
		err = f.app.Links.Reads(selector)
	}
	if err != nil {
		return err
	}
	return boards.WithRegisters(selector, opt, regs.Options{AnyMap: f.forceMap}, do)
}

func newRegList(f *regFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list [NAME...]",
		Short: "List the registers, and the fields of the named ones",
		Long:  "List needs no board. With --board or " + command.BoardVariable + " it lists the registers of that board.\n\n" + regNames,
		Example: `  hilgpu reg list
  hilgpu reg list cp0.ctl 'intc.*'`,
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("board") && f.app.Getenv(command.BoardVariable) == "" {
				return listRegs(f, regs.AllNames(), args)
			}
			return withReg(f, f.board, func(fn *regs.Function) error { return listRegs(f, fn.Names(), args) })
		},
	}
}

// registersJSON is the output of reg list --json.
type registersJSON struct {
	Registers []regs.Description `json:"registers"`
}

func listRegs(f *regFlags, names *regs.Names, args []string) error {
	patterns := args
	if len(patterns) == 0 {
		patterns = []string{"*.*"}
	}
	targets, err := names.FindAll(patterns...)
	if err != nil {
		return err
	}
	if f.app.JSON {
		all := registersJSON{[]regs.Description{}}
		for _, t := range targets {
			all.Registers = append(all.Registers, t.Describe())
		}
		f.app.Document(all)
		return nil
	}
	var b strings.Builder
	for _, t := range targets {
		b.WriteString(t.Listing(len(args) > 0))
	}
	_, err = io.WriteString(f.app.Out, b.String())
	return err
}

// forced adds the ! of the command to the names.
func forced(c *cobra.Command, names []string) []string {
	if !strings.HasSuffix(c.CalledAs(), "!") {
		return names
	}
	var all []string
	for _, n := range names {
		all = append(all, strings.TrimSuffix(n, "!")+"!")
	}
	return all
}

func newRegRead(f *regFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "read NAME...",
		Aliases: []string{"read!"},
		Short:   "Read registers, fields and pairs",
		Long: `Read prints each register with its fields. A register whose read has a side effect is
refused, or skipped with a message on standard error if it was matched by a pattern.

` + regNames,
		Example: `  hilgpu reg read cp0.status
  hilgpu reg read 'cp*.fault_*' --json
  hilgpu reg read id.time!`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := regs.AllNames().FindAll(forced(c, args)...); err != nil { // for any board
				return err
			}
			return withReg(f, f.board, func(fn *regs.Function) error {
				return readRegs(f, fn, forced(c, args))
			})
		},
	}
}

// readJSON is the output of reg read --json.
type readJSON struct {
	Board     string             `json:"board"`
	MapHash   string             `json:"map_hash"`
	Registers []regs.Description `json:"registers"`
	Skipped   []regs.Skip        `json:"skipped"`
}

func readRegs(f *regFlags, fn *regs.Function, names []string) error {
	targets, err := fn.Find(names...)
	if err != nil {
		return err
	}
	values, skipped, err := fn.ReadAll(targets)
	if err != nil {
		return err
	}
	if f.app.JSON {
		all := readJSON{f.board, fn.Identity().MapHash, []regs.Description{}, append([]regs.Skip{}, skipped...)}
		for _, v := range values {
			all.Registers = append(all.Registers, v.Describe())
		}
		f.app.Document(all)
		return nil
	}
	for _, v := range values {
		if _, err := io.WriteString(f.app.Out, v.String()); err != nil {
			return err
		}
	}
	for _, s := range skipped {
		fmt.Fprintf(f.app.Stderr, "hilgpu: skipped %s: %s\n", s.Name, s.Reason)
	}
	return nil
}

func newRegWrite(f *regFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "write NAME VALUE | NAME=VALUE...",
		Aliases: []string{"write!"},
		Short:   "Write registers, fields and pairs",
		Long: `Write writes the named registers in order and reads them back. To write a field it keeps
the rest of the register. A value is a number in Go syntax, or a name of one of the
field's values. If any name or value is invalid, nothing is written. A register that is
not safe to write is refused, and the message names the effect.

` + regNames,
		Example: `  hilgpu reg write id.scratch0 0x5
  hilgpu reg write intc.mask.done0=1 intc.mask.fault0=1
  hilgpu reg write cp0.ctl.run! 0`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			names, values, err := regs.SplitAssignments(args)
			if err != nil {
				return err
			}
			if _, err := regs.AllNames().Assign(forced(c, names), values); err != nil { // for any board
				return err
			}
			return withReg(f, f.board, func(fn *regs.Function) error {
				return writeRegs(f, fn, forced(c, names), values)
			})
		},
	}
}

// writesJSON is the output of reg write --json: the writes that were made.
type writesJSON struct {
	Board  string                  `json:"board"`
	Writes []regs.WriteDescription `json:"writes"`
}

func writeRegs(f *regFlags, fn *regs.Function, names, values []string) error {
	assignments, err := fn.Names().Assign(names, values)
	if err != nil {
		return err
	}
	all := writesJSON{f.board, []regs.WriteDescription{}}
	f.app.Document(all)
	for _, a := range assignments {
		done, err := fn.Write(a.Target, a.Value)
		if err != nil {
			return err
		}
		all.Writes = append(all.Writes, done.Describe())
		if f.app.Document(all) {
			continue
		}
		if _, err := io.WriteString(f.app.Out, done.String()); err != nil {
			return err
		}
	}
	return nil
}

func newRegSnap(f *regFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "snap",
		Short: "Take a snapshot of all registers that can be read without side effects",
		Long: `Snap reads configuration space and the registers, and writes them as JSON. The file can
be used as a board: snap:FILE.`,
		Example: `  hilgpu reg snap -o before.json
  hilgpu reg read --board snap:before.json 'cp0.*'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return snapRegs(f) },
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "write to this `file` instead of standard output")
	return c
}

// snapJSON is the output of reg snap --json with a file.
type snapJSON struct {
	File      string `json:"file"`
	Board     string `json:"board"`
	MapHash   string `json:"map_hash"`
	Registers int    `json:"count"`
}

func snapRegs(f *regFlags) error {
	out, err := f.app.Links.Outputs.Create(f.out)
	if err != nil {
		return err
	}
	defer out.Discard()
	s, err := takeSnap(f, f.board)
	if err != nil {
		return err
	}
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if out == nil {
		if f.app.Document(json.RawMessage(data)) {
			return nil
		}
		_, err = f.app.Out.Write(data)
		return err
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if f.app.Document(snapJSON{f.out, f.board, s.Identity.MapHash, len(s.Registers)}) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.Out, "%s: %d registers of %s, map %s\n", f.out, len(s.Registers), f.board, s.Identity.MapHash)
	return err
}

func takeSnap(f *regFlags, selector string) (s *regs.Snapshot, err error) {
	err = withReg(f, selector, func(fn *regs.Function) (err error) {
		s, err = fn.Take(selector)
		return err
	})
	return s, err
}

func newRegDiff(f *regFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two snapshots or boards, field by field; exit 1 if they differ",
		Long: `Diff compares A and B, each a snapshot file or a board selector. Volatile registers are
counted but not shown, unless --all is given.`,
		Example: `  hilgpu reg diff before.json after.json
  hilgpu reg diff --all before.json emu`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("board") {
				return fmt.Errorf("%w: --board: the boards are the arguments A and B", exit.ErrInput)
			}
			return diffRegs(f, args[0], args[1])
		},
	}
	c.Flags().BoolVar(&f.all, "all", false, "show volatile registers too")
	return c
}

// diffJSON is the output of reg diff --json.
type diffJSON struct {
	A string `json:"a"`
	B string `json:"b"`
	regs.Difference
}

func diffRegs(f *regFlags, nameA, nameB string) error {
	a, err := loadSnap(f, nameA)
	if err != nil {
		return err
	}
	b, err := loadSnap(f, nameB)
	if err != nil {
		return err
	}
	d, err := regs.Diff(a, b, f.all)
	if err != nil {
		return err
	}
	if !f.app.Document(diffJSON{nameA, nameB, d}) {
		_, err = io.WriteString(f.app.Out, d.String())
	}
	if err == nil && len(d.Changes) > 0 {
		err = fmt.Errorf("%w: %s and %s differ in %d places", exit.ErrCheck, nameA, nameB, len(d.Changes))
	}
	return err
}

// loadSnap reads a snapshot from a file, or takes one of a board.
func loadSnap(f *regFlags, name string) (*regs.Snapshot, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return regs.Load(name)
	}
	s, err := takeSnap(f, name)
	if errors.Is(err, boards.ErrSelector) {
		err = fmt.Errorf("no file %s: %w", name, err)
	}
	return s, err
}
