package perf

import "github.com/hilgpu/hilgpu/rtl/abi/perfreg"

// The numbers of the counters are bits 6 to 3 of their offsets, except that of
// CYCLES.
const (
	entryNode0  = perfreg.Node >> 3
	entryNode1  = (perfreg.Node + perfreg.Stride) >> 3 & 0xf
	entryCycles = 2

	entryBusy       = perfreg.Busy >> 3
	entryStallRead  = perfreg.StallRead >> 3
	entryStallWrite = perfreg.StallWrite >> 3
	entryStallRing  = perfreg.StallRing >> 3
	entryBytes      = perfreg.Bytes >> 3
	entryPackets    = perfreg.Packets >> 3
)

// lows are the low bits of all counters.
type lows struct {
	cycles uint8 `w:"6"`
	node0  low
	node1  low
}

// low are the low bits of the counters of a node.
type low struct {
	busy    uint8  `w:"6"`
	read    uint8  `w:"6"`
	write   uint8  `w:"6"`
	ring    uint8  `w:"6"`
	bytes   uint16 `w:"9"`
	packets uint8  `w:"6"`
}

// Masks of the low bits. Up to 8 bytes count in a clock.
const (
	lowMask  = 1<<6 - 1
	byteMask = 8*(lowMask+1) - 1
)

// at returns the low bits of counter e.
func (l lows) at(e uint8) uint16 {
	v := uint16(l.cycles)
	switch e {
	case entryNode0 + entryBusy:
		v = uint16(l.node0.busy)
	case entryNode0 + entryStallRead:
		v = uint16(l.node0.read)
	case entryNode0 + entryStallWrite:
		v = uint16(l.node0.write)
	case entryNode0 + entryStallRing:
		v = uint16(l.node0.ring)
	case entryNode0 + entryBytes:
		v = l.node0.bytes
	case entryNode0 + entryPackets:
		v = uint16(l.node0.packets)
	case entryNode1 + entryBusy:
		v = uint16(l.node1.busy)
	case entryNode1 + entryStallRead:
		v = uint16(l.node1.read)
	case entryNode1 + entryStallWrite:
		v = uint16(l.node1.write)
	case entryNode1 + entryStallRing:
		v = uint16(l.node1.ring)
	case (entryNode1 + entryBytes) & 0xf:
		v = l.node1.bytes
	case (entryNode1 + entryPackets) & 0xf:
		v = uint16(l.node1.packets)
	default:
	}
	return v
}

// maskOf returns the mask of the low bits of counter e.
func maskOf(e uint8) uint16 {
	if e&7 == (entryNode0+entryBytes)&7 {
		return byteMask
	}
	return lowMask
}

// count counts a clock. A clear takes effect before.
func (m *Module) count(l0, l1 Levels, m0, m1 Moves, clear bool) {
	if !m.run {
		l0, l1, m0, m1 = Levels{}, Levels{}, Moves{}, Moves{}
	}
	if m.run || clear {
		m.now.cycles = count(m.now.cycles, m.run, clear)
	}
	m.now.node0.count(l0, m0, clear)
	if m.twoNodes {
		m.now.node1.count(l1, m1, clear)
	}
}

// count counts a clock of a node.
func (c *low) count(l Levels, m Moves, clear bool) {
	if l.Busy || clear {
		c.busy = count(c.busy, l.Busy, clear)
	}
	if l.Read || clear {
		c.read = count(c.read, l.Read, clear)
	}
	if l.Write || clear {
		c.write = count(c.write, l.Write, clear)
	}
	if l.Ring || clear {
		c.ring = count(c.ring, l.Ring, clear)
	}
	if m.Retired || clear {
		c.packets = count(c.packets, m.Retired, clear)
	}
	c.bytes = (c.bytes + uint16(m.Bytes)) & byteMask
	if clear {
		c.bytes = uint16(m.Bytes)
	}
}

// count returns the low bits of a counter that counts or is cleared.
func count(v uint8, up, clear bool) uint8 {
	v = (v + 1) & lowMask
	if clear {
		v = 0
		if up {
			v = 1
		}
	}
	return v
}

// turns reports whether the word of the counter whose turn it is is read or
// written in this clock.
func (m *Module) turns() bool {
	return m.run || m.answer == answerCounter || m.due>>m.turn&1 != 0
}

// value returns the value that is answered, or the one that is written to a word:
// the nearest one above the output of the RAM that ends in the low bits.
func (m *Module) value() uint64 {
	low, short := m.now.at(m.out), m.short
	if m.answer == answerCounter || m.due>>m.out&1 != 0 {
		low, short = m.then.at(m.out), m.brief
	}
	word := m.words.Out()
	if short>>m.out&1 != 0 {
		word = 0
	}
	return word + uint64((low-uint16(word))&maskOf(m.out))
}

// follow gives the counter whose turn it is its word, or its word of the
// snapshot, and reads the word of the next turn. If the host reads, it reads the
// word at from instead, and the turn waits for an output of its own.
func (m *Module) follow(reads bool, from uint8) {
	read, next, to, enable := reads || m.turns(), m.turn, m.turn, uint8(0)
	due, v := m.due>>m.turn&1 != 0, m.value()
	if m.answer != answerCounter && (m.run || due) {
		enable = 0xff
		if due {
			to |= kept
			m.due &^= 1 << m.turn
		} else {
			m.short &^= 1 << m.turn
			next = after(m.turn)
		}
	}
	if !reads {
		from = next
	}
	m.turn = next
	if read {
		m.out = from & 0xf
	}
	m.words.Tick(read, uint32(from), enable, uint32(to), v)
}

// after returns the counter whose turn follows that of counter e.
func after(e uint8) uint8 {
	switch e {
	case entryCycles:
		e = entryNode0
	case entryNode0 + entryPackets:
		e = entryNode1
	default:
		e = (e + 1) & 0xf
	}
	return e
}
