// Package storm is constrained-random work for the nodes of a board, through
// their rings alone: every packet, with operands of every class, legal and not,
// in the ring and in indirect buffers, on all nodes at once. What comes of it is
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
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/bare"
	"github.com/hilgpu/hilgpu/testbench/scoreboard"
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
}

// A storm is one run.
type storm struct {
	Options
	b        *bare.Board
	rng      *rand.Rand
	want     *scoreboard.Memory
	stations []*station
	scratch  map[int]uint32
	cover    *coverage
	rounds   int
	packets  uint64
	began    uint64   // ID.TIME when the round began
	listing  []string // the packets of the round that differs
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
		if cerr := b.Close(); err == nil {
			err = cerr
		}
	}()
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
	d := device{
		nodes: b.Nodes, hostBits: b.HostBits, lengthBits: b.LengthBits, vram: b.VRAM,
	}
	caps := b.Reg(idreg.Caps)
	d.protection, d.timeline = caps&idreg.CapsProtection != 0, caps&idreg.CapsTimeline != 0
	d.contexts, d.preemption = caps&idreg.CapsContexts != 0, caps&idreg.CapsPreemption != 0
	share := min(b.VRAM/uint64(b.Nodes), vramShare)
	s := &storm{Options: o, b: b, rng: rand.New(rand.NewPCG(o.Seed, 1)), scratch: map[int]uint32{}, cover: newCoverage(bins(d))}
	s.want = scoreboard.New(b.Nodes*int(share), len(b.Host.Mem), s.rng)
	for i := range b.Nodes {
		n := &node{device: d, mem: s.want, id: i, scratch: s.scratch}
		st := &station{
			n: n, ring: b.Node(i), a: b.Access, area: newArea(i, share),
			rng: rand.New(rand.NewPCG(o.Seed, 2+uint64(i))),
		}
		s.want.Fill(st.area.vramZero.at, 8, 0)
		s.want.Fill(st.area.hostZero.at, 8, 0)
		s.stations = append(s.stations, st)
	}
	if b.Nodes == 2 {
		n0, n1 := s.stations[0].n, s.stations[1].n
		n0.peer, n1.peer = n1, n0
	}
	s.want.Load(b.Access)
	for i := range 4 {
		s.scratch[i] = 0
		b.SetReg(scratchOff+4*uint32(i), 0)
	}
	return s
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
	}
	return s.b.Err
}

// round gives every node a batch, lets them work at the same time, and compares.
func (s *storm) round() error {
	s.b.Host.Messages, s.b.Host.Refused = nil, nil
	goals := make([]*Bin, len(s.stations))
	for i, st := range s.stations {
		goals[i] = s.goal()
		if err := s.ready(st, goals[i]); err != nil {
			return err
		}
		st.n.irqs, st.n.begun = 0, st.n.fence
	}
	for i, st := range s.stations {
		was := st.n.packets
		st.batch(goals[i])
		s.packets += uint64(st.n.packets - was)
		st.push()
	}
	s.began = s.time()
	for _, st := range s.stations {
		st.ring.Doorbell()
	}
	if !s.b.Until(s.rest) {
		s.listing = s.disassemble()
		return fmt.Errorf("%w: a node does not come to rest: %s", ErrDiffers, s.state())
	}
	if err := s.compare(); err != nil {
		s.listing = s.disassemble()
		return err
	}
	s.b.Host.Refused = nil
	for _, st := range s.stations {
		s.cover.hit(st.hits)
		if err := s.recover(st); err != nil {
			return err
		}
	}
	return nil
}

// disassemble returns the packets of every node's round, the ring before the
// indirect buffers.
func (s *storm) disassemble() []string {
	var all []string
	for _, st := range s.stations {
		all = append(all, fmt.Sprintf("node %d", st.n.id))
		for _, c := range append([]chunk{{st.ringAt(0), st.words}}, st.chunks...) {
			all = append(all, pkt.Disassemble(encode(c.words), c.addr)...)
		}
	}
	return all
}

// goal returns a bin that nobody has hit, or none, now and then and if there is
// none.
func (s *storm) goal() *Bin {
	m := s.cover.missing()
	if len(m) == 0 {
		m = s.cover.all
	}
	if s.rng.IntN(20) == 0 || len(m) == 0 {
		return nil
	}
	return &m[s.rng.IntN(len(m))]
}

// ready brings a node into the state that a bin needs, and sometimes into
// another one.
func (s *storm) ready(st *station, g *Bin) error {
	protect := st.n.protect
	if g == nil && s.rng.IntN(4) == 0 {
		protect = !protect
	}
	if g != nil && g.State != inRing.String() {
		protect = g.State == guarded.String()
	}
	if g != nil && fresh(*g) || s.rng.IntN(12) == 0 {
		fences := []uint32{0, 1<<32 - 8, s.rng.Uint32()}
		return st.start(fences[s.rng.IntN(len(fences))], protect)
	}
	if protect != st.n.protect {
		return st.guard(protect)
	}
	return nil
}

// rest says whether every node has stopped or done all.
func (s *storm) rest() bool {
	for _, st := range s.stations {
		status := st.ring.Reg(cpreg.Status)
		if status&cpreg.StatusFault == 0 && (status&cpreg.StatusIdle == 0 || st.ring.Reg(cpreg.Rptr) != st.ring.Wptr()) {
			return false
		}
	}
	return true
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

// recover has a node go on behind a fault: by a reset, or by clearing the fault
// and making the rest of the ring NOPs.
func (s *storm) recover(st *station) error {
	f := st.fault
	if f == nil {
		return nil
	}
	if s.rng.IntN(2) == 0 {
		return st.start(s.rng.Uint32(), st.n.protect)
	}
	for i := f.ring; i < len(st.words); i++ {
		st.store(st.ringAt(i), []uint32{nop})
		st.n.packets++
	}
	st.ring.SetReg(cpreg.FaultInfo, 0)
	if err := st.ring.Run(); err != nil {
		return err
	}
	return st.ring.Settle()
}
