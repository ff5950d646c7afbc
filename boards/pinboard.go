package boards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// simVerilator is the value of the option sim for Verilog.
const simVerilator = "verilator"

// pinBoard is the scheme of gateware that is driven at its pins.
func pinBoard() scheme {
	return scheme{
		name: "pins", place: "NAME",
		doc: "the gateware of a board, driven at its pins in virtual time: " + sentence(gateware.Names()),
		options: append([]option{
			{name: "sim", doc: "go for the design in Go, verilator for its Verilog, in a process that is built on first use; go by default", values: []string{"go", simVerilator}},
			{name: "source", doc: "directory in the source tree of this program, for sim=verilator, . by default"},
			{name: "faults", doc: "faults at the pins and in frames, as in bit=0.001,loss=0.05,seed=7", values: pins.FaultNames()},
			{name: "mac", doc: "MAC address of a board on Ethernet, as board build --mac"},
			{name: "ip", doc: "its IP address, as board build --ip"},
			{name: "port", doc: "its UDP port, as board build --port"},
			{name: "hostclock", doc: "rate of the host's clock in thousandths of the nominal rate, 980 to 1020, 1000 by default"},
		}, remoteOptions()...),
		open: openPins, recorded: true, virtual: true,
	}
}

// A gate is the gateware of a board at its pins, a UART or an Ethernet, and what ends it.
type gate struct {
	board  *gateware.Board
	fast   int // how fast the host's clock is, in parts per million
	serial *pins.Serial
	ether  *pins.Ether
	frames fault.Config
	wave   *wave.Recorder // or nil
	end    func() error
}

// pinsOf opens the gateware of a selector at its pins, and records it if rec is not nil.
func pinsOf(place string, o *values, rec *wave.Recorder) (*gate, error) {
	board, err := gateware.Find(place)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelector, err)
	}
	if o.Has("sim") && o.Get("sim") != "go" && o.Get("sim") != simVerilator {
		o.bad("sim", "go or "+simVerilator)
	}
	if rec != nil && o.Get("sim") == simVerilator {
		o.bad("sim", "go, to record a waveform")
	}
	board, err = board.At(gateware.Addresses{MAC: o.Get("mac"), IP: o.Get("ip"), Port: o.Get("port")})
	var bad *gateware.AddressError
	if errors.As(err, &bad) {
		o.bad(bad.Option, bad.Want)
		return nil, o.err
	}
	g := &gate{board: board, wave: rec, end: func() error { return nil }}
	if board.NewEther != nil {
		return g, g.openEther(o)
	}
	return g, g.openSerial(o)
}

// openSerial opens a board with a UART.
func (g *gate) openSerial(o *values) error {
	var at pins.Faults
	var err error
	rate := 1000
	if o.Has("faults") {
		if at, g.frames, err = pins.ParseFaults(o.Get("faults")); err != nil {
			o.wrong("faults", fault.ErrConfig, err)
		}
	}
	o.integer("hostclock", &rate, 980, 1020)
	if o.err != nil {
		return o.err
	}
	top, err := g.board.New(g.board.Build())
	if err != nil {
		return err
	}
	g.fast = 1000 * (rate - 1000)
	batch := pins.Clocked(top)
	if g.wave != nil {
		if batch, err = pins.Recorded(top, g.board.Hz, g.wave); err != nil {
			return fmt.Errorf("%w: %w", ErrSelector, err)
		}
	}
	if o.Get("sim") == simVerilator {
		root, err := o.root("sim=" + simVerilator)
		if err != nil {
			return err
		}
		v, err := pins.NewVerilated(root, top, sim.BuildOptions{}, g.board.Outputs...)
		if err != nil {
			return err
		}
		batch, g.end = v, v.Close
	}
	g.serial = pins.NewBatched(batch, g.board.Hz, g.board.Rates, g.fast, at)
	return nil
}

// openEther opens a board on Ethernet.
func (g *gate) openEther(o *values) error {
	var at pins.EtherFaults
	var err error
	if o.Has("faults") {
		if at, g.frames, err = pins.ParseEtherFaults(o.Get("faults")); err != nil {
			o.wrong("faults", fault.ErrConfig, err)
		}
	}
	if o.Has("hostclock") {
		o.bad("hostclock", "a board with a UART")
	}
	if o.err != nil {
		return o.err
	}
	top, err := g.board.NewEther(g.board.Address, g.board.Build())
	if err != nil {
		return err
	}
	batch := pins.EtherClocked(top)
	if g.wave != nil {
		if batch, err = pins.EtherRecorded(top, g.board.Hz, g.wave); err != nil {
			return fmt.Errorf("%w: %w", ErrSelector, err)
		}
	}
	if o.Get("sim") == simVerilator {
		root, err := o.root("sim=" + simVerilator)
		if err != nil {
			return err
		}
		v, err := pins.NewEtherVerilated(root, top, sim.BuildOptions{}, g.board.Outputs...)
		if err != nil {
			return err
		}
		batch, g.end = v, v.Close
	}
	g.ether = pins.NewEther(batch, at)
	return nil
}

