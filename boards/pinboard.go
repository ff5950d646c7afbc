package boards

import (
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// pinBoard is the scheme of gateware that is driven at its pins.
func pinBoard() scheme {
	return scheme{
		name: "pins", place: "NAME",
		doc: "the gateware of a board, driven at its pins in virtual time: " + sentence(gateware.Names()),
		options: append([]option{
			{name: "faults", doc: "faults injected into frames, as in loss=0.05,dup=0.03,seed=7", values: fault.Names()},
			{name: "hostclock", doc: "rate of the host's clock in thousandths of the nominal rate, 980 to 1020, 1000 by default"},
		}, remoteOptions()...),
		open: openPins,
	}
}

func openPins(at opening) (bus.Link, bus.Clock, error) {
	o := values{Values: at.values}
	board, err := gateware.Find(at.place)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSelector, err)
	}
	opt, ms, rate := pins.Options{Hz: board.Hz}, uint64(1000), 1000
	if o.Has("faults") {
		c, err := fault.Parse(o.Get("faults"))
		if err != nil {
			o.bad("faults", err.Error())
		}
		opt.Faults = c
	}
	o.integer("hostclock", &rate, 980, 1020)
	o.number("timeout", &ms, 1, 3_600_000)
	if o.err != nil {
		return nil, nil, o.err
	}
	top, err := board.New(board.Build())
	if err != nil {
		return nil, nil, err
	}
	serial := pins.NewSerial(top, board.Hz, board.Baud, 1000*(rate-1000))
	opt.Clocks = serial.ByteClocks()
	wire, err := pins.New(serial, opt)
	if err != nil {
		return nil, nil, err
	}
	port, err := rootport.New(wire.Dial, at.host, rootport.Options{Timeout: time.Duration(ms) * time.Millisecond, Observer: at.observer()})
	if err != nil {
		return nil, nil, err
	}
	l := &pinned{RootPort: port, wire: wire, baud: board.Baud}
	return l, l, nil
}

// pinned is the link to gateware that is driven at its pins.
type pinned struct {
	*rootport.RootPort
	wire *pins.Wire
	baud uint64
}

// BytesPerSecond implements Rated.
func (l *pinned) BytesPerSecond() uint64 { return l.baud / 10 }

// Counters returns the counters of the link.
func (l *pinned) Counters() []Counter {
	s := l.wire.Stats()
	return append(portCounters(l.RootPort),
		Counter{"clocks", l.wire.Clocks()},
		Counter{"wire_bytes_to_device", l.wire.BytesDown},
		Counter{"wire_bytes_from_device", l.wire.BytesUp},
		Counter{"frames_damaged", s.BadCheck + s.BadFrames},
		Counter{"frames_repeated", s.Replays},
		Counter{"frames_duplicate", s.Duplicates})
}
