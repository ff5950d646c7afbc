package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/lists"
)

// listsFlags are the flags of run lists.
type listsFlags struct {
	board    string
	lists    int
	ops      int
	contexts int
	alive    int
	recycle  bool
	native   bool
	verify   verifyFlags
	app      *App
}

func newLists(a *App) *cobra.Command {
	f := listsFlags{app: a}
	c := &cobra.Command{
		Use:   "lists",
		Short: "Record, execute and release small command lists, and measure their cost",
		Long: `Lists records small command lists on deferred contexts, each in its own goroutine,
executes them on the immediate context and releases them. It prints lists per second,
nanoseconds per list for each part, allocations per list, and, from a second untimed run,
the number of calls of each DDI function.

The execution time ends when the commands are in the command buffer. The time of the
graphics kernel, including its waits for the GPU, is printed separately. Rule checks are
slow: --verify=false turns them off.`,
		Example: `  hilgpu run lists --verify=false
  hilgpu run lists --lists 1000000 --contexts 2 --verify=false --json
  hilgpu run lists --recycle=false
  hilgpu run lists --native=false`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runLists(&f)
		},
	}
	fl := c.Flags()
	f.verify.add(c, false)
	a.addInProcess(c)
	a.Links.AddKernel(c)
	a.addObserver(c)
	a.addDump(c)
	AddBoard(fl, &f.board, "")
	fl.IntVar(&f.lists, "lists", 100_000, "total `number` of lists")
	fl.IntVar(&f.ops, "ops", 1, "`number` of copies in each list")
	a.Links.AddTimeline(fl)
	fl.IntVar(&f.contexts, "contexts", 1, "`number` of recording deferred contexts")
	fl.IntVar(&f.alive, "alive", 1000, "`number` of lists of a context that exist at once")
	fl.BoolVar(&f.recycle, "recycle", true, "reuse handles; =false destroys the contexts before their lists, which prevents reuse")
	fl.BoolVar(&f.native, "native", true, "use the driver's lists; =false emulates them")
	a.AddJSON(fl)
	return c
}

func runLists(f *listsFlags) error {
	o := lists.Options{
		Board: f.board, Drivers: f.app.program.Drivers, System: f.verify.options(), Lists: f.lists, Ops: f.ops, Contexts: f.contexts, Alive: f.alive,
		NoRecycle: !f.recycle, Emulated: !f.native,
	}
	if err := f.app.Links.CheckKernel(); err != nil {
		return err
	}
	if err := f.verify.check(); err != nil {
		return err
	}
	o.System.Tdr, o.System.Log, o.System.Queues = f.app.Links.Tdr, f.app.printEvent, f.app.Links.Queues
	link, err := f.app.Links.Options()
	if err != nil {
		return err
	}
	o.System.Board, o.System.Record = link, f.app.Links.Events()
	w := f.app.Progress("run lists")
	defer w.End()
	if w.Shown() {
		o.Progress = w.To
	}
	end, err := f.app.Links.Observe(&o.System)
	if err != nil {
		return err
	}
	dumped, err := f.app.Links.Dump(&o.System)
	if err != nil {
		return err
	}
	r, err := lists.Run(o)
	if cerr := errors.Join(end(), dumped(err)); err == nil {
		err = cerr
	}
	if err != nil {
		return exit.Checked(err)
	}
	f.app.printFindings(r.Findings, nil)
	if f.app.Document(r) {
		return nil
	}
	_, err = fmt.Fprint(f.app.Out, r.Text())
	return err
}
