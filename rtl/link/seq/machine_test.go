package seq

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// machine is a model of the processor, written from the comment of package asm.
type machine struct {
	mem   [512]uint8
	a     uint8
	p     uint16
	c, z  bool
	pc    int
	stack []int
	sent  []uint8
	at    uint8 // read position in the received frame
}

// received returns the byte of the received frame at a position.
func received(at uint8) uint8 { return at*37 + 5 }

// step executes one instruction. Conditions of hardware do not hold.
func (m *machine) step(program []uint64) {
	in := program[m.pc]
	m.pc++
	if in>>15 == 1 {
		target := int(in & 0x7ff)
		switch in >> 11 & 15 {
		case 15:
			m.stack = append(m.stack, m.pc)
			if len(m.stack) > 4 {
				m.stack = m.stack[1:]
			}
			m.pc = target
		case 0:
			m.pc = target
		case 1, 2:
			if m.z == (in>>11&15 == 1) {
				m.pc = target
			}
		case 3, 4:
			if m.c == (in>>11&15 == 3) {
				m.pc = target
			}
		}
		return
	}
	op, mode := in>>11&7, in>>9&3
	if in>>14 == 1 && op == 6 {
		m.plain(in, mode)
		return
	}
	if in == 0x604 {
		m.c, m.a = m.a%2 == 1, m.a/2
		m.z = m.a == 0
		return
	}
	at := uint16(in & 0x1ff)
	if mode == 2 {
		at = m.p
		if in&1 == 1 {
			m.p = (m.p + 1) % 512
		}
	}
	v := [4]uint8{uint8(in), m.mem[at], m.mem[at], received(m.at)}[mode]
	if in>>14 == 0 && mode == 3 {
		m.at++
	}
	if in>>14 == 0 {
		m.arithmetic(op, v)
	} else {
		m.update(op, mode, at, v)
	}
}

// plain executes lp and ret.
func (m *machine) plain(in, mode uint64) {
	switch mode {
	case 0:
		m.p = uint16(in & 0x1ff)
	case 1:
		m.p = uint16(m.mem[in&0xff])
	case 3:
		n := len(m.stack) - 1
		m.pc, m.stack = m.stack[n], m.stack[:n]
	}
}

func (m *machine) arithmetic(op uint64, v uint8) {
	carry := 0
	if m.c {
		carry = 1
	}
	wide := int(m.a)
	switch op {
	case 0:
		wide = int(v)
	case 1:
		wide += int(v)
	case 2:
		wide += int(v) + carry
	case 3:
		wide -= int(v)
	case 4:
		wide -= int(v) + carry
	case 5:
		wide &= int(v)
	case 6:
		wide |= int(v)
	case 7:
		wide ^= int(v)
	}
	if op >= 1 && op <= 4 {
		m.c = wide < 0 || wide > 255
	}
	m.a = uint8(wide)
	m.z = m.a == 0
}

func (m *machine) update(op, mode uint64, at uint16, v uint8) {
	switch op {
	case 0:
		if mode == 3 {
			if at&0xf == 0xd {
				m.at = m.a
			} else {
				m.sent = append(m.sent, m.a)
			}
			return
		}
	case 1:
		m.c, m.z = m.a < v, m.a == v
		return
	case 2:
		m.z = m.a&v == 0
		return
	case 3:
		m.a, m.z = 0, true
	case 4:
		m.c, m.a = v == 0, v-1
		m.z = m.a == 0
	case 5:
		carry := uint8(0)
		if m.c {
			carry = 1
		}
		m.a = v + carry
		m.c = m.a < v
		m.z = m.a == 0
	case 7:
		m.a = v + 1
		m.c, m.z = m.a == 0, m.a == 0
	}
	m.mem[at] = m.a
}

// randomProgram returns instructions that jump forward only, so that the program ends.
// It writes all of the memory first.
func randomProgram(r *rand.Rand) []uint64 {
	var p []uint64
	for i := range 512 {
		p = append(p, r.Uint64N(256), 0x4200|uint64(i)) // ld #, st
	}
	p = append(p, 0x7000) // lp #0
	n := 300
	for range n {
		mode := []uint64{0x200, 0x400, 0x401}[r.IntN(3)] | r.Uint64N(512)&^1&0x1fe
		if mode&0x400 != 0 {
			mode &= 0x601
		}
		switch r.IntN(8) {
		case 0, 1, 2:
			if r.IntN(8) == 0 {
				mode = 0x601 // the received byte
			}
			p = append(p, r.Uint64N(8)<<11|mode)
		case 3:
			p = append(p, r.Uint64N(8)<<11|r.Uint64N(256))
		case 4:
			p = append(p, 0x4000|[]uint64{0, 1, 2, 3, 4, 5, 7}[r.IntN(7)]<<11|mode)
		case 5:
			p = append(p, []uint64{0x0604, 0x7200 | r.Uint64N(256), 0x7000 | r.Uint64N(512), 0x4604, 0x460d}[r.IntN(5)])
		case 6:
			p = append(p, 0x8000|r.Uint64N(12)<<11|uint64(len(p)+1+r.IntN(3)))
		case 7: // a call of the next instruction but one, which returns to a jump over it, and calls another one
			p = append(p, 7, 0x4604) // no jump ends after the call
			at := uint64(len(p))
			p = append(p, 0xf800|(at+2), 0x8000|(at+7), 0x4604, 0xf800|(at+6), 0x4604, 0x7600, 0x7600)
		}
	}
	for range 6 {
		p = append(p, 0)
	}
	return append(p, 0x8000|uint64(len(p)))
}

