// Package sample has small modules that together use every construct of the
// subset. The translator's tests run them in Go and in Verilog.
package sample

import (
	"math/bits"

	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// Arith computes with every operator at every width.
type Arith struct {
	A8   uint8
	B16  uint16
	C32  uint32
	D64  uint64
	Odd  uint8  `w:"5"`
	Wide uint64 `w:"35"`
	Flag bool
	Ones uint8
}

// Tick is one rising clock edge.
func (m *Arith) Tick(a, b uint8, c uint16, d uint32, e uint64, f bool) {
	m.A8 = a + b*3 - m.A8>>(b&15)
	m.B16 = uint16(a)<<8 | uint16(b) ^ c&^0x00f0
	m.C32 = d - uint32(c) + uint32(a)<<(a&63)
	m.D64 = e*uint64(d) ^ ^m.D64>>(8*b) | uint64(a/16)<<60
	m.Odd = uint8(d>>7) & 0x1f
	m.Wide = (m.Wide<<1 + e%1024) & (1<<35 - 1)
	m.Flag = f != (a < b) && (c >= uint16(m.A8) || d <= 0x80000000) == !m.Flag
	m.Ones = uint8(bits.OnesCount32(d)) + min(a, b, 9) + max(a, 3)
	m.A8 &^= uint8(c)
	m.B16 -= 1
	m.C32++
	m.C32 <<= 1
}

// Reset sets the registers.
func (m *Arith) Reset() { *m = Arith{A8: 7, Flag: true} }

// Out returns a function of all registers.
func (m *Arith) Out() uint64 {
	return m.D64 ^ uint64(m.A8) ^ uint64(m.B16)<<3 ^ uint64(m.C32)<<9 ^ m.Wide
}

type mode uint8

const (
	modeA mode = iota
	modeB
	modeC
	modeD
)

// Flow branches, loops and returns early.
type Flow struct {
	Mode  mode `w:"2"`
	Count uint32
	Last  uint8
	Sum   uint16
	step  uint32
}

// NewFlow returns a module with the parameter step.
func NewFlow(step uint32) *Flow { return &Flow{step: step} }

// Tick is one rising clock edge.
func (m *Flow) Tick(a, b uint8, go1 bool) {
	was := m.Mode
	switch m.Mode {
	case modeA, modeB:
		if go1 {
			m.Mode = (m.Mode + 1) & 3
		}
		m.Count += m.step
	case modeC:
		m.advance(a)
	default:
		m.Mode = modeA
	}
	m.Last = first(a, b)
	m.Sum = sum(a, b)
	if x, ok := partial(a, b); ok && was != modeD {
		m.Last ^= x
	} else if go1 {
		m.Last++
	}
	switch v := a & 7; {
	case v > 5:
		m.Count ^= 0xff
	case b > a:
		m.Count ^= 0xff00
	default:
	}
}

// Reset sets all registers except Count.
func (m *Flow) Reset() { m.Mode, m.Last, m.Sum = modeB, 1, 2 }

func (m *Flow) advance(a uint8) {
	if a&1 != 0 {
		return
	}
	m.Mode = modeD
	m.Count--
}

// first returns the lowest bit of a that is not in b, with an early return from a
// loop.
func first(a, b uint8) uint8 {
	for i := uint8(0); i < 8; i++ {
		if a>>i&1 != 0 && b>>i&1 == 0 {
			return i
		}
	}
	return 0xff
}

func sum(a, b uint8) (s uint16) {
	for i := range 4 {
		s += uint16(a) >> i
	}
	for i := 8; i > 0; i -= 3 {
		s ^= uint16(b) << i
	}
	return s
}

// partial returns from inside branches, some of which fall through.
func partial(a, b uint8) (uint8, bool) {
	if a > 100 {
		if b > 100 {
			return 1, true
		}
	} else if b&3 == 2 {
		return b, false
	}
	switch {
	case a == b:
		return 3, true
	case a&b == 0:
	default:
		if b > 200 {
			return 4, false
		}
	}
	return a + b, a&1 != 0
}

type point struct {
	X, Y uint16
	On   bool
}

// Record moves structs and arrays.
type Record struct {
	p, q point
	tab  [4]uint8
	bit  [8]bool
	pts  [2]struct{ U, V uint8 }
	n    uint8 `w:"3"`
}

// Tick is one rising clock edge.
func (m *Record) Tick(p point, i, v uint8, swap bool) {
	old := m.p
	if swap {
		m.p, m.q = m.q, m.p
	} else {
		m.p = p
	}
	m.tab[i&3] = v
	m.tab[1] += m.tab[(i>>2)&3]
	m.bit[m.n] = !m.bit[i&7]
	m.pts[i>>7].U = v
	m.pts[0].V ^= m.pts[i>>6&1].U
	m.n = (m.n + 1) & 7
	if old == m.p || m.q != (point{X: 1}) && m.q.moved(1).On {
		m.q.shift(v)
	}
	local := m.q
	local.shift(3)
	m.q.Y = local.X
}

// moved returns a point to the right; p is a copy.
func (p point) moved(by uint16) point {
	p.X += by
	p.On = p.X > p.Y
	return p
}

func (p *point) shift(v uint8) { p.X, p.Y = p.Y+uint16(v), p.X }

// Reset sets the registers.
func (m *Record) Reset() {
	*m = Record{p: point{X: 5, Y: 6, On: true}, tab: [4]uint8{1, 2, 3, 4}}
	for i := range 8 {
		m.bit[i] = i&1 != 0
	}
}

// Store has two memories, one with a single port, and three FIFOs. It resets
// itself and one of the FIFOs.
type Store struct {
	ram  hdl.RAM
	one  hdl.RAM
	in   hdl.FIFO[point]
	out  hdl.FIFO[uint64]
	long hdl.FIFO[point]
	prev uint32 `w:"3"`
	seen uint64
	two  bool
}

// NewStore returns a Store with 8 words.
func NewStore() *Store {
	return &Store{ram: hdl.NewRAM(8), one: hdl.NewSinglePortRAM(4), in: hdl.NewFIFO[point](4), out: hdl.NewFIFO[uint64](1), long: hdl.NewFIFO[point](16)}
}

// Tick is one rising clock edge.
func (m *Store) Tick(p point, push, pop bool, addr uint8, enable uint8, data uint64, clear, reset bool) {
	head, valid, ready := m.in.Out()
	_, _, room := m.out.Out()
	word := m.ram.Out() ^ m.one.Out()<<1
	m.seen = m.seen<<1 ^ word ^ uint64(head.X)
	late, there, space := m.long.Out()
	m.seen ^= uint64(late.Y) << 20
	m.two = m.out.Full() != m.in.Empty()
	push = push && ready
	if reset && m.seen&1 != 0 {
		m.Reset()
		push = !m.in.Full()
		valid, there, space = false, false, true
	}
	a := uint32(addr) & 7
	if a == m.prev {
		enable = 0
	}
	m.ram.Tick(true, m.prev, enable, a, data)
	if addr&8 != 0 {
		enable = 0
	}
	m.one.Tick(enable == 0 && addr&16 != 0, m.prev&3, enable, a&3, data)
	m.in.Tick(push, p, pop && valid)
	m.out.Tick(room && addr&3 == 0, data, !room && !m.out.Empty())
	m.long.Tick(push && space, p, pop && there && addr&1 != 0)
	if clear {
		m.in.Reset()
		if addr&6 == 0 {
			m.long.Reset()
		}
	}
	m.prev = a
}

// Reset sets the registers.
func (m *Store) Reset() {
	in, out := m.in, m.out
	in.Reset()
	out.Reset()
	*m = Store{ram: m.ram, one: m.one, in: in, out: out, long: m.long}
	m.long.Reset()
}

// Sleeper adds, and skips its Tick when it can.
type Sleeper struct {
	Sum  uint8
	Left uint8
	Nap  hdl.Nap
}

// Tick is one rising clock edge.
func (m *Sleeper) Tick(en bool, v uint8) {
	if hdl.Asleep(bool(m.Nap) && (!en || v == 0)) {
		return
	}
	if en {
		m.Sum += v
		m.Left = v
	} else if m.Left != 0 {
		m.Left--
	}
	m.Nap = hdl.Nap(hdl.Asleep(m.Left == 0))
}

// Reset sets the registers.
func (m *Sleeper) Reset() { *m = Sleeper{} }

// Undo copies queues and undoes changes to them.
type Undo struct {
	q    hdl.FIFO[uint64]
	r    hdl.FIFO[uint64]
	seen uint8
	n    uint8
}

// NewUndo returns an Undo with queues of 4 and 2 values.
func NewUndo() *Undo { return &Undo{q: hdl.NewFIFO[uint64](4), r: hdl.NewFIFO[uint64](2)} }

// Has reports whether the first queue has a value, read from a copy.
func (m *Undo) Has() bool {
	q := m.q
	return !q.Empty()
}

// full reports whether both queues are full.
func (m Undo) full() bool { return m.q.Full() && m.r.Full() }

// Tick is one rising clock edge.
func (m *Undo) Tick(v uint64, push, pop, clear, all, back bool) {
	queue, module := m.q, *m
	pair := struct{ q, r hdl.FIFO[uint64] }{m.q, m.r}
	if clear {
		m.q.Reset()
	}
	if !queue.Empty() && m.q.Empty() || m.full() {
		m.seen++
	}
	if all {
		m.q.Reset()
		m.r.Reset()
		m.n = 0
		if back {
			*m = module
		}
	}
	m.restart(*m, pair.r, v&3 == 0, v&7 == 3)
	m.q.Tick(push && !m.q.Full(), v, pop && !m.q.Empty())
	m.r.Tick(push && v&1 != 0 && !m.r.Full(), v, pop && !m.r.Empty())
	late := *m
	m.n = late.n + 1
}

// restart resets, and restores all or the second queue.
func (m *Undo) restart(old Undo, r hdl.FIFO[uint64], all, one bool) {
	m.q.Reset()
	m.r.Reset()
	m.n ^= 0xff
	if all {
		m.r = r
	} else if !one {
		*m = old
	}
}

// Reset sets the registers.
func (m *Undo) Reset() {
	m.q.Reset()
	m.r.Reset()
	m.seen, m.n = 0, 0
}
