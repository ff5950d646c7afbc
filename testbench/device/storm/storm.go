// Package storm is constrained-random work for the nodes of a board, through
// their rings alone: every packet, with operands of every class, legal and not,
// in the ring and in indirect buffers, on all nodes at once, while the host
// preempts and resets nodes or takes away what they need. What comes of it is
// held against a model of the documents, register by register and byte by byte,
// and counted in bins that are made from the table of packets.
package storm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
)

// Errors of Run. ErrInput is options that cannot be, ErrDiffers a device that
// is not as the documents say.
var (
	ErrInput   = errors.New("storm: bad input")
	ErrDiffers = errors.New("storm: the device differs from its model")
)

// Options are what a run does.
type Options struct {
	Board  string      // selector
	Open   bare.Opener // how it is opened
	Seed   uint64
	Cycles uint64 // of the board's clock, after which no round begins; not 0
	All    bool   // go on until then, though every bin was hit

	// Progress, if not nil, is told after each round how far the run is: how many of
	// the bins were hit, or with All how many of the clocks are over.
	Progress func(done, total uint64)

	// Failed, if not nil, gets the error of a run before the board is closed.
	Failed func(error)
}

// A storm is one run.
type storm struct {
	Options
	b        *bare.Board
	d        device
	rng      *rand.Rand
	want     *scoreboard.Memory
	stations []*station
	model    *refmodel.Device
	cover    *coverage
	rounds   int
	packets  uint64
	began    uint64    // ID.TIME when the round began
	late     bool      // the first node gets its doorbell when the second one waits for it
	freeze   bool      // the counters stand still in this round
	opened   [2]uint64 // ID.TIME around the start of the counters
	preempts uint32    // the last id of a preemption
	listing  []string  // the packets of the round that differs
}

// Run opens the board and works until every bin was hit or the clocks are over.
// It fails with ErrInput, ErrDiffers, scoreboard.ErrDiffers, or with an error of
// the board; the report of what was hit until then is returned in any case in
// which the board could be opened.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if o.Cycles == 0 {
		return nil, fmt.Errorf("%w: 0 cycles", ErrInput)
	}
	b, err := bare.Open(ctx, o.Board, bare.NewHost(cpreg.Nodes*hostShare), o.Open)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && o.Failed != nil {
			o.Failed(err)
		}
		if cerr := b.Close(); err == nil {
			err = cerr
		}
	}()
	if !b.Aperture {
		return nil, fmt.Errorf("%w: %s has no aperture, through which rings and buffers in VRAM are filled while nodes work", ErrInput, o.Board)
	}
	s := newStorm(o, b)
	start := b.Clock.Now()
	err = s.run(start + o.Cycles)
	if b.Err != nil {
		err = b.Err
	} else if err != nil {
		err = fmt.Errorf("round %d of seed %d: %w", s.rounds, o.Seed, err)
	}
	return s.report(b.Clock.Now() - start), err
}

func newStorm(o Options, b *bare.Board) *storm {
	d := newDevice(b)
	share := min(b.VRAM/uint64(b.Nodes), vramShare)
	s := &storm{Options: o, b: b, d: d, rng: rand.New(rand.NewPCG(o.Seed, 1)), cover: newCoverage(bins(d))}
	s.want = scoreboard.New(b.Nodes*int(share), len(b.Host.Mem), s.rng)
	s.model = refmodel.New(d.Config, &s.want.Memory)
	for i, n := range s.model.Nodes {
		st := &station{
			n: n, d: d, mem: s.want, ring: b.Node(i), a: b.Access, area: newArea(i, share),
			rng: rand.New(rand.NewPCG(o.Seed, 2+uint64(i))),
		}
		s.want.Fill(st.area.vramZero.At, 8, 0)
		s.want.Fill(st.area.hostZero.At, 8, 0)
		s.stations = append(s.stations, st)
	}
	if b.Nodes == 2 {
		s.stations[0].peer, s.stations[1].peer = s.stations[1], s.stations[0]
	}
	s.want.Load(b.Access)
	for i := range 4 {
		b.SetReg(refmodel.ScratchOff+4*uint32(i), 0)
	}
	return s
}

// newDevice returns what the bins of a board depend on.
func newDevice(b *bare.Board) device {
	return device{refmodel.Config{
		Nodes: b.Nodes, HostBits: b.HostBits, LengthBits: b.LengthBits, VRAM: b.VRAM, Caps: b.Capabilities(),
	}}
}

func (s *storm) run(end uint64) error {
	for _, st := range s.stations {
		if err := st.start(0, false); err != nil {
			return err
		}
	}
	for s.b.Clock.Now() < end && s.b.Alive() && (s.All || len(s.cover.missing()) > 0) {
		s.rounds++
		if err := s.round(); err != nil {
			return err
		}
		s.progress(end)
	}
	return s.b.Err
}

// progress tells how far the run is that is over at the clock end.
func (s *storm) progress(end uint64) {
	switch {
	case s.Progress == nil:
	case s.All:
		left := end - min(end, s.b.Clock.Now())
		s.Progress(s.Cycles-left, s.Cycles)
	default:
		total := len(s.cover.all)
		s.Progress(uint64(total-len(s.cover.missing())), uint64(total))
	}
}

func (s *storm) time() uint64 {
	lo := s.b.Reg(idreg.TimeLo)
	return uint64(s.b.Reg(idreg.TimeHi))<<32 | uint64(lo)
}

func (s *storm) state() string {
	text := ""
	for _, st := range s.stations {
		text += st.ring.State() + "; "
	}
	return text
}
