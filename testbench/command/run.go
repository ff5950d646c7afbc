package command

import (
	"fmt"
	"image"
	"image/png"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/session"
)

func newRun(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:     "run",
		Short:   "Run a workload",
		Example: "  hilgpu run compose --check",
	}
	a.Links.AddWave(c.PersistentFlags())
	c.AddCommand(newCompose(a), newLists(a), newCopy(a), newFill(a), newStorm(a), newStress(a))
	a.Links.Add(c)
	return c
}

// composeFlags are the flags of run compose.
type composeFlags struct {
	board    string
	size     string
	contexts int
	seed     uint64
	out      string
	ddi      string
	check    bool
	verify   verifyFlags
	app      *App
}

func newCompose(a *App) *cobra.Command {
	f := composeFlags{app: a}
	c := &cobra.Command{
		Use:   "compose [IMAGE...]",
		Short: "Compose images into a frame, through the whole stack",
		Long: `Compose uploads PNG or JPEG images, records their placement on several deferred contexts
at the same time, executes the command lists, presents, and reads the primary back. Without
images it uses built-in samples.`,
		Example: `  hilgpu run compose --check -o frame.png
  hilgpu run compose --board 'emu?nodes=1&vram=8KiB' --check
  hilgpu run compose --size 640x480 --contexts 4 --seed 7 -o frame.png photo.jpg logo.png
  hilgpu run compose --ddi ddi.jsonl --json
  hilgpu run compose --record run.log --timeline run.json
  hilgpu run compose --waive private-outside`,
		RunE: func(c *cobra.Command, args []string) error {
			return runCompose(f, args)
		},
	}
	fl := c.Flags()
	f.verify.add(c, false)
	a.addInProcess(c)
	a.Links.AddKernel(c)
	a.addObserver(c)
	a.addDump(c)
	AddBoard(fl, &f.board, "")
	fl.StringVar(&f.size, "size", "320x240", "`WxH` of the frame in pixels")
	fl.IntVar(&f.contexts, "contexts", 2, "`number` of recording deferred contexts")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the placement")
	fl.StringVarP(&f.out, "output", "o", "", "write the frame to this PNG `file`")
	fl.StringVar(&f.ddi, "ddi", "", "write every DDI call to this `file` during the run, two JSON lines per call")
	a.Links.AddTimeline(fl)
	fl.BoolVar(&f.check, "check", false, "compare every pixel of the primary with a composition by image/draw; exit 1 on a difference")
	a.AddJSON(fl)
	return c
}

// runCompose plans, runs, checks and reports.
func runCompose(f composeFlags, images []string) error {
	plan, err := planCompose(f, images)
	if err == nil {
		err = f.app.Links.CheckKernel()
	}
	if err == nil {
		err = f.verify.check()
	}
	if err == nil {
		err = f.app.Links.Outputs.Reads(images...)
	}
	if err != nil {
		return err
	}
	out, err := f.app.Links.Outputs.Create(f.out)
	if err != nil {
		return err
	}
	defer out.Discard()
	start := time.Now()
	done, err := f.compose(plan)
	host := time.Since(start)
	if err != nil {
		return err
	}
	if f.check {
		if err := checkFrame(done.Frame, plan.Reference()); err != nil {
			return err
		}
	}
	if err := writeFrame(out, done.Frame); err != nil {
		return err
	}
	return summarize(f, session.NewSummary(done.Frame, done.Stats, host))
}

// compose runs a plan on the board and prints what the verifier found.
func (f composeFlags) compose(plan *compose.Plan) (done session.Outcome, err error) {
	ddi, err := f.app.Links.Trace(f.ddi)
	if err != nil {
		return done, err
	}
	o := f.verify.options()
	if o.Board, err = f.app.Links.Options(); err != nil {
		return done, err
	}
	o.Tdr, o.Log, o.Queues = f.app.Links.Tdr, f.app.printEvent, f.app.Links.Queues
	o.DDI, o.Record = f.app.traces(ddi), f.app.Links.Events()
	end, err := f.app.Links.Observe(&o)
	if err != nil {
		return done, err
	}
	dumped, err := f.app.Links.Dump(&o)
	if err != nil {
		return done, err
	}
	w := f.app.Progress("run compose")
	defer w.End()
	done, err = session.OnBoard(f.board, f.app.program.Drivers, o, plan)
	// Keep the trace and the files of the firmware of a failed run.
	for _, keep := range [...]func() error{ddi.Finish, end, func() error { return dumped(err) }} {
		if kerr := keep(); err == nil {
			err = kerr
		}
	}
	f.app.printFindings(done.Findings, err)
	f.app.printMore(done.Violations, err)
	return done, err
}

// traces returns the writer for DDI calls: the file of --ddi, the trace of a child, both
// or nil.
func (a *App) traces(file *output.Live) io.Writer {
	switch trace := a.program.Trace; {
	case file == nil:
		return trace
	case trace == nil:
		return file
	default:
		return io.MultiWriter(trace, file)
	}
}

func planCompose(f composeFlags, images []string) (*compose.Plan, error) {
	w, h, ok := compose.ParseSize(f.size)
	if !ok {
		return nil, fmt.Errorf("%w: size %q, want WIDTHxHEIGHT in pixels", exit.ErrInput, f.size)
	}
	return compose.PlanOf(compose.Options{Width: w, Height: h, Contexts: f.contexts, Seed: f.seed}, images)
}

func checkFrame(got, want *image.NRGBA) error {
	at, n := compose.Diff(got, want)
	if n == 0 {
		return nil
	}
	return &wrongFrame{at, fmt.Errorf("%w: %d of %d pixels differ, the first at %d,%d: %v, want %v", exit.ErrCheck,
		n, want.Rect.Dx()*want.Rect.Dy(), at.X, at.Y, got.NRGBAAt(at.X, at.Y), want.NRGBAAt(at.X, at.Y))}
}

// A wrongFrame is the error of a frame that differs from what was expected, first at a pixel.
type wrongFrame struct {
	at image.Point
	error
}

func (w *wrongFrame) Unwrap() error { return w.error }

// writeFrame writes the frame if an output file was given.
func writeFrame(out *output.File, frame image.Image) error {
	if out == nil {
		return nil
	}
	if err := png.Encode(out, frame); err != nil {
		return err
	}
	return out.Commit()
}

// summarize prints the results of a run.
func summarize(f composeFlags, s session.Summary) error {
	if f.app.Document(s) {
		return nil
	}
	frame := fmt.Sprintf("frame    %s, %d contexts, seed %d on %s, sha256 %.16s", f.size, f.contexts, f.seed, f.board, s.FrameSHA256)
	if f.check {
		frame += ", every pixel as expected"
	}
	if f.out != "" {
		frame += ", in " + f.out
	}
	_, err := fmt.Fprintf(f.app.Out, "%s\n%s", frame, s.Text())
	return err
}
