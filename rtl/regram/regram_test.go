package regram

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

// in is the input of the register RAM in a clock.
type in struct {
	regs    regbus.Req
	s0, s1  Scratch
	latch   Latch
	refused Capture
	ask     TableRead
	rst     reset.Signals
}

// tick advances one clock and reports which writes of the nodes were taken. It
// panics if the block sleeps in a clock that changes something.
func tick(m *Module, i in) (ready0, ready1 bool) {
	free := Free(i.regs, m.Owes(), i.latch, i.refused)
	sleeps := m.Sleeps(i.regs, i.s0, i.s1, i.latch, i.refused, i.ask, i.rst)
	var was, is [ModuleWords]uint64
	m.Snapshot(was[:])
	m.Tick(i.regs, i.s0, i.s1, i.latch, i.refused, i.ask, i.rst)
	m.Snapshot(is[:])
	if sleeps && is != was {
		panic("a clock of sleep changes the register RAM")
	}
	return i.s0.Valid && free && !i.s1.Valid, i.s1.Valid && free
}

// access performs an access and returns its answer, one clock later.
func access(m *Module, i in, op regbus.Op, off uint16, v uint32) regbus.Rsp {
	i.regs = regbus.Req{Op: op, Off: off, Data: v}
	tick(m, i)
	rsp := m.Rsp()
	i.regs = regbus.Req{}
	tick(m, i)
	return rsp
}

func read(m *Module, off uint16) uint32 { return access(m, in{}, regbus.Read, off, 0).Data }

func write(m *Module, off uint16, v uint32) { access(m, in{}, regbus.Write, off, v) }

// places returns the registers that are in the register RAM.
func places() (writable, kept []uint16) {
	for i := range uint16(4) {
		writable = append(writable, idreg.Scratch0+4*i)
	}
	for v := range uint16(2) {
		for _, off := range []uint16{msixreg.AddrLo, msixreg.AddrHi, msixreg.Data} {
			writable = append(writable, msixreg.Base+v*msixreg.Stride+off)
		}
	}
	return writable, []uint16{idreg.TimeHi, idreg.ErrAddrLo, idreg.ErrAddrHi}
}

func TestRegisters(t *testing.T) {
	m := New(2)
	writable, kept := places()
	want := map[uint16]bool{}
	for _, off := range append(writable, kept...) {
		want[off] = true
	}
	for off := range uint16(0x4000) {
		for _, op := range []regbus.Op{regbus.Read, regbus.Write} {
			rsp := access(&m, in{refused: Capture{Held: true}}, op, 4*off, 0xdead0000+uint32(off))
			require.Equal(t, want[4*off], rsp.Hit, "offset %#x", 4*off)
			require.True(t, rsp.Hit || rsp.Data == 0, "offset %#x", 4*off)
		}
		require.Equal(t, regbus.Rsp{}, m.Rsp(), "an answer lasts one clock")
	}
	for _, off := range writable {
		assert.Equal(t, 0xdead0000+uint32(off)/4, read(&m, off), "%#x", off)
	}
	for _, off := range kept {
		assert.Zero(t, read(&m, off), "%#x is read-only", off)
	}
	m.Reset()
	for _, b := range []reg.Block{idreg.Block, msixreg.Table} {
		for _, r := range b.Regs {
			if rsp := access(&m, in{}, regbus.Read, uint16(b.Base+r.Off), 0); rsp.Hit {
				assert.Equal(t, r.Reset, rsp.Data, r.Name)
			}
		}
	}
}

// TestResets checks that each word reads as 0 after a reset, though the memory
// keeps its contents.
func TestResets(t *testing.T) {
	writable, _ := places()
	for _, off := range writable {
		for _, rst := range []reset.Signals{{Pending: true, Whole: true}, {Pending: true, Whole: true, Function: true}} {
			t.Run(strconv.Itoa(int(off)), func(t *testing.T) {
				m := New(1)
				for i, all := range writable {
					write(&m, all, uint32(i)+1)
				}
				tick(&m, in{latch: Latch{Valid: true, High: 99}})
				tick(&m, in{rst: rst})
				table := off >= msixreg.Base && !rst.Function
				assert.Equal(t, table, read(&m, off) != 0)
				assert.Equal(t, !rst.Function, read(&m, idreg.TimeHi) == 99)
				if !table {
					write(&m, off, 7)
					for _, other := range writable {
						kept := other == off || other >= msixreg.Base && !rst.Function
						assert.Equal(t, kept, read(&m, other) != 0, "%#x", other)
					}
				}
			})
		}
	}
}

