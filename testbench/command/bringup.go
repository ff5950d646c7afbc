package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
	"github.com/hilgpu/hilgpu/testbench/command/terminal"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// bringupFlags are the flags of bringup.
type bringupFlags struct {
	board  string
	only   string
	soak   string
	seed   uint64
	bytes  string
	poke   string
	report string

	app    *App
	open   bringup.Opener // nil: boards.OpenWith
	folder *bringup.Folder
}

func newBringup(a *App) *cobra.Command {
	f := bringupFlags{app: a}
	c := &cobra.Command{
		Use:   "bringup",
		Short: "Test a board stage by stage, and name the defects",
		Long: `Bringup tests a board without drivers, in dependency order. A failed stage names the line,
the register or the bit and the likely cause, and prints the command that repeats it.
Stages that depend on it are not run, and neither are those for parts that the board does
not have, which is no failure. Registers are restored; VRAM and the program of the
microcontroller are overwritten. Every wait has a deadline on the board's clock. Stages:
` + bringup.Describe(),
		Example: `  hilgpu bringup --board 'emu?fault=stuck-address:A13=1' --report out
  hilgpu bringup --only mem --bytes all --seed 7
  hilgpu bringup --soak 8h`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{StopsItself: "yes"},
		RunE:        func(c *cobra.Command, _ []string) error { return runBringup(c.Context(), f) },
	}
	fl := c.Flags()
	a.Links.AddWave(fl)
	AddBoard(fl, &f.board, "")
	fl.StringVar(&f.only, "only", "", "`stages` or groups of stages to run, separated by commas")
	fl.StringVar(&f.soak, "soak", "", "repeat for a `duration` as in 8h or a number of rounds, or until the link fails; one JSON object per round")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of patterns; each round of a soak uses the next one")
	fl.StringVar(&f.bytes, "bytes", strconv.Itoa(bringup.DefaultBytes), "`number` of bytes of VRAM to test with patterns, or all")
	fl.StringVar(&f.poke, "poke", reg.Safe.String(), "`class` of registers to write with patterns: safe, idle or destructive")
	fl.StringVar(&f.report, "report", "", "write report.html, report.json, junit.xml and bus.pcapng to this `folder`")
	a.AddJSON(fl)
	a.Links.Add(c)
	return c
}

// options parses the flags.
func (f bringupFlags) options() (bringup.Options, error) {
	o := bringup.Options{Program: f.app.program.Name, Board: f.board, Seed: f.seed, Open: f.open}
	for name := range strings.SplitSeq(f.only, ",") {
		if name != "" {
			o.Only = append(o.Only, name)
		}
	}
	if f.only != "" && len(o.Only) == 0 {
		return o, fmt.Errorf("%w: --only %s names no stage, want stages or groups as in mem,irq.message", exit.ErrInput, f.only)
	}
	var ok bool
	if o.Poke, ok = regs.ParsePoke(f.poke); !ok {
		return o, fmt.Errorf("%w: --poke %s, want safe, idle or destructive", exit.ErrInput, f.poke)
	}
	if o.Bytes, ok = bringup.ParseBytes(f.bytes); !ok {
		return o, fmt.Errorf("%w: --bytes %s, want a number of bytes from 1 on, or all", exit.ErrInput, f.bytes)
	}
	return o, nil
}

// runBringup runs once, or repeatedly with --soak, until a signal.
func runBringup(ctx context.Context, f bringupFlags) error {
	ctx, stop := signals.Until(ctx)
	defer stop()
	return Interrupted(ctx, f.run(ctx))
}

func (f bringupFlags) run(ctx context.Context) error {
	add := func(any) error { return nil }
	if f.soak != "" {
		add = f.app.Lines("rounds")
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if err := f.makeReport(); err != nil {
		return err
	}
	defer f.folder.Discard()
	if o.Open == nil {
		link, err := f.app.Links.Options()
		if err != nil {
			return err
		}
		o.Open = bringup.Opener(bare.With(link))
	}
	w := f.app.Progress("bringup")
	defer w.End()
	o.Began = func(stage string, done, total int) { f.began(w, stage, done, total) }
	o.Progress = f.progress
	if f.soak != "" {
		return soakBringup(ctx, f, o, add, w)
	}
	r, err := bringup.Run(ctx, o)
	if r == nil {
		return err
	}
	return cmp.Or(f.print(r), err, verdict(r))
}

// print prints a report, also one of an interrupted run, and writes its files.
func (f bringupFlags) print(r *bringup.Report) error {
	if !f.app.Document(r) {
		if _, err := fmt.Fprint(f.app.Out, r.Summary()); err != nil {
			return err
		}
	}
	return f.write(r)
}

// began shows the beginning of a stage. A soak shows its rounds.
func (f bringupFlags) began(w *terminal.Task, stage string, done, total int) {
	w.At(stage)
	if f.soak == "" {
		w.To(done, total)
	}
}

// progress handles the result of a stage. A wave that waits for a fault keeps
// the clocks before the first failed stage.
func (f bringupFlags) progress(r bringup.Result) {
	if r.Status == bringup.Fail {
		f.app.Links.Fault()
	}
	if !f.app.JSON && f.soak == "" {
		fmt.Fprint(f.app.Out, f.app.Painted(r.Line(), string(r.Status)))
	}
}

// makeReport creates the folder of --report, with the capture, if the flag is
// given.
func (f *bringupFlags) makeReport() (err error) {
	f.folder, err = bringup.NewFolder(f.report, f.app.Links.Outputs.Create)
	if err == nil && f.report != "" && f.app.Links.Capture == "" {
		f.app.Links.Capture = filepath.Join(f.report, "bus.pcapng")
	}
	return err
}

// write writes the files of --report.
func (f bringupFlags) write(r *bringup.Report) error {
	if err := f.folder.Write(r); err != nil || f.report == "" || f.app.JSON || f.soak != "" {
		return err
	}
	_, err := fmt.Fprintf(f.app.Out, "report         %s\n", filepath.Join(f.report, bringup.Page))
	return err
}

// soakBringup repeats bring-up and passes each round to add.
func soakBringup(ctx context.Context, f bringupFlags, o bringup.Options, add func(any) error, w *terminal.Task) error {
	limit, ok := bringup.ParseLimit(f.soak)
	if !ok {
		return fmt.Errorf("%w: --soak %s, want a number of rounds or a duration as in 30m", exit.ErrInput, f.soak)
	}
	r, bad, err := bringup.Soak(ctx, o, limit, w.To, func(round bringup.Round) error { return add(round) })
	if r == nil {
		return err
	}
	if err == nil {
		if err = verdict(r); err != nil {
			err = fmt.Errorf("%d rounds failed, the first with seed %d: %w", bad, r.Seed, err)
		}
	}
	return cmp.Or(f.write(r), err)
}

// verdict returns the error of a failed report: a link error, or a failed
// check.
func verdict(r *bringup.Report) error {
	switch {
	case r.LinkFailed():
		err := r.Cause()
		if err == nil {
			err = errors.New("the link delivers data that the board did not send")
		}
		if code := exit.Code(err); code != exit.NoDevice && code != exit.Link && code != exit.Map {
			err = fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
		}
		return fmt.Errorf("bring-up of %s: %w", r.Board, err)
	case !r.OK():
		return fmt.Errorf("%w: bring-up of %s: %d stages failed, %d were not run", exit.ErrCheck, r.Board, r.Failed, r.Skipped)
	}
	return nil
}
