package gpu_test

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Operands of the packets: an indirect buffer, a saved state, a page in a writable window,
// a page in a read-only window, and a fence value that was reached.
const (
	refusedCode  = 0x8000
	refusedState = 0x8800
	refusedOpen  = 0x10000
	refusedRead  = 0x12000
	refusedPage  = 0x1000
	refusedSpan  = 24 // bytes accessed by a packet without a length field
	refusedFence = 100
)

// A refusal is a packet that a node refuses, and the fault that it latches.
type refusal struct {
	name     string
	field    string   // packet and field that cause the refusal; "": none
	setup    []uint32 // legal packets before it
	p        []uint32
	ibDwords int      // dwords of it in the indirect buffer
	words    []uint64 // at refusedState
	at       refmodel.Place
	cause    uint32
	bad      uint64
	known    bool // the documents define FAULT_BAD
}

// setState returns a SET_STATE of a surface with a pitch of 16 bytes.
func setState(surface uint32, base uint64, format uint32) []uint32 {
	return pkt.Dwords(pkt.OpSetState, surface, uint32(base), uint32(base>>32), 16, format, 0, 0x40004000)
}

// surfaces returns the packets that set the source and the destination.
func surfaces(src, dst uint64) []uint32 { return append(setState(0, src, 0), setState(1, dst, 0)...) }

// legalPackets holds a packet of each opcode that is legal after both surfaces are set. Its
// effect is visible.
var legalPackets = map[uint8][]uint32{
	pkt.OpNOP:          pkt.Dwords(pkt.OpNOP, 1, 2, 3),
	pkt.OpIndirect:     append(pkt.Dwords(pkt.OpIndirect, address(refusedCode)...), refusedSpan/4),
	pkt.OpSetState:     setState(1, at(refusedOpen), 0),
	pkt.OpCopy:         append(pkt.Dwords(pkt.OpCopy, address(refusedOpen, refusedOpen+0x100)...), refusedSpan),
	pkt.OpCopy2D:       pkt.Dwords(pkt.OpCopy2D, 0, 0, 0x00020008),
	pkt.OpFill:         append(pkt.Dwords(pkt.OpFill, address(refusedOpen)...), refusedSpan, 0x01020304, 0x05060708),
	pkt.OpFill2D:       pkt.Dwords(pkt.OpFill2D, 0, 0x00020008, 0x01020304, 0x05060708),
	pkt.OpWriteReg:     pkt.Dwords(pkt.OpWriteReg, 0x20, 0x12345678),
	pkt.OpTimestamp:    pkt.Dwords(pkt.OpTimestamp, address(refusedOpen)...),
	pkt.OpPredicate:    append(pkt.Dwords(pkt.OpPredicate, address(refusedOpen)...), 0),
	pkt.OpSignal:       append(pkt.Dwords(pkt.OpSignal, address(refusedOpen)...), 0x01020304, 0x05060708, 1),
	pkt.OpFence:        append(pkt.Dwords(pkt.OpFence, address(refusedOpen)...), refusedFence, 1),
	pkt.OpSetWindow:    append(append(pkt.Dwords(pkt.OpSetWindow, 7), address(refusedOpen)...), refusedSpan, 0),
	pkt.OpWaitFence:    pkt.Dwords(pkt.OpWaitFence, 0, 0, 0),
	pkt.OpSaveState:    pkt.Dwords(pkt.OpSaveState, address(refusedOpen)...),
	pkt.OpRestoreState: pkt.Dwords(pkt.OpRestoreState, address(refusedState)...),
}

// address returns host addresses as dwords of packets.
func address(offs ...uint64) []uint32 {
	var all []uint32
	for _, off := range offs {
		all = append(all, uint32(at(off)), uint32(at(off)>>32))
	}
	return all
}

// header sets the body length in a packet's header.
func header(p []uint32) []uint32 {
	p[0] = p[0]&^pkt.HeaderBody | uint32(len(p)-1)
	return p
}

// anyValue lists the fields for which every value is legal.
var anyValue = []string{
	"NOP Skip", "SET_STATE Surface", "SET_STATE Pitch", "FILL Value", "FILL_2D Value",
	"WRITE_REG Value", "PREDICATE NonZero", "SIGNAL Value", "SIGNAL IRQ", "FENCE IRQ", "SET_WINDOW Index", "SET_WINDOW Writable", "WAIT_FENCE Value",
}

// legal returns a legal packet.
func legal(l pkt.Layout) []uint32 { return header(slices.Clone(legalPackets[l.Op])) }

// with returns a legal packet with changed fields. fields alternates between names and
// values.
func with(l pkt.Layout, fields ...any) []uint32 {
	p := legal(l)
	for i := 0; i < len(fields); i += 2 {
		set(l, p, fields[i].(string), fields[i+1].(uint64))
	}
	return p
}

// set changes a field of a packet.
func set(l pkt.Layout, p []uint32, name string, v uint64) {
	for _, f := range l.Fields {
		if f.Name == name {
			f.Set(p, v)
		}
	}
}

// rows collects the refusals of a configuration.
type rows struct {
	c   gpu.Config
	all []refusal
}