// TestScratch writes from all sides in one clock. A write that is not taken stays
// offered, and the last write wins.
func TestScratch(t *testing.T) {
	s := func(i uint8, v uint32) Scratch { return Scratch{Valid: true, Index: i, Data: v} }
	host := func(op regbus.Op, off uint16) regbus.Req { return regbus.Req{Op: op, Off: off, Data: 9} }
	for _, tt := range []struct {
		name   string
		regs   regbus.Req
		s0, s1 Scratch
		want   [4]uint32
		clocks int // until both are taken
	}{
		{"register bus", host(regbus.Write, 0x28), Scratch{}, Scratch{}, [4]uint32{2: 9}, 0},
		{"node 0", regbus.Req{}, s(2, 1), Scratch{}, [4]uint32{2: 1}, 1},
		{"both nodes", regbus.Req{}, s(0, 1), s(3, 2), [4]uint32{0: 1, 3: 2}, 2},
		{"node 1, then node 0", regbus.Req{}, s(1, 1), s(1, 2), [4]uint32{1: 1}, 2},
		{"register bus first", host(regbus.Write, 0x24), s(1, 1), s(1, 2), [4]uint32{1: 1}, 3},
		{"another register", host(regbus.Write, 0x24), s(0, 1), Scratch{}, [4]uint32{0: 1, 1: 9}, 2},
		{"in a clock of a read", host(regbus.Read, 0x24), s(1, 1), Scratch{}, [4]uint32{1: 1}, 2},
		{"in a clock of an access to another block", host(regbus.Write, 0x1000), s(1, 1), Scratch{}, [4]uint32{1: 1}, 2},
		{"not valid", regbus.Req{}, Scratch{Index: 1, Data: 7}, Scratch{Index: 2, Data: 7}, [4]uint32{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(2)
			i := in{regs: tt.regs, s0: tt.s0, s1: tt.s1}
			clocks := 0
			for i.s0.Valid || i.s1.Valid || i.regs.Op != regbus.None {
				if i.s0.Valid || i.s1.Valid {
					clocks++
				}
				ready0, ready1 := tick(&m, i)
				i.s0.Valid, i.s1.Valid = i.s0.Valid && !ready0, i.s1.Valid && !ready1
				i.regs = regbus.Req{}
			}
			tick(&m, in{s0: i.s0, s1: i.s1})
			assert.Equal(t, tt.clocks, clocks)
			for n, want := range tt.want {
				assert.Equal(t, want, read(&m, idreg.Scratch0+uint16(n)*4), "SCRATCH%d", n)
			}
		})
	}
	m := New(1)
	tick(&m, in{s1: s(1, 5)})
	assert.Zero(t, read(&m, idreg.Scratch1), "there is no node 1")
}

func TestCapture(t *testing.T) {
	const addr = 0xfedc_1234_5678
	m := New(1)
	offer := Scratch{Valid: true, Index: 2, Data: 8}
	ready, _ := tick(&m, in{refused: Capture{First: true, Addr: addr}, s0: offer})
	assert.False(t, ready, "the nodes must wait")
	assert.Zero(t, m.IdleFor())
	ready, _ = tick(&m, in{refused: Capture{Held: true, Addr: addr ^ 4}, s0: offer})
	assert.False(t, ready, "the nodes wait")
	tick(&m, in{})
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	late := in{refused: Capture{Held: true}}
	assert.Equal(t, uint32(0x12345678), access(&m, late, regbus.Read, idreg.ErrAddrLo, 0).Data)
	assert.Equal(t, uint32(0xfedc), access(&m, late, regbus.Read, idreg.ErrAddrHi, 0).Data)
	assert.Equal(t, regbus.Rsp{Hit: true}, access(&m, in{}, regbus.Read, idreg.ErrAddrHi, 0), "none is captured")
}

