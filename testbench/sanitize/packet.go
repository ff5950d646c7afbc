package sanitize

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// Offsets of addresses in packets, in bytes.
const (
	firstAddress  = 4
	secondAddress = 12
	baseAddress   = 8 // of SET_STATE
)

// A surface is one that SET_STATE has set.
type surface struct {
	at    uint32 // offset of its address in the buffer
	base  uint64
	pitch uint64
	bytes uint64 // of an element
}

// rows returns the rows of a rectangle.
func (s surface) rows(x, y, w, h uint16) rows {
	return rows{s.base + uint64(y)*s.pitch + uint64(x)*s.bytes, s.pitch, uint64(w) * s.bytes, uint64(h)}
}

// accesses returns what the packets of a buffer read and write, and the offset at which they end. from
// is the offset of the first packet in the buffer. A packet that cannot be decoded ends them: it is a
// fault.
func accesses(commands []byte, from uint32) (all []access, end uint32) {
	var surfaces [2]surface
	for rest := commands; len(rest) > 0; {
		at := from + uint32(len(commands)-len(rest))
		d, next, err := pkt.Decode(rest)
		if err != nil {
			return all, at
		}
		add := func(op string, field uint32, base uint64, bytes rows, writes bool) {
			if bytes.n > 0 && bytes.width > 0 {
				all = append(all, access{op: op, at: at, field: field, base: base, bytes: bytes.span(), rows: bytes, writes: writes})
			}
		}
		line := func(op string, field uint32, addr, n uint64, writes bool) {
			add(op, at+field, addr, rows{addr, n, n, 1}, writes)
		}
		switch d := d.(type) {
		case pkt.SetState:
			surfaces[d.Surface&1] = surface{at + baseAddress, d.Base, uint64(d.Pitch), 1 << d.Format}
		case pkt.Copy:
			line("COPY", firstAddress, d.Src, uint64(d.Bytes), false)
			line("COPY", secondAddress, d.Dst, uint64(d.Bytes), true)
		case pkt.Fill:
			line("FILL", firstAddress, d.Dst, uint64(d.Bytes), true)
		case pkt.Copy2D:
			src, dst := surfaces[pkt.Source], surfaces[pkt.Dest]
			add("COPY_2D", src.at, src.base, src.rows(d.SrcX, d.SrcY, d.W, d.H), false)
			add("COPY_2D", dst.at, dst.base, dst.rows(d.DstX, d.DstY, d.W, d.H), true)
		case pkt.Fill2D:
			dst := surfaces[pkt.Dest]
			add("FILL_2D", dst.at, dst.base, dst.rows(d.X, d.Y, d.W, d.H), true)
		case pkt.Timestamp:
			line("TIMESTAMP", firstAddress, d.Addr, 8, true)
		case pkt.Signal:
			line("SIGNAL", firstAddress, d.Addr, 8, true)
		case pkt.Fence:
			line("FENCE", firstAddress, d.Addr, 8, true)
		case pkt.SaveState:
			line("SAVE_STATE", firstAddress, d.Addr, pkt.StateBytes, true)
		case pkt.RestoreState:
			line("RESTORE_STATE", firstAddress, d.Addr, pkt.StateBytes, false)
		case pkt.Predicate:
			line("PREDICATE", firstAddress, d.Addr, 8, false)
		}
		rest = next
	}
	return all, from + uint32(len(commands))
}
