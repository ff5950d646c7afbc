package miniport

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// collectDbgInfo describes the device as text, the most important parts first:
// for each node its fences, its fault, its ring with the likely stop and its trace,
// then the log of the firmware that has queues, and all registers by name.
//
//	DDI     DxgkDdiCollectDbgInfo, d3dkmddi.h
//	Caller  the kernel, at any level, possibly with a dead link
//	Out     arg.Buffer, truncated if it is full
//	Effect  reads registers; changes nothing. A register that cannot be read
//	        is listed with its status. After two consecutive failures, each
//	        of which may take the link's time-out, no more reads are tried
//	Returns StatusSuccess; StatusInvalidHandle for a handle without adapter
//	Source  learn.microsoft.com, nc-d3dkmddi-dxgkddi_collectdbginfo
func collectDbgInfo(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
	a, ok := adapterOf(h)
	if !ok {
		return kmddi.CollectDbgInfoOut{}, ddi.StatusInvalidHandle
	}
	d := dump{adapter: a}
	d.line("miniport: reason %#x", arg.Reason)
	if !a.running {
		d.line("miniport: the device is not started")
		return kmddi.CollectDbgInfoOut{Length: copy(arg.Buffer, d.text.String())}, ddi.StatusSuccess
	}
	if a.caps.have.Has(caps.MCU) {
		d.line("miniport: firmware %s", a.firmwareText())
	}
	d.read(t)
	for node, r := range a.rings {
		if a.queues != nil {
			d.queues(node, r)
		} else {
			d.node(node, r)
		}
		d.trace(t, node)
	}
	d.log()
	d.registers()
	return kmddi.CollectDbgInfoOut{Length: copy(arg.Buffer, d.text.String())}, ddi.StatusSuccess
}

// dump builds the text.
type dump struct {
	adapter *adapter

	text   strings.Builder
	values []value // by offset
	unread int     // consecutive failed reads
}

// maxUnread is the number of consecutive failed reads after which no more are
// tried.
const maxUnread = 2

// value is the result of reading a register.
type value struct {
	entry  regmap.Entry
	v      uint32
	tried  bool
	status ddi.Status // success if it was read
}

func (d *dump) line(format string, args ...any) {
	fmt.Fprintf(&d.text, format+"\n", args...)
}

// read reads the registers of the device up to those of its nodes. A read of one that it does
// not have fails, and after a few of those no more are tried.
func (d *dump) read(t *ddi.Thread) {
	end := cpreg.Base + uint32(len(d.adapter.rings))*cpreg.Stride
	for _, e := range regmap.New().Entries() {
		if e.Off() >= end || !e.In(d.adapter.caps.have) || e.Reg.Access == reg.WO {
			continue
		}
		v := value{entry: e}
		v.v, v.tried, v.status = d.readRegister(t, e.Off())
		d.values = append(d.values, v)
	}
}

// readRegister reads a register, unless the last reads have failed.
func (d *dump) readRegister(t *ddi.Thread, off uint32) (v uint32, tried bool, s ddi.Status) {
	if d.unread >= maxUnread {
		return 0, false, ddi.StatusIODeviceError
	}
	d.unread++
	if v, s = d.adapter.regs.ReadRegister(t, off); s == ddi.StatusSuccess {
		d.unread = 0
	}
	return v, true, s
}

// get returns the register of a node. It reports false if the register could
// not be read.
func (d *dump) get(node int, off uint32) (uint32, bool) {
	for _, v := range d.values {
		if v.entry.Off() == cpreg.Base+uint32(node)*cpreg.Stride+off {
			return v.v, v.status == ddi.StatusSuccess
		}
	}
	return 0, false
}

func (d *dump) registers() {
	failed := 0
	for _, v := range d.values {
		switch {
		case v.status == ddi.StatusSuccess:
			d.line("%s", v.entry.Format(v.v))
			continue
		case v.tried:
			d.line("%s: not read: %v", v.entry.Name(), v.status)
		default:
			d.line("%s: not read: not tried", v.entry.Name())
		}
		failed++
	}
	d.line("%d of %d registers could not be read", failed, len(d.values))
}