// add adds a refusal for each place in which the node checks the packet that far.
func (r *rows) add(l pkt.Layout, row refusal) {
	row.name = l.Name + " " + row.name
	if row.ibDwords == 0 {
		row.ibDwords = len(row.p)
	}
	if row.setup == nil {
		row.setup = surfaces(at(refusedOpen), at(refusedOpen+0x800))
	}
	if row.at == refmodel.InRing {
		r.all = append(r.all, row)
		row.at = refmodel.InIndirect
	}
	if !l.Privileged || row.cause == cpreg.CauseOpcode || row.cause == cpreg.CausePrivilege {
		r.all = append(r.all, row)
	}
}

// refusals returns all refusals: those that follow from the table of packets, and the
// others.
func refusals(c gpu.Config) []refusal {
	r := &rows{c: c}
	for op := range 256 {
		if !hostbfm.ModelConfig(c).Has(uint8(op)) {
			for _, body := range []uint32{0, pkt.HeaderReserved | 2} {
				r.add(pkt.Layout{Name: "unknown"}, refusal{name: fmt.Sprintf("%#x", op), p: []uint32{uint32(op)<<24 | body, 0, 0}, cause: cpreg.CauseOpcode})
			}
		}
	}
	for _, l := range pkt.Table {
		if !hostbfm.ModelConfig(c).Has(l.Op) {
			continue
		}
		r.header(l)
		for _, f := range l.Fields {
			r.field(l, f)
		}
	}
	r.ranges()
	r.states()
	r.restored()
	r.windows()
	return r.all
}

// header adds each reserved bit, each bad length and each wrong place.
func (r *rows) header(l pkt.Layout) {
	p := legal(l)
	for i := range p {
		for reserved := l.Reserved(i); reserved != 0; reserved &= reserved - 1 {
			q := slices.Clone(p)
			q[i] |= reserved & -reserved
			r.add(l, refusal{name: fmt.Sprintf("dword %d bit %d", i, bits.TrailingZeros32(reserved)), p: q, cause: cpreg.CauseReserved})
		}
	}
	for n := range uint32(16) {
		if n != l.Body && !l.Variable {
			q := make([]uint32, n+1)
			copy(q, p)
			q[0] = p[0]&^pkt.HeaderBody | n
			r.add(l, refusal{name: fmt.Sprintf("body of %d", n), p: q, cause: cpreg.CauseLength})
			q = slices.Clone(p)
			q[0] = p[0]&^pkt.HeaderBody | 1<<n
			if 1<<n != l.Body {
				r.add(l, refusal{name: fmt.Sprintf("body of 1<<%d", n), p: q, cause: cpreg.CauseLength})
			}
		}
	}
	unprivileged := l
	unprivileged.Privileged = false
	for n := 1; n < len(p); n++ {
		r.add(unprivileged, refusal{name: fmt.Sprintf("cut after %d dwords", n), p: p, ibDwords: n, at: refmodel.InIndirect, cause: cpreg.CauseLength})
	}
	if l.Privileged {
		r.add(l, refusal{name: "misplaced", p: p, at: refmodel.InIndirect, cause: cpreg.CausePrivilege})
	}
}

// field adds the refusals of a field that follow from the table.
func (r *rows) field(l pkt.Layout, f pkt.Field) {
	add := func(v uint64, cause uint32, known bool) {
		r.add(l, refusal{name: fmt.Sprintf("%s %#x", f.Name, v), field: l.Name + " " + f.Name, p: with(l, f.Name, v), cause: cause, bad: v, known: known})
	}
	base := at(refusedOpen)
	if f.Kind == pkt.RegOffset {
		base = 0x20
	}
	for v := uint64(1); v < f.Align; v++ {
		add(base+v, cpreg.CauseAlign, true)
	}
	most := f.Mask >> bits.TrailingZeros64(f.Mask)
	if f.Max != 0 {
		for v := f.Max + 1; v <= most; v = f.Max + 2*(v-f.Max) {
			add(v, cpreg.CauseState, false)
		}
		add(most, cpreg.CauseState, false)
	}
	switch {
	case f.Kind == pkt.RegOffset:
		for _, b := range regmap.New().Blocks() {
			for _, reg := range b.Regs {
				if off := uint64(b.Base + reg.Off); off < 0x20 || off > 0x2c {
					add(off, cpreg.CauseRegister, true)
				}
			}
		}
		add(0x5000, cpreg.CauseRegister, true)
	case f.Kind.Address() && f.Kind != pkt.AddrSurface:
		for _, v := range r.outside(max(f.Align, 1)) {
			add(v, cpreg.CauseAddress, true)
		}
	}
	if f.Kind == pkt.AddrRead {
		add(nowhere, cpreg.CauseReadError, true)
	}
}

// outside returns addresses out of range: one for each high bit, and one at which a range
// of refusedSpan bytes passes the end.
func (r *rows) outside(align uint64) []uint64 {
	var all []uint64
	for _, m := range []struct {
		bit  uint64
		size int
	}{{0, bits.Len64(r.c.VRAMBytes) - 1}, {host, r.c.HostBits}} {
		for k := m.size; k < 63; k++ {
			all = append(all, m.bit|1<<k)
		}
		if align < 8 {
			all = append(all, m.bit|(1<<m.size-align), m.bit|(1<<m.size-(refusedSpan-1)&^(align-1)))
		}
		all = append(all, m.bit|(1<<63-align))
	}
	return all
}
