// Package storm runs constrained-random work on all nodes of a board at once, through
// their rings only: every packet, with legal and illegal operands of every class, in
// rings and in indirect buffers, while the host preempts and resets nodes or turns bus
// mastering off. The results are compared with the reference model, register by register
// and byte by byte, and counted in bins derived from the table of packets.
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

// Errors of Run. ErrInput reports invalid options. ErrDiffers reports a device that does
// not behave as the documents say.
var (
	ErrInput   = errors.New("storm: bad input")
	ErrDiffers = errors.New("storm: the device differs from its model")
)

// Options configure a run.
type Options struct {
	Board  string      // board selector
	Open   bare.Opener // opens the board
	Seed   uint64
	Cycles uint64 // clocks of the board after which no round starts; not 0
	All    bool   // run for all Cycles, even after every bin was hit

	Sanitize bool // hold each access of the device to host memory against the packets of the round

	// Progress, if not nil, is called after each round with the number of bins hit, or with
	// All the number of clocks done, and the total.
	Progress func(done, total uint64)

	// Expect, if not nil, is called before a node is given work that must fault, with the cause in FAULT_INFO
	// and the address in FAULT_ADDR.
	Expect func(node int, cause uint32, addr uint64)

	// Failed, if not nil, is called with the error of a run before the board is closed.
	Failed func(error)
}

// A storm is the state of a run.
type storm struct {
	Options
	b          *bare.Board
	d          device
	rng        *rand.Rand
	want       *scoreboard.Memory
	generators []*generator
	model      *refmodel.Device
	cover      *coverage
	rounds     int
	packets    uint64
	began      uint64    // ID.TIME at the start of the round
	late       bool      // the first node gets its doorbell after the second one waits for it
	freeze     bool      // the counters are frozen in this round
	opened     [2]uint64 // ID.TIME before and after the start of the counters
	preempts   uint32    // ID of the last preemption
	listing    []string  // packets of the round that differs
	allowed    *allowed  // accesses to host memory
	limits     limits
}

// Run opens the board and works until every bin was hit or Cycles clocks have passed. It
// fails with ErrInput, ErrDiffers, scoreboard.ErrDiffers, or an error of the board. The
// report is valid even if Run fails, unless the board could not be opened.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if o.Cycles == 0 {
		return nil, fmt.Errorf("%w: 0 cycles", ErrInput)
	}
	var see allowed
	open := o.Open
	if o.Sanitize {
		open = see.opener(open)
	}
	b, err := bare.Open(ctx, o.Board, bare.NewHost(cpreg.Nodes*hostShare), open)
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
		return nil, fmt.Errorf("%w: %s has no aperture; the storm needs one to fill rings and buffers in VRAM", ErrInput, o.Board)
	}
	s := newStorm(o, b, &see)
	start := b.Clock.Now()
	err = s.run(start + o.Cycles)
	if b.Err != nil {
		err = b.Err
	} else if err != nil {
		err = fmt.Errorf("round %d of seed %d: %w", s.rounds, o.Seed, err)
	}
	return s.report(b.Clock.Now() - start), err
}

func newStorm(o Options, b *bare.Board, see *allowed) *storm {
	d := newDevice(b)
	share := min(b.VRAM/uint64(b.Nodes), vramShare)
	s := &storm{Options: o, b: b, d: d, rng: rand.New(rand.NewPCG(o.Seed, 1)), cover: newCoverage(bins(d)), allowed: see, limits: limitsOf(b)}
	s.want = scoreboard.New(b.Nodes*int(share), len(b.Host.Mem), s.rng)
	s.model = refmodel.New(d.Config, &s.want.Memory)
	for i, n := range s.model.Nodes {
		st := &generator{
			n: n, d: d, mem: s.want, ring: b.Node(i), a: b.Access, area: newArea(i, share),
			rng: rand.New(rand.NewPCG(o.Seed, 2+uint64(i))), allowed: s.allowed,
		}
		s.want.Fill(st.area.vramZero.At, 8, 0)
		s.want.Fill(st.area.hostZero.At, 8, 0)
		s.generators = append(s.generators, st)
	}
	if b.Nodes == 2 {
		s.generators[0].peer, s.generators[1].peer = s.generators[1], s.generators[0]
	}
	s.want.Load(b.Access)
	for i := range 4 {
		b.SetReg(refmodel.ScratchOff+4*uint32(i), 0)
	}
	return s
}

// newDevice returns the configuration of a board.
func newDevice(b *bare.Board) device {
	return device{refmodel.Config{
		Nodes: b.Nodes, HostBits: b.HostBits, LengthBits: b.LengthBits, VRAM: b.VRAM, Caps: b.Capabilities(),
	}}
}

func (s *storm) run(end uint64) error {
	for _, st := range s.generators {
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
	if s.b.Err != nil {
		return s.b.Err
	}
	return s.listed(nil)
}

// progress reports the progress of a run that ends at the clock end.
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
	for _, st := range s.generators {
		text += st.ring.State() + "; "
	}
	return text
}