// node describes one node.
func (d *dump) node(node int, r *ring.Ring) {
	d.line("CP%d: last submitted fence %d, last reported %d, fence register %s, fence word %d", node, r.Submitted(), r.Completed(),
		d.show(node, cpreg.Fence), le.Uint64(d.adapter.fences.Bytes[node*fenceStride:]))
	if err := r.Err(); err != nil {
		d.line("CP%d: the ring has failed: %v", node, err)
	}
	if r.Preempting() {
		d.line("CP%d: it was asked to stop, and preemption fence %d is due", node, d.adapter.nodes[node].preemption)
	}
	if info, ok := d.get(node, cpreg.FaultInfo); !ok {
		d.line("CP%d: fault cause unknown, FAULT_INFO not read", node)
	} else if cause := info & cpreg.FaultCause; cause != cpreg.CauseNone {
		lo, loOK := d.get(node, cpreg.FaultLo)
		hi, hiOK := d.get(node, cpreg.FaultHi)
		at := "an address not read"
		if loOK && hiOK {
			at = pkt.FormatAddr(uint64(hi)<<32 | uint64(lo))
		}
		d.line("CP%d: fault %s at %s", node, causeName(cause), at)
	}
	d.ring(node, r)
}

// trace lists the last packets of a node, if the device has a trace.
func (d *dump) trace(t *ddi.Thread, node int) {
	if !d.adapter.caps.have.Has(caps.Trace) {
		return
	}
	base := tracereg.Base + uint32(node)*tracereg.Stride
	for i := range uint32(tracereg.Entries) {
		var entry [4]uint32 // by dword
		for j := range entry {
			var s ddi.Status
			if entry[j], _, s = d.readRegister(t, base+i*tracereg.Entry+4*uint32(j)); s != ddi.StatusSuccess {
				d.line("CP%d: the trace is not read from entry %d on: %v", node, i, s)
				return
			}
		}
		header, at := entry[tracereg.Header/4], uint64(entry[tracereg.AddrHi/4])<<32|uint64(entry[tracereg.AddrLo/4])
		if at&tracereg.Valid == 0 {
			return
		}
		if i == 0 {
			d.line("CP%d: the last packets, the newest first: address, header, low half of the time", node)
		}
		name := "unknown"
		if l, ok := pkt.Lookup(uint8(header >> 24)); ok {
			name = l.Name
		}
		d.line("   0x%016x %s 0x%08x at %d", at&^uint64(tracereg.Valid), name, header, entry[tracereg.Time/4])
	}
}

// show returns a register of a node in decimal, or "not read".
func (d *dump) show(node int, off uint32) string {
	if v, ok := d.get(node, off); ok {
		return fmt.Sprint(v)
	}
	return "not read"
}

// ring disassembles the latest submissions and marks the position of the node:
// RPTR, or if that is not available, the first submission without a completed
// fence.
func (d *dump) ring(node int, r *ring.Ring) {
	stop, ok := d.get(node, cpreg.Rptr)
	switch {
	case !ok:
		d.line("CP%d: RPTR not read, the stop is a guess from the fences", node)
	case stop >= r.Dwords():
		d.line("CP%d: RPTR %d is outside the ring of %d dwords, the stop is a guess from the fences", node, stop, r.Dwords())
		ok = false
	}
	executing, busy := r.Executing()
	if !ok {
		stop = executing.Start
	}
	for _, s := range r.Recent() {
		d.line("CP%d: fence %d", node, s.ID)
		b, at := r.Bytes(s), s.Start
		for len(b) > 0 {
			n := packetLength(b)
			mark := "  "
			if (stop+r.Dwords()-at)%r.Dwords() < uint32(n)/4 && (ok || busy) {
				mark = "=>"
			}
			d.line("%s %s", mark, strings.Join(pkt.Disassemble(b[:n], r.Addr(at)), "; "))
			b = b[n:]
			at = (at + uint32(n)/4) % r.Dwords()
		}
	}
	if !busy {
		d.line("CP%d: all submissions have completed", node)
	}
}

// packetLength returns the length in bytes of the packet at the start of b, or
// of one dword if there is no packet.
func packetLength(b []byte) int {
	_, p, _, err := pkt.Next(b)
	if err != nil {
		return min(4, len(b))
	}
	return len(p)
}
