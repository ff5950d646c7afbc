package boards

import (
	"slices"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

func virtualLine() scheme {
	s := scheme{
		name: "line", doc: "the emulator at the end of a serial line in virtual time: the real link layers, one process, one seed",
		open: openLine, emulated: true, virtual: true,
	}
	for _, o := range options(true) {
		if !slices.Contains(wireOptions, o.name) {
			s.options = append(s.options, o)
		}
	}
	s.options = append(s.options,
		option{name: "baud", doc: "bits per second, 1200 to 1000000000, 3000000 by default"},
		option{name: "delay", doc: "propagation time of a byte in microseconds, 0 to 1000000, 500 by default"},
		option{name: "faults", doc: "faults injected into frames, as in loss=0.05,dup=0.03,seed=7", values: fault.Names()},
		option{name: "timeout", doc: "milliseconds after which an unanswered request fails, by default 1000, or at a low rate the time of 32 KiB"})
	return s
}

func openLine(at opening) (bus.Link, bus.Clock, error) {
	o := values{Values: at.values}
	opt, ms := line.Options{Baud: 3_000_000}, uint64(1000)
	o.integer("baud", &opt.Baud, 1200, 1_000_000_000)
	if o.Has("delay") {
		us := uint64(0)
		o.number("delay", &us, 0, 1_000_000)
		opt.Latency = max(time.Duration(us)*time.Microsecond, 1)
	}
	if o.Has("faults") {
		c, err := fault.Parse(o.Get("faults"))
		if err != nil {
			o.wrong("faults", fault.ErrConfig, err)
		}
		opt.Faults = c
	}
	ms = max(ms, inFlight*10*1000/uint64(max(1, opt.Baud))) // a rate out of range is an error
	o.number("timeout", &ms, 1, 3_600_000)
	dev, err := newEmulator(&o, at.Options)
	if err != nil {
		return nil, nil, err
	}
	opt.Hz, opt.Link.Observe = dev.Hz(), at.Link
	end, err := endpoint.New(dev, endpoint.Options{Timeout: answerTime(dev.Hz(), uint64(opt.Baud))})
	if err != nil {
		return nil, nil, err
	}
	wire, err := line.New(end, opt)
	if err != nil {
		return nil, nil, err
	}
	port, err := rootport.New(wire.Dial, at.host, rootport.Options{Timeout: time.Duration(ms) * time.Millisecond, Observer: at.observer()})
	if err != nil {
		return nil, nil, err
	}
	l := &lined{RootPort: port, line: wire, dev: dev, rate: uint64(opt.Baud) / 10}
	return l, l, nil
}

// inFlight is how many bytes a read of a device or of the host may wait for, in both directions.
const inFlight = 32 << 10

// answerTime returns the completion time-out of reads of a device in its clocks: 2^27, or at a low rate what the
// line needs for inFlight.
func answerTime(hz, baud uint64) uint64 {
	return max(1<<27, inFlight*10*hz/max(1, baud))
}

// lined is the link to an emulated GPU over a line in virtual time.
type lined struct {
	*rootport.RootPort
	line *line.Line
	rate uint64
	dev  *Emulator
}

// BytesPerSecond implements Rated.
func (l *lined) BytesPerSecond() uint64 { return l.rate }

// Counters returns the counters of the GPU and the link.
func (l *lined) Counters() []Counter {
	all := append(l.dev.Counters(), portCounters(l.RootPort)...)
	s := l.line.Stats()
	return append(all,
		Counter{"clocks", s.Clocks},
		Counter{"wire_bytes_to_device", s.Bytes[0]},
		Counter{"wire_bytes_from_device", s.Bytes[1]},
		Counter{"frames_damaged", s.Link[0].BadCheck + s.Link[0].BadFrames},
		Counter{"frames_repeated", s.Link[0].Replays},
		Counter{"frames_duplicate", s.Link[0].Duplicates})
}
