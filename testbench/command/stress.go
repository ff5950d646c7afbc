package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/stress"
)

// stressFlags are the flags of run stress.
type stressFlags struct {
	stress.Options
	faults string
	verify verifyFlags
	app    *App
}

func newStress(a *App) *cobra.Command {
	f := &stressFlags{app: a}
	c := &cobra.Command{
		Use:   "stress",
		Short: "Run many processes under pressure and faults, and check every frame",
		Long: `Stress runs processes at once, each with a device of several contexts, lists, queries,
maps and a swap chain. Their resources need more memory than VRAM has, and submissions hang
or get faults at the given rates. Each frame is compared with a model. Only the device whose
own work was made to fail may be lost, or all of them if the whole adapter is reset. Drivers,
kernel, runtime and the GPU's accesses to memory are checked against the rules. It prints a
line for each round, the last one without faults. docs/stress.md describes all of it.`,
		Example: `  hilgpu run stress --hang 0.003
  hilgpu run stress --processes 8 --pressure 2 --faults bad-packet=0.01,unplug=0.0005 --seed 7
  hilgpu run stress --board line --rounds 0 --time 10m --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runStress(f) },
	}
	fl := c.Flags()
	f.verify.add(c, true)
	a.addInProcess(c)
	a.Links.AddKernel(c)
	fl.Lookup("tdr-delay").Usage = "`time` without progress after which the GPU counts as hung, as in 30s; 0: that of docs/stress.md"
	a.addDump(c)
	AddBoard(fl, &f.Board, "")
	fl.IntVar(&f.Processes, "processes", 4, "`number` of processes, 1 to 64")
	fl.IntVar(&f.Contexts, "contexts", contexts(a.program), "`number` of kernel contexts that a device submits to, 1 to 8; 0: 1")
	fl.Uint64Var(&f.Seed, "seed", 1, "`seed` of the calls, the order of the processes and the faults")
	fl.IntVar(&f.Rounds, "rounds", 4, "`number` of rounds with faults; 0: until --time is over")
	fl.IntVar(&f.Frames, "frames", 8, "`number` of frames of each process in a round")
	fl.DurationVar(&f.Time, "time", 0, "begin no round after this `duration`")
	fl.Float64Var(&f.Hang, "hang", 0, "`probability` that a submission is followed by one that does not end in time; a slow link needs --tdr-delay too")
	fl.Float64Var(&f.Pressure, "pressure", 1.5, "`ratio` of all resources to VRAM, up to 16")
	fl.StringVar(&f.faults, "faults", "", "`faults` of submissions, each with its probability, as in unplug=0.001: "+strings.Join(stress.FaultNames(), ", "))
	a.AddJSON(fl)
	fl.Lookup("json").Usage = "print JSON lines: one per round, and a last one with any error"
	return c
}

// contexts returns the default of --contexts. Command buffers of drivers that are not those of
// this GPU may need state that earlier ones have left in their context.
func contexts(p Program) int {
	if p.Foreign {
		return 1
	}
	return 2
}

func runStress(f *stressFlags) error {
	o := f.Options
	o.Progress = f.rounds()
	var err error
	if o.Faults, err = stress.ParseFaults(f.faults); err != nil {
		return err
	}
	if err := f.app.Links.CheckKernel(); err != nil {
		return err
	}
	if err := f.verify.check(); err != nil {
		return err
	}
	o.Drivers, o.System, o.KernelDraws = f.app.program.Drivers, f.verify.options(), !f.app.program.Foreign
	o.System.Tdr, o.System.Log, o.System.Queues = f.app.Links.Tdr, f.app.printEvent, f.app.Links.Queues
	f.app.Links.KeepLast()
	if o.System.Board, err = f.app.Links.Options(); err != nil {
		return err
	}
	o.System.Record = f.app.Links.Events()
	dumped, err := f.app.Links.Dump(&o.System)
	if err != nil {
		return err
	}
	o.Failed = f.app.Links.Failed
	o.Findings = func(all []verifier.Finding) { f.app.printFindings(all, nil) }
	var end func()
	o.Step, end = f.steps()
	defer end()
	_, err = stress.Run(o)
	if derr := dumped(err); err == nil {
		err = derr
	}
	return exit.Checked(err)
}

// rounds returns what prints the line of a round.
func (f *stressFlags) rounds() func(stress.Round) error {
	if f.app.JSON {
		add := f.app.Lines("rounds")
		return func(r stress.Round) error { return add(r) }
	}
	return func(r stress.Round) error {
		_, err := fmt.Fprintln(f.app.Out, r)
		return err
	}
}

// steps returns what shows the frames of a slow run on standard error: as progress on a terminal, and as lines elsewhere. end
// ends that.
func (f *stressFlags) steps() (step func(stress.Step), end func()) {
	w := f.app.Progress(fmt.Sprintf("seed %d", f.Seed)) // the line has no room for more
	if w.Shown() {
		return func(s stress.Step) {
			w.At(fmt.Sprintf("round %d", s.Round))
			w.To(s.Done, s.Of)
		}, w.End
	}
	return stress.Tell(f.app.Stderr.Time.After, func(s stress.Step) {
		fmt.Fprintf(f.app.Stderr, "%s: %v\n", f.app.program.Name, s)
	})
}
