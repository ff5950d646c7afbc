package boards

import (
	"errors"
	"fmt"
	"net"

	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/boards/snap"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
)

func snapshot() scheme {
	return scheme{
		name: "snap", place: "FILE", doc: "a snapshot of the registers, read-only",
		open: func(o opening) (bus.Link, bus.Clock, error) { return offline(snap.Open(o.place)) },
	}
}

func recording() scheme {
	return scheme{
		name: "capture", place: "FILE", doc: "the board recorded in a capture, read-only",
		open: func(o opening) (bus.Link, bus.Clock, error) { return offline(capture.Open(o.place)) },
	}
}

func inspection() scheme {
	return scheme{
		name: "inspect", place: "ADDR", doc: "the board that another command has open with --inspect, at [HOST:]PORT, read-only",
		open: func(o opening) (bus.Link, bus.Clock, error) {
			link, clock, err := observer.Open(o.place)
			var dial *net.OpError
			switch {
			case err == nil:
				return link, clock, nil
			case errors.Is(err, observer.ErrAddress):
				err = fmt.Errorf("%w: %w", errPlace, err)
			case errors.As(err, &dial):
				err = fmt.Errorf("%w: %s", err, dialAdvice(err))
			}
			return nil, nil, err
		},
	}
}

// offline marks an error of a file.
func offline(link bus.Link, clock bus.Clock, err error) (bus.Link, bus.Clock, error) {
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errPlace, err)
	}
	return link, clock, nil
}
