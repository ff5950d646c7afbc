package main

import (
	"fmt"

	"github.com/spf13/cobra"

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
	app      *app
}

func newLists(a *app) *cobra.Command {
	f := listsFlags{app: a}
	c := &cobra.Command{
		Use:   "lists",
		Short: "Record, execute and release small command lists, and tell what they cost",
		Long: `Lists records small command lists on deferred contexts, each in a goroutine of
its own, executes them on the immediate context and releases them. It prints
lists a second, ns a list for each part, allocations a list, and, from a second
run that is not timed, how often each DDI function is called.

The time of executing ends when the commands stand in the command buffer. What
the graphics kernel takes, with the GPU that it waits for, is printed apart.
The rules cost much time: --verify=false leaves them out.`,
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
	f.verify.add(c)
	a.links.addTdr(c)
	addBoard(fl, &f.board, "")
	fl.IntVar(&f.lists, "lists", 100_000, "`number` of lists in all")
	fl.IntVar(&f.ops, "ops", 1, "`number` of copies in each list")
	fl.IntVar(&f.contexts, "contexts", 1, "`number` of deferred contexts that record")
	fl.IntVar(&f.alive, "alive", 1000, "`number` of lists of a context that exist at a time")
	fl.BoolVar(&f.recycle, "recycle", true, "use handles again; =false ends the contexts before their lists, so that none can be")
	fl.BoolVar(&f.native, "native", true, "use the driver's lists; =false has the runtime emulate them")
	a.addJSON(fl)
	return c
}

func runLists(f *listsFlags) error {
	o := lists.Options{
		Board: f.board, System: f.verify.options(), Lists: f.lists, Ops: f.ops, Contexts: f.contexts, Alive: f.alive,
		NoRecycle: !f.recycle, Emulated: !f.native,
	}
	if err := f.app.links.checkTdr(); err != nil {
		return err
	}
	o.System.Tdr = f.app.links.tdr
	link, err := f.app.links.Options()
	if err != nil {
		return err
	}
	o.System.Board = link
	w := f.app.progress("run lists")
	defer w.End()
	if w.Shown() {
		o.Progress = w.To
	}
	r, err := lists.Run(o)
	if err != nil {
		return checkError(err)
	}
	printFindings(f.app.stderr, r.Findings)
	if f.app.Document(r) {
		return nil
	}
	_, err = fmt.Fprint(f.app.Out, r.Text())
	return err
}
