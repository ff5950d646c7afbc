package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

// transferFlags are the flags of run copy and run fill.
type transferFlags struct {
	transfer.Options
	dir   string
	align string
	app   *App
}

const transferLong = ` through the rings of its nodes only, without drivers, on all
nodes at once. Every byte of the memory used is compared with a reference model. It prints
the clocks from the doorbell to the last fence.`

func newCopy(a *App) *cobra.Command {
	return newTransfer(a, "copy", "vram-vram", &cobra.Command{
		Use:   "copy",
		Short: "Copy with the GPU, through its rings only, and check every byte",
		Long:  "Copy has a GPU copy" + transferLong,
		Example: `  hilgpu run copy
  hilgpu run copy --dir host-vram --size 4096 --align 3,5 --count 100
  hilgpu run copy --board 'emu?nodes=1&latency=64' --json`,
	})
}

func newFill(a *App) *cobra.Command {
	return newTransfer(a, "fill", "vram", &cobra.Command{
		Use:   "fill",
		Short: "Fill memory with the GPU, through its rings only, and check every byte",
		Long:  "Fill has a GPU fill memory" + transferLong,
		Example: `  hilgpu run fill
  hilgpu run fill --dir host --size 1000 --align 1 --count 50`,
	})
}

// newTransfer completes the command for a kind of packet.
func newTransfer(a *App, packet, dir string, c *cobra.Command) *cobra.Command {
	f := &transferFlags{app: a}
	f.Fill = packet == "fill"
	c.Args, c.Annotations = cobra.NoArgs, map[string]string{StopsItself: "yes"}
	c.RunE = func(c *cobra.Command, _ []string) error { return runTransfer(c.Context(), f, packet) }
	fl := c.Flags()
	AddBoard(fl, &f.Board, "")
	fl.IntVar(&f.Size, "size", 0, fmt.Sprintf("`bytes` per packet; 0: the largest power of two that fits the board, at most %d", transfer.DefaultSize))
	fl.StringVar(&f.align, "align", "0", "`bytes` after a multiple of 4096, or two numbers as in 3,5 for source and destination")
	fl.StringVar(&f.dir, "dir", dir, "`direction`: "+strings.Join(transfer.Directions(f.Fill), ", "))
	fl.IntVar(&f.Count, "count", 16, "`number` of packets on each node")
	fl.IntVar(&f.Nodes, "nodes", 0, "`number` of nodes that work at the same time; 0: all nodes of the board")
	fl.Uint64Var(&f.Seed, "seed", 1, "`seed` of the data")
	a.AddJSON(fl)
	return c
}

// options parses the text flags.
func (f *transferFlags) options() (transfer.Options, error) {
	o := f.Options
	var ok bool
	if o.From, o.To, ok = transfer.Direction(f.Fill, f.dir); !ok {
		return o, fmt.Errorf("%w: --dir %q, want one of %s", transfer.ErrInput, f.dir, strings.Join(transfer.Directions(f.Fill), ", "))
	}
	from, to, two := strings.Cut(f.align, ",")
	if !two {
		to = from
	}
	var err, err2 error
	o.FromAlign, err = strconv.Atoi(from)
	o.ToAlign, err2 = strconv.Atoi(to)
	if err != nil || err2 != nil || two && f.Fill {
		return o, fmt.Errorf("%w: --align %q, want a number of bytes, or for a copy two as in 3,5", transfer.ErrInput, f.align)
	}
	link, err := f.app.Links.Options()
	o.Open, o.Failed = bare.With(link), f.app.Links.Failed
	return o, err
}

func runTransfer(ctx context.Context, f *transferFlags, packet string) error {
	ctx, stop := signals.Until(ctx)
	defer stop()
	o, err := f.options()
	if err != nil {
		return err
	}
	w := f.app.Progress("run " + packet)
	defer w.End()
	o.Progress = w.To
	r, err := transfer.Run(ctx, o)
	if r != nil && !f.app.Document(r) {
		if _, werr := fmt.Fprint(f.app.Out, r.Text()); err == nil {
			err = werr
		}
	}
	return Interrupted(ctx, exit.Checked(err))
}

// stormFlags are the flags of run storm.
type stormFlags struct {
	storm.Options
	cover bool
	app   *App
}

func newStorm(a *App) *cobra.Command {
	f := &stormFlags{app: a}
	c := &cobra.Command{
		Use:   "storm",
		Short: "Execute random packets on the GPU, through its rings only, and check everything",
		Long: `Storm runs random packets, legal and illegal, on all nodes at once, in rings and
indirect buffers, without drivers. It gives nodes rings that they must refuse, preempts
and resumes them, resets them during transfers, turns bus mastering off, and lets the
watchdog time out. Registers, interrupts, counters and every byte of the memory used are
compared with a reference model built from the documentation. An access of the GPU to
host memory that no ring, indirect buffer or packet of the round has is an error, too.

Results are counted in bins: packet, operand, outcome and location of the packet: in the
ring, in an indirect buffer, or in one restricted by windows. The run ends when every bin
was hit or after the given number of clocks, and prints the table.`,
		Example: `  hilgpu run storm --cover
  hilgpu run storm --board emu?config=small --seed 7
  hilgpu run storm --all --cycles 100000000 --json`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{StopsItself: "yes"},
		RunE: func(c *cobra.Command, _ []string) error {
			return runStorm(c.Context(), f)
		},
	}
	fl := c.Flags()
	AddBoard(fl, &f.Board, "")
	fl.Uint64Var(&f.Seed, "seed", 1, "`seed` of the packets")
	fl.Uint64Var(&f.Cycles, "cycles", 20_000_000, "`clocks` of the board after which the run ends")
	fl.BoolVar(&f.All, "all", false, "run for all --cycles even if every bin was hit")
	fl.BoolVar(&f.cover, "cover", false, "exit 1 if a bin was not hit")
	fl.BoolVar(&f.Sanitize, "sanitize", true, "check the GPU's accesses to host memory against the rings, buffers and packets of the round")
	a.AddJSON(fl)
	return c
}

func runStorm(ctx context.Context, f *stormFlags) error {
	ctx, stop := signals.Until(ctx)
	defer stop()
	f.app.Links.KeepLast()
	link, err := f.app.Links.Options()
	if err != nil {
		return err
	}
	f.Open, f.Failed, f.Expect = bare.With(link), f.app.Links.Failed, f.app.Links.Expect
	w := f.app.Progress("run storm")
	defer w.End()
	f.Progress = func(done, total uint64) { w.To(int(done), int(total)) }
	r, err := storm.Run(ctx, f.Options)
	if r == nil {
		return Interrupted(ctx, exit.Checked(err))
	}
	for _, line := range r.Listing {
		fmt.Fprintln(f.app.Stderr, line)
	}
	if !f.app.Document(r) {
		if _, werr := fmt.Fprint(f.app.Out, r.Text()); err == nil {
			err = werr
		}
	}
	if err == nil && f.cover && len(r.Missing) > 0 {
		err = fmt.Errorf("%w: %d of %d bins were not hit", exit.ErrCheck, len(r.Missing), r.Total)
	}
	return Interrupted(ctx, exit.Checked(err))
}
