package figures

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// turnClocks is the number of clocks that are timed without interruption. Turns of
// two devices alternate in a comparison.
const turnClocks = 20_000

// A Load is the work of a device in a turn: both nodes copy within VRAM for the
// first work clocks, and the device is idle for the others.
type Load struct {
	Name string
	work uint64
}

// Loads lists all loads.
var Loads = []Load{{"busy", turnClocks}, {"mixed", turnClocks / 10}, {"idle", 0}}

// A Mode is a mode of the emulator: skipping idle clocks, not skipping them,
// writing every clock to a wave, keeping the last ones in a flight recorder, or
// skipping them in the configuration "full", without a microcontroller and with a
// firmware that sleeps.
type Mode string

// The modes.
const (
	Skip     Mode = "skip"
	NoSkip   Mode = "noskip"
	Wave     Mode = "wave"
	Flight   Mode = "flight"
	FullSkip Mode = "full skip"
	Firmware Mode = "firmware"
)

// Modes lists all modes.
var Modes = []Mode{Skip, NoSkip, Wave, Flight, FullSkip, Firmware}

// base returns the mode to which a mode is compared.
func (m Mode) base() Mode {
	if m == Firmware {
		return FullSkip
	}
	return Skip
}

// config returns the configuration of a mode.
func (m Mode) config() gpu.Config {
	c := gpu.Default()
	switch m {
	case FullSkip:
		c = gpu.Full()
		c.Caps &^= caps.MCU
	case Firmware:
		c = gpu.Full()
	default:
	}
	c.VRAMBytes = 1 << 19
	return c
}

// An emulation is a timed device.
type emulation struct {
	dev   port.Device // the GPU, or a wrapper that records its waves
	board *bare.Board
	nodes []*bare.Node
	mode  Mode
}

// ringAt returns the VRAM address of a node's ring, after the data of its copies.
func ringAt(node int) uint64 { return uint64(node)*0x40000 + 0x20000 }

// emulate creates a device in a mode, ready for work.
func emulate(ctx context.Context, mode Mode) (*emulation, error) {
	c := mode.config()
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	e := &emulation{dev: g, mode: mode}
	if mode == Wave || mode == Flight {
		var w io.Writer
		if mode == Wave {
			w = io.Discard
		}
		r, err := wave.New(w, wave.Options{})
		if err != nil {
			return nil, err
		}
		e.dev = r.Attach(g)
	}
	e.board, err = bare.Open(ctx, "emulation", bare.NewHost(64), func(_ string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, err := inproc.New(e.dev, host, inproc.Options{Hz: uint64(c.ClockHz)})
		return link, link, err
	})
	if err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		n := e.board.Node(i)
		if err := n.Start(ringAt(i), 12, 0); err != nil {
			return nil, err
		}
		e.nodes = append(e.nodes, n)
	}
	if mode == Firmware {
		if err := e.boot(); err != nil {
			return nil, errors.Join(err, e.board.Close())
		}
	}
	return e, nil
}

// bootPolls is how often the result of the boot is read.
const bootPolls = 1 << 16

// boot starts the firmware and waits until it sleeps.
func (e *emulation) boot() error {
	if _, err := firmware.Load(bare.Registers{Access: e.board.Access}, firmware.Default(), firmware.Options{Polls: bootPolls}); err != nil {
		return err
	}
	return e.finish()
}

// submit gives the nodes copies that take longer than turnClocks. It ends with a
// read, so that all writes have arrived: the link does not run during a turn.
func (e *emulation) submit() error {
	for i, n := range e.nodes {
		at := uint64(i) * 0x40000
		c := pkt.Copy{Src: at, Dst: at + 0x10000, Bytes: 0x10000}
		p, err := bare.Encode(c, c)
		if err != nil {
			return err
		}
		n.Push(p)
		n.Doorbell()
	}
	e.board.Reg(idreg.Magic)
	return e.board.Err
}

