package sanitize

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// The kernel gives the miniport memory and does not know its use. The registers tell it: a node fetches
// from its ring, the aperture reads its table, and the firmware accesses its windows. The packets that
// the miniport puts into rings name what they read and write, fences above all. Every other access of
// that memory by the GPU is a mistake. What it was once given it may still do: an access may arrive late.

// A miniport is the use of the miniport's memory.
type miniport struct {
	memory   []span // in the order of addresses
	rings    [cpreg.Nodes]span
	aperture aperture
	windows  [mcureg.Windows]span
	reads    ranges // what the GPU may read: rings, tables, windows, and what packets of rings read
	writes   ranges // windows, and what packets of rings write
}

// has reports whether a range is memory of the miniport.
func (m *miniport) has(at span) bool {
	_, ok := m.block(at)
	return ok
}

// block returns the first memory that has a range.
func (m *miniport) block(at span) (span, bool) {
	for _, d := range m.memory {
		if d.has(at) {
			return d, true
		}
	}
	return span{}, false
}

// find returns the index of the memory at an address, or the one at which it belongs.
func (m *miniport) find(from uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(m.memory, from, func(d span, from uint64) int { return cmp.Compare(d.from, from) })
}

// allocated adds memory.
func (m *miniport) allocated(d span) {
	if i, ok := m.find(d.from); ok {
		m.memory[i] = d
	} else {
		m.memory = slices.Insert(m.memory, i, d)
	}
}

// free forgets memory that is freed.
func (m *miniport) free(from uint64) {
	if i, ok := m.find(from); ok {
		m.reads.remove(m.memory[i])
		m.writes.remove(m.memory[i])
		m.memory = slices.Delete(m.memory, i, i+1)
	}
}

// fetch notes the rings of the nodes.
func (m *miniport) fetch(rings [cpreg.Nodes]span) {
	if m.rings == rings {
		return
	}
	m.rings = rings
	for _, r := range rings {
		m.reads.add(r)
	}
}

// give notes an access of a packet of a ring. DMA reads whole beats of 8 bytes.
func (m *miniport) give(x access) {
	to := &m.reads
	if x.writes {
		to = &m.writes
	}
	x.rows.each(x.bytes, func(row span, _ uint64) bool {
		to.add(span{row.from &^ 7, (row.to + 7) &^ 7})
		return true
	})
}

// allows reports whether the GPU may access a range. With a ring in VRAM, whose packets are not known,
// it may write all that no ring and no table is.
func (m *miniport) allows(at span, writes bool) bool {
	if !writes {
		_, missing := m.reads.missing(at)
		return !missing
	}
	_, missing := m.writes.missing(at)
	return !missing || m.blind() && m.use(at) == ""
}

// blind reports whether a node has a ring that is not in host memory.
func (m *miniport) blind() bool {
	for _, r := range m.rings {
		if r.from != r.to && r.from&pkt.Host == 0 {
			return true
		}
	}
	return false
}

// use names what a range is used for that no packet may write, or returns "".
func (m *miniport) use(at span) string {
	for i, r := range m.rings {
		if r.overlaps(at) {
			return fmt.Sprintf("the ring of node %d", i)
		}
	}
	for i, w := range m.windows {
		if w.overlaps(at) {
			return fmt.Sprintf("window %d of the firmware", i)
		}
	}
	if m.aperture.table.overlaps(at) {
		return "the table of the aperture"
	}
	return ""
}

// register follows a write of a register.
func (m *miniport) register(off uint32, value uint32) {
	switch {
	case off == idreg.Base+idreg.Reset && value&idreg.ResetWhole != 0:
		m.aperture, m.windows = aperture{}, [mcureg.Windows]span{}
	case off >= gartreg.Base && off < gartreg.Base+gartreg.Size:
		m.aperture.register(off-gartreg.Base, value)
		table := m.aperture.table
		m.reads.add(span{table.from, (table.to + fetchBytes - 1) &^ (fetchBytes - 1)})
	case off >= mcureg.Base+mcureg.Window && off < mcureg.Base+mcureg.Window+mcureg.Windows*mcureg.Stride:
		off -= mcureg.Base + mcureg.Window
		m.window(&m.windows[off/mcureg.Stride], off%mcureg.Stride, value)
	}
}

// window follows a write of a register of a window. The miniport tells the firmware in messages of
// other places in the same memory.
func (m *miniport) window(w *span, off, value uint32) {
	size := w.to - w.from
	switch off {
	case mcureg.BaseLo:
		w.from = withLow(w.from, value)
	case mcureg.BaseHi:
		w.from = withHigh(w.from, value)
	case mcureg.WindowSize:
		size = uint64(value & mcureg.SizeBytes)
	}
	w.to = w.from + size
	if block, ok := m.block(*w); ok && size > 0 {
		m.reads.add(block)
		m.writes.add(block)
	}
}

// withLow and withHigh replace a half of an address.
func withLow(a uint64, v uint32) uint64  { return a>>32<<32 | uint64(v) }
func withHigh(a uint64, v uint32) uint64 { return a&(1<<32-1) | uint64(v)<<32 }
