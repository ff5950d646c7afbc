package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// logFlags are the flags of log.
type logFlags struct {
	kinds    []string
	from, to uint64
	ddi      bool
	json     bool
	app      *App
}

func newLog(a *App) *cobra.Command {
	f := logFlags{app: a}
	c := &cobra.Command{
		Use:   "log FILE",
		Short: "Print a log that --record has written",
		Long: `Log prints the events of a log, a line each: number, time in clocks, kind, thread, the number
of the event that led to it, and what docs/log.md lists for the kind. It can read a log while it
is written, and after a crash. With --ddi it prints the calls of the driver interfaces, as --ddi
of "hilgpu run compose" writes them.`,
		Example: `  hilgpu run compose --record run.log
  hilgpu log run.log --kind queue,submit,retire
  hilgpu log run.log --ddi > ddi.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args[0]) },
	}
	fl := c.Flags()
	defer c.MarkFlagsMutuallyExclusive("ddi", "jsonl")
	defer c.MarkFlagsMutuallyExclusive("ddi", "kind")
	fl.StringSliceVar(&f.kinds, "kind", nil, "print only events of these `kinds`, separated by commas")
	fl.Uint64Var(&f.from, "from", 1, "`number` of the first event")
	fl.Uint64Var(&f.to, "to", 0, "`number` of the last event; 0: that of the log")
	fl.BoolVar(&f.ddi, "ddi", false, "print the trace of the driver interfaces")
	fl.BoolVar(&f.json, "jsonl", false, "print a JSON object for each event, and one at the end, a line each")
	return c
}

// run prints the events of a file.
func (f *logFlags) run(path string) error {
	for _, k := range f.kinds {
		if !slices.ContainsFunc(eventlog.Table, func(d eventlog.Description) bool { return d.Name == k }) {
			return fmt.Errorf("%w: --kind %s, want one of %s", exit.ErrInput, k, strings.Join(eventlog.Names(), ", "))
		}
	}
	if f.to != 0 && f.to < f.from {
		return fmt.Errorf("%w: --from %d --to %d: there is no event between them", exit.ErrInput, f.from, f.to)
	}
	return readLog(path, func(l *eventlog.Reader) error {
		if f.ddi {
			return writeDDI(l, f.app.Out)
		}
		return f.print(l)
	})
}

// readLog calls read with the reader of a file.
func readLog(path string, read func(l *eventlog.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", exit.ErrInput, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%w: %s is a folder, want a log", exit.ErrInput, path)
	}
	l, err := eventlog.NewReader(file)
	if err == nil {
		err = read(l)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// print prints the selected events, and at the end whether the log is whole.
func (f *logFlags) print(l *eventlog.Reader) error {
	add := func(e *eventlog.Event) error {
		_, err := fmt.Fprintln(f.app.Out, e)
		return err
	}
	if f.json {
		line := f.app.Lines()
		add = func(e *eventlog.Event) error { return line(e) }
	}
	var e eventlog.Event
	for {
		err := l.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if e.ID < f.from || f.to != 0 && e.ID > f.to || len(f.kinds) > 0 && !slices.Contains(f.kinds, e.Name()) {
			continue
		}
		if err := add(&e); err != nil {
			return err
		}
	}
	if l.Truncated() {
		fmt.Fprintf(f.app.Stderr, "%s: the log ends within a block: it is being written, or its writer was killed\n", f.app.program.Name)
	}
	return nil
}

// writeDDI writes the trace of the driver interfaces that is in a log.
func writeDDI(l *eventlog.Reader, w io.Writer) error {
	trace := bytes.NewBuffer(verifier.TraceHeader())
	var e eventlog.Event
	for {
		switch err := l.Next(&e); {
		case errors.Is(err, io.EOF):
			if err = verifier.Merge(trace, w); errors.Is(err, verifier.ErrTrace) {
				err = fmt.Errorf("%w: %w", eventlog.ErrCorrupt, err)
			}
			return err
		case err != nil:
			return err
		case e.Kind == eventlog.DDI || e.Kind == eventlog.DDIEnd:
			trace.WriteString(e.Text())
			trace.WriteByte('\n')
		}
	}
}