// finish clocks the device until the copies are done.
func (e *emulation) finish() error {
	for range 10 * turnClocks {
		if e.dev.IdleFor() == math.MaxUint64 {
			return nil
		}
		e.turn(1)
	}
	return ErrStuck
}

// turn clocks the device without its link and returns the time.
func (e *emulation) turn(clocks uint64) time.Duration {
	start := time.Now()
	for clocks > 0 {
		if n := min(e.dev.IdleFor(), clocks); n > 0 && e.mode != NoSkip {
			e.dev.Skip(n)
			clocks -= n
			continue
		}
		e.dev.Target()
		e.dev.Initiator()
		e.dev.Tick(port.Request{}, port.Beat{}, true, port.Completion{}, false, false)
		clocks--
	}
	return time.Since(start)
}

// pass performs one turn of a load.
func (e *emulation) pass(l Load) (d time.Duration, err error) {
	if l.work > 0 {
		if err := e.submit(); err != nil {
			return 0, err
		}
		d = e.turn(l.work)
		if err := e.finish(); err != nil {
			return 0, err
		}
	}
	return d + e.turn(turnClocks-l.work), nil
}

// A Speed is the speed of the emulator.
type Speed struct {
	Clocks float64 // clocks per second
	Times  float64 // time relative to the mode base()
	Allocs float64 // Go heap allocations per turn
}

// Measure measures the emulator with a load. It uses the fastest of the turns,
// which alternate with turns of a device in the mode of the comparison: other load
// on the machine only makes a turn slower.
func Measure(ctx context.Context, l Load, mode Mode, turns int) (s Speed, err error) {
	base, err := emulate(ctx, mode.base())
	if err != nil {
		return Speed{}, err
	}
	defer func() { err = errors.Join(err, base.board.Close()) }()
	e, err := emulate(ctx, mode)
	if err != nil {
		return Speed{}, err
	}
	defer func() { err = errors.Join(err, e.board.Close()) }()
	if _, err := e.pass(l); err != nil {
		return Speed{}, err
	}
	least, leastBase := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range turns {
		want, err := base.pass(l)
		if err != nil {
			return Speed{}, err
		}
		got, err := e.pass(l)
		if err != nil {
			return Speed{}, err
		}
		least, leastBase = min(least, got), min(leastBase, want)
	}
	allocs, err := e.allocations(l, turns)
	return Speed{turnClocks / least.Seconds(), float64(least) / float64(leastBase), allocs}, err
}

// allocations returns the smallest number of allocations of a turn; the Go runtime
// adds some at times.
func (e *emulation) allocations(l Load, turns int) (float64, error) {
	least := uint64(math.MaxUint64)
	for range turns {
		if err := e.submit(); err != nil {
			return 0, err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e.turn(max(l.work, 1))
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
		if err := e.finish(); err != nil {
			return 0, err
		}
	}
	return float64(least), nil
}

// ratioTargets lists the targets of modes relative to their base, by load and mode.
var ratioTargets = map[string]bound{
	"idle/noskip": {true, 100}, "busy/wave": {false, 6}, "busy/flight": {false, 1.7}, "mixed/firmware": {false, 1.05},
}

// Speeds measures each load in each mode and calls progress unless it is nil.
func Speeds(ctx context.Context, turns int, progress Progress) ([]Figure, error) {
	var all []Figure
	for i, l := range Loads {
		for j, mode := range Modes {
			if progress != nil {
				progress(i*len(Modes)+j, len(Loads)*len(Modes))
			}
			s, err := Measure(ctx, l, mode, turns)
			if err != nil {
				return nil, err
			}
			name := l.Name + "/" + string(mode)
			all = append(all, withoutTarget("emulation, "+name, s.Clocks/1e6, "M clocks/s"))
			if b, ok := ratioTargets[name]; ok {
				all = append(all, withTarget("emulation, "+name+" against "+string(mode.base()), s.Times, "times as long", b))
			}
			if l.Name == "busy" {
				all = append(all, withTarget("emulation, "+name+", allocations in a turn", s.Allocs, "", bound{false, 0}))
			}
		}
	}
	return all, nil
}
