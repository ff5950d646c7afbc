package cp

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Design note: a header is written to the next entry when it is taken, with its address,
// which the adder of the stream computes; while a packet trails, to the entry after that.
// The entry counts when the packet has retired. So neither header nor address needs
// flip-flops, and a packet that does not retire leaves nothing. The RAMs have more words
// than the host can read, so that the next entry is none that it reads.

// traceSlots is the number of entries, of which the host reads tracereg.Entries.
const traceSlots = 32

// traceWords is the size of each RAM: synthesis makes block RAM from these, and LUTs from
// fewer.
const traceWords = 64

// trace keeps the last packets of the node. Entry i is word i of both RAMs.
type trace struct {
	caps caps.Set // capabilities of the device

	where hdl.RAM // address of the header
	what  hdl.RAM // header, and above it the time
	next  uint8   `w:"5"` // entry of the next packet
	count uint8   `w:"5"` // entries with a packet, tracereg.Entries at most

	shown bool  // an entry was read, and has a packet
	part  uint8 `w:"2"` // the dword of it that was read
}

// newTrace returns an empty trace.
func newTrace(have caps.Set) trace {
	return trace{caps: have, where: hdl.NewRAM(traceWords), what: hdl.NewRAM(traceWords)}
}

// Reset empties the trace.
func (x *trace) Reset() {
	x.next, x.count = 0, 0
	x.shown, x.part = false, 0
}

// owns reports whether an access is to a register of the trace of the node with the given
// registers.
func (x *trace) owns(bus regbus.Req, base uint16) bool {
	return x.caps.Has(caps.Trace) && bus.Op != regbus.None && bus.Off>>8 == (base+(tracereg.Base-cpreg.Base))>>8
}

// tick is a clock: a header at an address is taken, which only a node with a trace reports, or
// a packet ends at a time. late is set if the packet before the header has not ended. reads is
// set if the host reads the register at off.
func (x *trace) tick(takes, late bool, header uint32, addr uint64, ends bool, now uint32, reads bool, off uint16) {
	entry := uint8(off>>4) & (tracereg.Entries - 1)
	from := (x.next - 1 - entry) & (traceSlots - 1)
	x.shown, x.part = reads && entry < x.count, 0
	if reads {
		x.part = uint8(off>>2) & 3
	}
	var where, what uint8
	data := uint64(now)<<32 | uint64(header)
	ends = ends && x.caps.Has(caps.Trace)
	to := x.next
	if takes {
		where, what = 0xff, 0x0f
		if late {
			to = (to + 1) & (traceSlots - 1)
		}
	}
	if ends {
		what = 0xf0
	}
	x.where.Tick(reads, uint32(from), where, uint32(to), addr|tracereg.Valid)
	x.what.Tick(reads, uint32(from), what, uint32(to), data)
	if ends {
		x.next = (x.next + 1) & (traceSlots - 1)
		if x.count != tracereg.Entries {
			x.count = (x.count + 1) & 0x1f
		}
	}
}

// data returns the dword that was read.
func (x *trace) data() uint32 {
	var v uint64
	if x.shown {
		v = x.what.Out()
		if x.part&2 != 0 {
			v = x.where.Out()
		}
	}
	if x.part&1 != 0 {
		v >>= 32
	}
	return uint32(v)
}
