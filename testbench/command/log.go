package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
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
is written, and after a crash. A line or an object "gap" tells which events a damaged block had,
and the exit code is 2 then. With --ddi it prints the calls of the driver interfaces, as --ddi
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
	if f.ddi {
		return f.writeDDI(path, f.app.Out)
	}
	return readLog(path, f.print)
}

// openLog opens a file and reads the header of its log.
func openLog(path string) (*os.File, *eventlog.Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", exit.ErrInput, err)
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close() // it was only read
		return nil, nil, fmt.Errorf("%w: %s is a folder, want a log", exit.ErrInput, path)
	}
	l, err := eventlog.NewReader(file)
	if err != nil {
		file.Close() // it was only read
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := l.Header.CheckMap(regmap.Hash()); err != nil {
		file.Close() // it was only read
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, l, nil
}

// readLog calls read with the reader of a file.
func readLog(path string, read func(l *eventlog.Reader) error) error {
	file, l, err := openLog(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := read(l); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// A gapLine is a gap of a log as a line of JSON.
type gapLine struct {
	Gap eventlog.Gap `json:"gap"`
}

// printers return what prints an event, and what prints a gap.
func (f *logFlags) printers() (add func(e *eventlog.Event) error, gap func(g eventlog.Gap) error) {
	if f.json {
		line := f.app.Lines("events")
		return func(e *eventlog.Event) error { return line(e) }, func(g eventlog.Gap) error { return f.app.Aside(gapLine{g}) }
	}
	add = func(e *eventlog.Event) error {
		_, err := fmt.Fprintln(f.app.Out, e)
		return err
	}
	gap = func(g eventlog.Gap) error {
		_, err := fmt.Fprintf(f.app.Out, "- - gap: %s\n", g)
		return err
	}
	return add, gap
}

// print prints the selected events and the gaps between them, and at the end whether the log is whole. It fails with
// eventlog.ErrCorrupt if there is a gap in the log.
func (f *logFlags) print(l *eventlog.Reader) error {
	add, gap := f.printers()
	l.GoOn = true
	var e eventlog.Event
	for {
		end := l.Next(&e)
		if g, ok := l.Gap(); ok && g.Overlaps(f.from, f.to) {
			if err := gap(g); err != nil {
				return err
			}
		}
		if errors.Is(end, io.EOF) {
			break
		}
		if end != nil {
			return l.WithDamage(end)
		}
		if e.ID < f.from || f.to != 0 && e.ID > f.to || len(f.kinds) > 0 && !slices.Contains(f.kinds, e.Name()) {
			continue
		}
		if err := add(&e); err != nil {
			return err
		}
	}
	f.app.noteEnd(l)
	return l.Damage()
}

// noteEnd tells that a log ends within a block.
func (a *App) noteEnd(l interface{ Truncated() bool }) {
	if !l.Truncated() {
		return
	}
	fmt.Fprintf(a.Stderr, "%s: the log ends within a block: it is being written, or its writer was killed\n", a.program.Name)
}

// writeDDI writes the trace of the driver interfaces that is in a log. It reads the file twice.
func (f *logFlags) writeDDI(path string, w io.Writer) error {
	var open *os.File
	var last *eventlog.Reader
	defer func() {
		if open != nil {
			open.Close() // it was only read
		}
	}()
	err := verifier.MergeFrom(func() (io.Reader, error) {
		if open != nil {
			open.Close() // it was only read
		}
		file, l, err := openLog(path)
		open, last = file, l
		return &traceReader{log: l, line: verifier.TraceHeader(), path: path}, err
	}, w)
	if errors.Is(err, verifier.ErrTrace) {
		err = fmt.Errorf("%s: %w: %w", path, eventlog.ErrCorrupt, err)
	}
	if err == nil {
		f.app.noteEnd(last)
	}
	return err
}

// A traceReader reads the trace of the driver interfaces from a log.
type traceReader struct {
	log  *eventlog.Reader
	path string
	line []byte // what is left of a line
	e    eventlog.Event
}

// Read implements io.Reader.
func (r *traceReader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		err := r.log.Next(&r.e)
		switch {
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("%s: %w", r.path, err)
		case r.e.Kind == eventlog.DDI || r.e.Kind == eventlog.DDIEnd:
			r.line = append([]byte(r.e.Text()), '\n')
		}
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}
