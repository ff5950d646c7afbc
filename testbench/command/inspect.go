package command

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/inspect"
)

// startInspect starts the server of --inspect, once. Its log is the end of the log of the run.
func (l *Links) startInspect() error {
	if l.Inspect == "" || l.inspect != nil {
		return nil
	}
	var err error
	l.Tail = &record.Tail{}
	if l.inspect, err = inspect.Serve(l.Inspect, inspect.Options{Program: l.Program, Log: l.Tail}); err != nil {
		return fmt.Errorf("--inspect: %w", err)
	}
	if l.inspect.Open {
		fmt.Fprintf(l.Log, "warning: every host that reaches %s reads the board\n", l.inspect.Addr)
	}
	fmt.Fprintf(l.Log, "%s: to look at the board, open http://%s/, or use --board inspect:%[2]s\n", l.Program, l.inspect.Addr)
	return nil
}

// Serves is Recorder.Serves for a board that --inspect shows too, by the link for a reader. It also fails with
// observer.ErrAddress and inspect.ErrListen.
func (l *Links) Serves(s *events.Served, selector string, dev *boards.Emulator, link bus.Link) error {
	if err := l.startInspect(); err != nil {
		return err
	}
	if l.inspect != nil {
		if _, _, err := l.inspect.Share(link, nil, false); err != nil {
			return err
		}
	}
	return l.Recorder.Serves(s, selector, dev.Hz(), dev.Clock)
}

// A sharing is a boards.Options.Share.
type sharing func(link bus.Link, clock bus.Clock, virtual bool) (bus.Link, bus.Clock, error)

// then returns a sharing of a board that is shared by s and then by next; nil shares nothing.
func (s sharing) then(next sharing) sharing {
	if s == nil {
		return next
	}
	if next == nil {
		return s
	}
	return func(link bus.Link, clock bus.Clock, virtual bool) (bus.Link, bus.Clock, error) {
		link, clock, err := s(link, clock, virtual)
		if err != nil {
			return nil, nil, err
		}
		return next(link, clock, virtual)
	}
}
