package main

import (
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/events"
)

// watched returns the flags of board serve that watch one board, as a user gives them.
func (f serveFlags) watched() (given []string) {
	for _, flag := range []struct{ name, value string }{
		{"--capture", f.links.Capture}, {"--record", f.links.Record}, {"--inspect", f.links.Inspect},
	} {
		if flag.value != "" {
			given = append(given, flag.name)
		}
	}
	return given
}

// emulated creates the GPU of a selector and its board, which --record and --inspect watch.
func (f serveFlags) emulated(selector string, o serve.Options) (*serve.Board, error) {
	watched := f.links.Record != "" || f.links.Inspect != ""
	served := &events.Served{}
	var see func(boards.Observation)
	if watched {
		see, o.Incident, o.Observer = served.Observe, served.Incident, both(o.Observer, served.Packet)
	}
	dev, err := boards.ObservedDevice(selector, see)
	if err != nil {
		return nil, err
	}
	o.Hz, o.Name, o.Endpoint.MaxPayload = dev.Hz(), selector, dev.MaxPayload()
	b, err := serve.New(dev, o)
	if err != nil || !watched {
		return b, err
	}
	link, err := boards.Served(dev, b.Visit)
	if err != nil && f.links.Inspect != "" {
		return nil, fmt.Errorf("%w: --inspect: %w", exit.ErrInput, err)
	}
	return b, f.links.Serves(served, selector, dev, link)
}

// both returns what calls first, if there is one, and then next.
func both(first, next func(bool, time.Duration, []byte)) func(bool, time.Duration, []byte) {
	if first == nil {
		return next
	}
	return func(up bool, at time.Duration, packet []byte) {
		first(up, at, packet)
		next(up, at, packet)
	}
}

// checkWatched fails with exit.ErrInput for several boards and for gateware, which are not watched.
func (f serveFlags) checkWatched(selectors []string) error {
	given := f.watched()
	switch {
	case len(given) == 0:
		return nil
	case len(selectors) > 1:
		return fmt.Errorf("%w: %s with %d boards, want one", exit.ErrInput, given[0], len(selectors))
	case boards.IsGateware(selectors[0]):
		return fmt.Errorf("%w: %s: gateware is not watched with %s: its host can be", exit.ErrInput, selectors[0], given[0])
	}
	return nil
}