// TestWord reads the table while the register bus, which has precedence, is in
// use.
func TestWord(t *testing.T) {
	m := New(1)
	write(&m, msixreg.Base+msixreg.Stride+msixreg.AddrHi, 0x55)
	write(&m, idreg.Scratch1, 0x66)
	ask := func(word uint8) in { return in{ask: TableRead{Valid: true, Word: word}} }
	tick(&m, ask(5))
	assert.Equal(t, uint32(0x55), m.Word())
	assert.Equal(t, regbus.Rsp{}, m.Rsp(), "no answer")
	assert.Zero(t, m.IdleFor())
	tick(&m, ask(6))
	assert.Zero(t, m.Word(), "not written")
	i := ask(5)
	i.regs = regbus.Req{Op: regbus.Read, Off: idreg.Scratch1}
	tick(&m, i)
	assert.Equal(t, regbus.Rsp{Hit: true, Data: 0x66}, m.Rsp())
	tick(&m, in{})
	assert.Zero(t, m.Word())
}

func TestMisuse(t *testing.T) {
	get := regbus.Req{Op: regbus.Read, Off: idreg.Scratch0}
	for name, i := range map[string][]in{
		"an access after an access":           {{regs: get}, {regs: get}},
		"a latch with an access":              {{regs: get, latch: Latch{Valid: true}}},
		"a refused access with an access":     {{regs: get, refused: Capture{First: true}}},
		"a refused access with a time latch":  {{latch: Latch{Valid: true}, refused: Capture{First: true}}},
		"an access after a refused access":    {{refused: Capture{First: true}}, {regs: get}},
		"a time latch after a refused access": {{refused: Capture{First: true}}, {latch: Latch{Valid: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(1)
			for _, first := range i[:len(i)-1] {
				tick(&m, first)
			}
			assert.Panics(t, func() { tick(&m, i[len(i)-1]) })
		})
	}
}

// TestModel compares random work with a reference model of plain variables.
func TestModel(t *testing.T) {
	writable, _ := places()
	rapid.Check(t, func(t *rapid.T) {
		m := New(2)
		model := map[uint16]uint32{}
		var node [2]Scratch
		was := false
		for range rapid.IntRange(1, 60).Draw(t, "clocks") {
			for n := range node {
				if !node[n].Valid && rapid.Bool().Draw(t, "node") {
					node[n] = Scratch{true, rapid.Uint8Range(0, 3).Draw(t, "index"), rapid.Uint32().Draw(t, "data")}
				}
			}
			i := in{s0: node[0], s1: node[1], ask: TableRead{rapid.Bool().Draw(t, "ask"), rapid.Uint8Range(0, 7).Draw(t, "word")}}
			if !was {
				i.regs = regbus.Req{Op: regbus.Op(rapid.IntRange(0, 2).Draw(t, "op")), Off: rapid.SampledFrom(writable).Draw(t, "off"), Data: rapid.Uint32().Draw(t, "value")}
			}
			was = i.regs.Op != regbus.None
			want := model[i.regs.Off]
			asked := model[msixreg.Base+4*uint16(i.ask.Word)]
			ready0, ready1 := tick(&m, i)
			switch {
			case i.regs.Op == regbus.Read:
				require.Equal(t, regbus.Rsp{Hit: true, Data: want}, m.Rsp())
			case i.regs.Op == regbus.Write:
				require.Equal(t, regbus.Rsp{Hit: true}, m.Rsp())
				model[i.regs.Off] = i.regs.Data
			case i.ask.Valid:
				require.Equal(t, asked, m.Word())
			}
			for n, ready := range []bool{ready0, ready1} {
				if ready {
					model[idreg.Scratch0+4*uint16(node[n].Index)] = node[n].Data
					node[n].Valid = false
				}
			}
		}
	})
}

func TestSleep(t *testing.T) {
	m := New(1)
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
	tick(&m, in{regs: regbus.Req{Op: regbus.Read, Off: idreg.Scratch0}})
	assert.Zero(t, m.IdleFor(), "the answer goes away")
	tick(&m, in{})
	was := m
	m.Skip(50)
	tick(&m, in{})
	assert.Equal(t, was, m)
	m.Reset()
	assert.Equal(t, New(1), m)
}
