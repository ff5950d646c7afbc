package endpoint

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// accept returns which of the device's outputs are taken. A header or a
// completion waits for the beats of the write before it. A write and a
// completion are taken in the order in which they appeared; in the same clock
// the write is first.
func (e *Endpoint) accept(req port.Request, beat port.Beat, cpl port.Completion) (upReq, upBeat, upCpl bool) {
	m := &e.master
	m.reqSince = port.Since(m.reqSince, e.now, req.Kind != port.None)
	m.cplSince = port.Since(m.cplSince, e.now, cpl.Status != port.CplNone)
	older := m.cplSince != 0 && (req.Kind != port.MemWrite || m.cplSince < m.reqSince)
	switch {
	case m.owed > 0:
		upBeat = e.takeBeat(beat)
	case older:
		upCpl = e.takeCompletion(cpl)
		upReq = e.takeRequest(req)
	default:
		upReq = e.takeRequest(req)
		if m.cplSince != 0 && req.Kind != port.MemWrite {
			upCpl = e.takeCompletion(cpl)
		}
	}
	if upReq {
		m.reqSince = 0
		upBeat = upBeat || e.takeBeat(beat)
	}
	if upCpl {
		m.cplSince = 0
	}
	return upReq, upBeat, upCpl
}

// takeCompletion always has room: the read has reserved it.
func (e *Endpoint) takeCompletion(c port.Completion) bool {
	if wrong := e.target.answer(c); wrong != "" {
		e.protocol("%s: tag %d, status %d, last %v", wrong, c.Tag, c.Status, c.Last)
	}
	return true
}

// takeRequest takes a header if there is room for its packets.
func (e *Endpoint) takeRequest(req port.Request) bool {
	if req.Kind == port.None {
		return false
	}
	end := req.Addr + 4*uint64(req.Len)
	if req.Kind != port.MemRead && req.Kind != port.MemWrite || req.Len == 0 || req.Len > port.MaxLen ||
		req.Addr%4 != 0 || end < req.Addr || (end-1)/maxRequest != req.Addr/maxRequest {
		e.protocol("request kind %d, %d dwords at %#x", req.Kind, req.Len, req.Addr)
		return false
	}
	if req.Kind == port.MemRead {
		return e.sendRead(req)
	}
	need := reserve
	if e.payload < maxRequest {
		need += maxRequest / e.payload
	}
	if e.out.room() < need {
		return false
	}
	m := &e.master
	m.req, m.owed, m.got = req, int(port.Beats(req.Addr, req.Len)), 0
	return true
}

// sendRead sends a read with the lowest free tag.
func (e *Endpoint) sendRead(req port.Request) bool {
	m := &e.master
	if e.out.reads.full() || m.used == len(m.tags) || !m.room() {
		return false
	}
	tag := 0
	for m.tags[tag].state != tagFree {
		tag++
	}
	o := outstanding{state: tagWaits, req: req, id: e.id, until: e.now + e.opt.Timeout}
	m.tags[tag] = o
	m.used++
	m.waiting++
	m.deadline = min(m.deadline, o.until)
	e.stats.DeviceReads++
	p := e.header(tlp.MRd32, req.Addr, int(req.Len))
	p.Tag = uint16(tag)
	e.out.push(&p)
	return true
}

// header returns a memory request of complete dwords: kind, or its variant with
// a 64-bit address if addr needs it (PCIe 3.0 §2.2.4.1).
func (e *Endpoint) header(kind tlp.Kind, addr uint64, dwords int) tlp.Packet {
	p := tlp.Packet{Kind: kind, Len: dwords, Requester: e.id, Addr: addr, First: 0xf}
	if dwords > 1 {
		p.Last = 0xf
	}
	if addr>>32 != 0 {
		p.Kind++
	}
	return p
}

// takeBeat takes a beat of the write whose header was taken last.
func (e *Endpoint) takeBeat(b port.Beat) bool {
	m := &e.master
	if m.owed == 0 || !b.Valid {
		return false
	}
	m.owed--
	if b.Last != (m.owed == 0) {
		e.protocol("beat %d of a write of %d dwords at %#x has last %v", m.got, m.req.Len, m.req.Addr, b.Last)
		return true
	}
	edge := m.got == 0 || b.Last
	if wrong := checkEnable(b.Enable, edge); wrong != nil {
		e.protocol("beat %d of a write of %d dwords at %#x: %v", m.got, m.req.Len, m.req.Addr, wrong)
		return true
	}
	for i := range beatBytes {
		m.data[beatBytes*m.got+i] = byte(b.Data >> (8 * i))
		m.enable[beatBytes*m.got+i] = b.Enable>>i&1 != 0
	}
	m.got++
	if m.owed == 0 {
		e.sendWrite()
	}
	return true
}

// checkEnable checks the enables of a beat against the rule of port.Beat.
func checkEnable(enable uint8, edge bool) error {
	if !edge && enable != 0xff {
		return fmt.Errorf("enables %#02x, want all in the middle", enable)
	}
	// From the lowest set bit on, the set bits must be 2^n-1.
	if low := enable & -enable; low != 0 && (enable+low)&enable != 0 {
		return fmt.Errorf("enables %#02x, want no gap", enable)
	}
	return nil
}

// sendWrite makes packets of the write whose beats have arrived, one for each
// run of enabled bytes.
func (e *Endpoint) sendWrite() {
	m := &e.master
	base := m.req.Addr &^ (beatBytes - 1)
	lo := int(m.req.Addr - base)
	hi := lo + 4*int(m.req.Len)
	for i := range beatBytes * m.got {
		if m.enable[i] && (i < lo || i >= hi) {
			e.protocol("write of %d dwords at %#x enables bytes outside of it", m.req.Len, m.req.Addr)
			return
		}
	}
	e.stats.DeviceWrites++
	for at := lo; at < hi; {
		start := at
		for start < hi && !m.enable[start] {
			start++
		}
		for at = start; at < hi && m.enable[at]; {
			at++
		}
		for start < at {
			end := min(at, start&^3+e.payload)
			e.sendRun(base, start, end)
			start = end
		}
	}
}

// sendRun sends the bytes [start, end) of the data, which begins at address
// base.
func (e *Endpoint) sendRun(base uint64, start, end int) {
	first, last := start&^3, (end+3)&^3
	p := e.header(tlp.MWr32, base+uint64(first), (last-first)/4)
	p.Data = e.master.data[first:last]
	e.stats.BytesUp += uint64(end - start)
	head := uint8(0xf<<(start-first)) & 0xf
	tail := uint8(0xf) >> (last - end)
	p.First, p.Last = head, tail
	if p.Len == 1 {
		p.First, p.Last = head&tail, 0
	}
	e.out.push(&p)
}