// wire returns a line in virtual time to the board. The time is that of the host's clock.
func (g *gate) wire() (*pins.Wire, error) {
	o := pins.Options{Hz: g.board.Hz * 1_000_000 / uint64(1_000_000+g.fast), Faults: g.frames}
	if g.ether != nil {
		return pins.NewEtherWire(g.ether, g.board.Address, o)
	}
	return pins.New(g.serial, o)
}

// rate returns the bytes per second of the line.
func (g *gate) rate() uint64 {
	if g.ether != nil {
		return g.board.Hz
	}
	return g.board.Hz / g.serial.ByteClocks()
}

// faulty returns the faults injected at the pins.
func (g *gate) faulty() pins.FaultStats {
	if g.ether != nil {
		return g.ether.Faulty()
	}
	return g.serial.Faulty()
}

func openPins(at opening) (bus.Link, bus.Clock, error) {
	o := values{Values: at.values}
	ms := uint64(1000)
	o.number("timeout", &ms, 1, 3_600_000)
	g, err := pinsOf(at.place, &o, at.Wave)
	if err != nil {
		return nil, nil, err
	}
	wire, err := g.wire()
	if err != nil {
		return nil, nil, errors.Join(err, g.end())
	}
	port, err := rootport.New(wire.Dial, at.host, rootport.Options{Timeout: time.Duration(ms) * time.Millisecond, Observer: at.observer()})
	if err != nil {
		return nil, nil, errors.Join(err, g.end())
	}
	l := &pinned{RootPort: port, wire: wire, gate: g}
	if g.serial != nil {
		return ratedPins{l}, l, nil
	}
	return l, l, nil
}

// pinned is the link to gateware that is driven at its pins.
type pinned struct {
	*rootport.RootPort
	wire *pins.Wire
	gate *gate
	once sync.Once
	err  error // of the end of the gateware
}

// Close releases the link and ends the gateware.
func (l *pinned) Close() error {
	err := l.RootPort.Close()
	l.once.Do(func() { l.err = l.gate.end() })
	return errors.Join(err, l.err)
}

// BytesPerSecond implements Rated.
func (l *pinned) BytesPerSecond() uint64 { return l.gate.rate() }

// ratedPins is the link to gateware with a UART. It implements Rater.
type ratedPins struct{ *pinned }

// Rates implements Rater.
func (l ratedPins) Rates() []int { return slices.Clone(l.gate.board.Rates) }

// Rate implements Rater.
func (l ratedPins) Rate() int { return l.gate.serial.Baud() }

// LimitRate implements Rater.
func (l ratedPins) LimitRate(most int) { l.gate.serial.Limit(most) }

// Counters returns the counters of the link.
func (l *pinned) Counters() []Counter {
	s := l.wire.Stats()
	return append(portCounters(l.RootPort),
		Counter{"clocks", l.wire.Clocks()},
		Counter{"wire_bytes_to_device", l.wire.BytesDown},
		Counter{"wire_bytes_from_device", l.wire.BytesUp},
		Counter{"frames_sent", s.FramesSent},
		Counter{"frames_received", s.FramesReceived},
		Counter{"frames_damaged", s.BadCheck + s.BadFrames},
		Counter{"frames_repeated", s.Replays},
		Counter{"frames_duplicate", s.Duplicates},
		Counter{"pin_faults", l.gate.faulty().All()})
}

// Gateware is a board at its pins, to be served to hosts.
type Gateware struct{ gate *gate }

// OpenGateware opens the gateware of a selector such as pins:ice40-hx8k?sim=verilator. Faults
// of frames and options of the host's end have no meaning there. It fails with ErrSelector.
func OpenGateware(selector string) (*Gateware, error) {
	s := pinBoard()
	rest, _ := strings.CutPrefix(selector, s.name+":")
	place, query, _ := strings.Cut(rest, "?")
	given, err := s.parse(query)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
	}
	o := values{Values: given}
	for _, host := range remoteOptions() {
		if o.Has(host.name) {
			o.bad(host.name, "no option of a host for served gateware")
		}
	}
	g, err := pinsOf(place, &o, nil)
	if err == nil && g.frames != (fault.Config{Seed: g.frames.Seed}) {
		err = errors.Join(fmt.Errorf("%w: faults of frames need a host in the same process; those at the pins do not", errOption), g.end())
	}
	if errors.Is(err, errOption) {
		err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
	}
	if err != nil {
		return nil, err
	}
	return &Gateware{g}, nil
}

// IsGateware reports whether a selector is of gateware at its pins.
func IsGateware(selector string) bool { return strings.HasPrefix(selector, pinBoard().name+":") }

// Ether returns the addresses of a board on Ethernet, and whether it has one.
func (g *Gateware) Ether() (at ip.Params, has bool) { return g.gate.board.Address, g.gate.ether != nil }

// Rates returns the rates of a board with a UART, see gateware.Board.
func (g *Gateware) Rates() []int { return g.gate.board.Rates }

// Bridge is that of pins.Serial or of pins.Ether.
func (g *Gateware) Bridge(ctx context.Context, stream io.ReadWriter) error {
	if g.gate.ether != nil {
		return g.gate.ether.Bridge(ctx, stream)
	}
	return g.gate.serial.Bridge(ctx, stream)
}

// Close ends the gateware.
func (g *Gateware) Close() error { return g.gate.end() }
