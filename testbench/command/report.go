package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// reportFlags are the flags of report.
type reportFlags struct {
	out, timeline string
	app           *App
}

func newReport(a *App) *cobra.Command {
	f := reportFlags{app: a}
	c := &cobra.Command{
		Use:   "report FILE|DIR",
		Short: "Make a page of a run, from its log or from the folder of a failed test",
		Long: `Report reads a log that --record has written, or the folder of a failed test that "hilgpu test
--artifacts" has written. With -o it writes one HTML page that needs no other file: what ran, a
timeline, frames and where they differ, broken rules and stops, the last submissions with their
packets, registers by field, and what the run used. With --timeline it writes Chrome trace events.
If blocks of the log are damaged, both show the gaps, and the exit code is 2.`,
		Example: `  hilgpu run compose --record run.log
  hilgpu report run.log -o run.html
  hilgpu report run.log --timeline run.json
  hilgpu report artifacts/present -o present.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args[0]) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.out, "output", "o", "", "write the page to this HTML `file`")
	fl.StringVar(&f.timeline, "timeline", "", "write a timeline to this JSON `file`, for Perfetto")
	return c
}

// run writes the page and the timeline of a log or a folder.
func (f *reportFlags) run(path string) error {
	if f.out == "" && f.timeline == "" {
		return fmt.Errorf("%w: nothing to write, want -o FILE, --timeline FILE, or both", exit.ErrInput)
	}
	source, err := report.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", exit.ErrInput, err)
	}
	if err := f.app.Links.Outputs.Reads(source.Inputs...); err != nil {
		return err
	}
	if err := source.CheckMap(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.write(path, f.out, source.Write); err != nil {
		return err
	}
	if err := f.write(path, f.timeline, source.WriteTimeline); err != nil {
		return err
	}
	f.app.noteEnd(source)
	if err := source.Damage(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// write writes an output file, if there is one. from names what it is made of, in errors.
func (f *reportFlags) write(from, path string, write func(w io.Writer) error) error {
	file, err := f.app.Links.Outputs.Create(path)
	if err != nil || file == nil {
		return err
	}
	defer file.Discard()
	if err := write(file); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return file.Commit()
}
