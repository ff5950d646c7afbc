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
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// turnClocks is how many clocks are timed at a time, between two looks at the
// other device of a comparison.
const turnClocks = 20_000

// A Load is what a device does in a turn: it works for so many of its clocks,
// both nodes copying inside VRAM, and rests for the others.
type Load struct {
	Name string
	work uint64
}

// Loads are all of them.
var Loads = []Load{{"busy", turnClocks}, {"mixed", turnClocks / 10}, {"idle", 0}}

// A Way is how a device is emulated: with the sleep of idle clocks, without it,
// with every clock written as a wave, or with the ring of a flight recorder.
type Way string

// The ways.
const (
	Skip   Way = "skip"
	NoSkip Way = "noskip"
	Wave   Way = "wave"
	Flight Way = "flight"
)

// Ways are all of them.
var Ways = []Way{Skip, NoSkip, Wave, Flight}

// An emulation is a device that is timed.
type emulation struct {
	dev   port.Device // the GPU, or what records it
	board *bare.Board
	nodes []*bare.Node
	way   Way
}

// ringAt is where the ring of a node is in VRAM, behind what its copies move.
func ringAt(node int) uint64 { return uint64(node)*0x40000 + 0x20000 }

// emulate makes a device ready for work.
func emulate(ctx context.Context, way Way) (*emulation, error) {
	c := gpu.Default()
	c.VRAMBytes = 1 << 19
	g, err := gpu.New(c)
	if err != nil {
		return nil, err
	}
	e := &emulation{dev: g, way: way}
	if way == Wave || way == Flight {
		var w io.Writer
		if way == Wave {
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
	return e, nil
}

// submit gives the nodes copies for more than turnClocks. What was written has
// arrived when a read behind it is answered: the link does not run in a turn.
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

// finish clocks the device until its nodes have done their copies.
func (e *emulation) finish() error {
	for range 10 * turnClocks {
		if e.dev.IdleFor() == math.MaxUint64 {
			return nil
		}
		e.turn(1)
	}
	return ErrStuck
}

// turn clocks the device alone, as its link does, and returns how long it took.
func (e *emulation) turn(clocks uint64) time.Duration {
	start := time.Now()
	for clocks > 0 {
		if n := min(e.dev.IdleFor(), clocks); n > 0 && e.way != NoSkip {
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

// pass is one turn of a load.
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

// A Speed is that of the emulation.
type Speed struct {
	Clocks float64 // a second
	Times  float64 // how much longer it takes than with sleep alone
	Allocs float64 // of Go memory, in a turn
}

// Measure measures the emulation of a load: the fastest of so many turns, which
// alternate with those of a device with sleep alone. Whatever else this machine
// does makes a turn slower, never faster.
func Measure(ctx context.Context, l Load, way Way, turns int) (s Speed, err error) {
	base, err := emulate(ctx, Skip)
	if err != nil {
		return Speed{}, err
	}
	defer func() { err = errors.Join(err, base.board.Close()) }()
	e, err := emulate(ctx, way)
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

// allocations returns the fewest of a turn: the runtime has some of its own now
// and then.
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

// ratioTargets are what the ways have to keep, by load and way.
var ratioTargets = map[string]bound{
	"idle/noskip": {true, 100}, "busy/wave": {false, 6}, "busy/flight": {false, 1.7},
}

// Speeds measures the emulation of each load in each way, and tells progress
// unless it is nil.
func Speeds(ctx context.Context, turns int, progress Progress) ([]Figure, error) {
	var all []Figure
	for i, l := range Loads {
		for j, way := range Ways {
			if progress != nil {
				progress(i*len(Ways)+j, len(Loads)*len(Ways))
			}
			s, err := Measure(ctx, l, way, turns)
			if err != nil {
				return nil, err
			}
			name := l.Name + "/" + string(way)
			all = append(all, told("emulation, "+name, s.Clocks/1e6, "M clocks/s"))
			if b, ok := ratioTargets[name]; ok {
				all = append(all, against("emulation, "+name+" against skip", s.Times, "times as long", b))
			}
			if l.Name == "busy" {
				all = append(all, against("emulation, "+name+", allocations in a turn", s.Allocs, "", bound{false, 0}))
			}
		}
	}
	return all, nil
}
