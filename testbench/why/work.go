package why

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A duty is a doorbell, and what the last reads after it say of the node.
type duty struct {
	bell, status *deed
	rptr         *deed
	moved        *deed // the last read of RPTR that returned something else, or nil
}

// moves takes a read of RPTR.
func (d *duty) moves(read *deed) {
	if d.rptr != nil && d.rptr.fields[3] != read.fields[3] {
		d.moved = d.rptr
	}
	d.rptr = read
}

// stuck reports whether a node has not ended its work, and its reads say so for longer than a number of clocks.
func (d *duty) stuck(clocks uint64) bool {
	switch {
	case d.bell == nil || d.rptr == nil || d.status == nil:
		return false
	case d.rptr.fields[3] == d.bell.fields[3] || d.status.fields[3]&cpreg.StatusIdle != 0:
		return false
	case d.moved != nil && d.rptr.Time-d.moved.Time <= clocks:
		return false
	}
	return d.rptr.Time-d.bell.Time > clocks && d.status.Time-d.bell.Time > clocks
}

// Values of fields of STATUS (package cpreg).
const (
	stateBody = 1 // STATE: up to this one, NEXT and BODY, the node fetches a packet
	syncWait  = 4 // SYNC: a WAIT_FENCE waits
)

// judgeWork ends the work of a node. RPTR is at the first packet of the ring that has not ended. What a node waits for that waits for a fence may
// be missing later.
func (u *audit) judgeWork(n int) {
	w := u.work[n]
	u.work[n] = duty{}
	if !w.stuck(u.patient) {
		return
	}
	status := uint32(w.status.fields[3])
	field := func(mask uint32) uint32 { return reg.Field{Mask: mask}.Get(status) }
	link, what, asked := MissingPacket, "has not ended it", w.bell
	switch {
	case status&cpreg.StatusFault != 0:
		what = "has stopped on a fault"
	case field(cpreg.StatusSync) == syncWait:
		what, asked = "waits there for a fence", w.rptr
	case field(cpreg.StatusState) <= stateBody && status&cpreg.StatusInIB != 0:
		link, what = MissingFetch, "waits for a read of its indirect buffer, which was not answered"
	case field(cpreg.StatusState) <= stateBody:
		link, what = MissingFetch, "waits for a read of it, which was not answered"
	}
	u.add(link, asked, w.rptr, fmt.Sprintf("node %d is at the packet in dword %#x of its ring, and %s: WPTR was written with %#x at clock %d, and CP%d.RPTR is still %#x at clock %d, with STATUS %#x (%s)",
		n, w.rptr.fields[3], what, w.bell.fields[3], w.bell.Time, n, w.rptr.fields[3], w.rptr.Time, status, units(status)))
}