// TestMachine compares random programs with the model.
func TestMachine(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		program := randomProgram(r)
		end := len(program) - 1
		var want machine
		for want.pc != end {
			want.step(program)
		}
		m := New(program, 1000)
		var sent []uint8
		data := uint8(0)
		for clock := 0; int(m.pc) != end+1 || m.in>>15 == 0; clock++ {
			require.Less(t, clock, 10_000, "seed %d: the program does not end", seed)
			tx, _ := m.Send()
			ready := r.IntN(2) == 0
			if tx.Valid && ready {
				sent = append(sent, tx.Data)
			}
			read, at, _ := m.Fetch()
			m.Tick(Rx{Data: data}, Ready{Tx: ready}, linkport.GPU{})
			if read {
				data = received(at)
			}
		}
		require.Equal(t, want.sent, sent, "seed %d", seed)
		require.Equal(t, want.a, m.a, "seed %d", seed)
		require.Equal(t, want.p, m.p, "seed %d", seed)
		require.Equal(t, want.at, m.rxAt, "seed %d", seed)
		require.Equal(t, want.c, m.carry, "seed %d", seed)
		require.Equal(t, want.z, m.zero, "seed %d", seed)
		for i, v := range want.mem {
			require.Equal(t, uint64(v), m.mem.Word(uint32(i)), "seed %d, byte %d", seed, i)
		}
	}
}

// TestConditions: each condition of hardware holds for its input only. Those of events
// hold once.
func TestConditions(t *testing.T) {
	for i, tt := range []struct {
		name string
		in   uint64
		rx   Rx
		r    Ready
		gpu  linkport.GPU
	}{
		{"frame", 5, Rx{There: true}, Ready{}, linkport.GPU{}},
		{"other", 6, Rx{Other: true}, Ready{}, linkport.GPU{}},
		{"request", 8, Rx{}, Ready{}, linkport.GPU{Req: port.Request{Kind: port.MemWrite}}},
		{"read", 9, Rx{}, Ready{}, linkport.GPU{Req: port.Request{Kind: port.MemRead}}},
		{"beat", 10, Rx{}, Ready{}, linkport.GPU{Beat: port.Beat{Valid: true}}},
		{"completion", 11, Rx{}, Ready{}, linkport.GPU{Cpl: port.Completion{Status: port.CplAbort}}},
		{"damaged", 13, Rx{Damaged: true}, Ready{}, linkport.GPU{}},
		{"room", 7, Rx{}, Ready{Room: true}, linkport.GPU{}},
		{"empty", 14, Rx{}, Ready{Empty: true}, linkport.GPU{}},
	} {
		holds := func(condition uint64, rx Rx, r Ready, gpu linkport.GPU) bool {
			m := New([]uint64{0x8003 | condition<<11, 0, 0x8002, 0x8003}, 1<<16)
			for range 10 {
				m.Tick(rx, r, gpu)
			}
			return m.pc == 4
		}
		require.True(t, holds(tt.in, tt.rx, tt.r, tt.gpu), tt.name)
		require.False(t, holds(tt.in, Rx{}, Ready{}, linkport.GPU{}), tt.name)
		for other := uint64(5); other < 15; other++ {
			both := other == 8 && tt.in == 9 // a read is a request
			if other != tt.in && other != 12 && !both {
				require.False(t, holds(other, tt.rx, tt.r, tt.gpu), "%s and %d, row %d", tt.name, other, i)
			}
		}
	}
}

// TestTicks: a tick is counted once, in each period.
func TestTicks(t *testing.T) {
	// loop: jtick 3; jmp 0; 3: inc 0; jmp 0
	m := New([]uint64{0x8002 | 12<<11, 0x8000, 0x7a00, 0x8000}, 50)
	for i := range uint32(512) {
		m.mem.SetWord(i, 0)
	}
	for range 1000 {
		m.Tick(Rx{}, Ready{}, linkport.GPU{})
	}
	require.Equal(t, uint64(20), m.mem.Word(0))
}

// TestProgram: the program fits the ROM, and its calls the stack.
func TestProgram(t *testing.T) {
	p, err := Program(Options{Replay: 4})
	require.NoError(t, err)
	require.LessOrEqual(t, p.Depth(), maxDepth)
	t.Log(len(p.Words), "instructions")
}
