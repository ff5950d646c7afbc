package bustest

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// maxReads is the number of reads the engine keeps in flight.
const maxReads = 4

// An outgoing is a read, or a write with its beats.
type outgoing struct {
	req   port.Request
	beats []port.Beat
}

// engine runs the jobs of the reference device, one at a time.
type engine struct {
	d     *Device
	job   uint32
	host  uint64
	mem   uint64
	left  uint64
	delay uint64

	queue   []outgoing
	sent    bool // the header of queue[0] was sent
	reads   [256]inbound
	waiting int
	tag     uint8
	failed  bool
}

// An inbound is a read that fills memory.
type inbound struct {
	mem  uint64
	addr uint64 // host address of the next byte
	left uint64
}

func (e *engine) start(job uint32) {
	d := e.d
	if e.job != 0 {
		d.regs[RegErrors/4]++
		return
	}
	e.job, e.failed = job, false
	e.host = uint64(d.regs[RegHostHi/4])<<32 | uint64(d.regs[RegHostLo/4])
	e.mem, e.left = uint64(d.regs[RegMem/4]), uint64(d.regs[RegLen/4])
	switch job {
	case JobNone:
		e.left = 0
	case JobDelay:
		e.delay, e.left = e.left, 0
	default:
		aligned := job == JobWrite || (e.host|e.mem|e.left)%4 == 0
		if job > JobDelay || !aligned || e.mem+e.left > uint64(len(d.mem)) {
			e.left, e.failed = 0, true
		}
	}
}

func (e *engine) busy() bool {
	return len(e.queue) > 0 || e.job != 0 && e.delay == 0 && e.waiting == 0 || e.left > 0
}

// out returns the header of the oldest write or read, and its first beat.
func (e *engine) out() (req port.Request, beat port.Beat) {
	if len(e.queue) == 0 {
		return req, beat
	}
	o := e.queue[0]
	if !e.sent {
		req = o.req
	}
	if len(o.beats) > 0 {
		beat = o.beats[0]
	}
	return req, beat
}

func (e *engine) tick(cpl port.Completion, reqReady, dataReady bool) {
	if cpl.Status != port.CplNone {
		e.take(cpl)
	}
	if len(e.queue) > 0 {
		e.drain(reqReady, dataReady)
	}
	if e.delay > 0 {
		e.delay--
		return
	}
	if e.job == 0 || len(e.queue) > 0 {
		return
	}
	switch {
	case e.left > 0 && e.job == JobWrite:
		e.pushWrite()
	case e.left > 0 && e.job == JobRead:
		e.pushRead()
	case e.waiting == 0:
		e.finish()
	}
}

func (e *engine) drain(reqReady, dataReady bool) {
	o := &e.queue[0]
	if !e.sent && reqReady {
		e.sent = true
	}
	if dataReady && len(o.beats) > 0 {
		o.beats = o.beats[1:]
	}
	if e.sent && len(o.beats) == 0 {
		e.queue, e.sent = e.queue[1:], false
	}
}

// next returns the number of bytes the next request may move.
func (e *engine) next() uint64 { return min(e.left, 128-e.host%128) }

func (e *engine) pushWrite() {
	n := e.next()
	e.push(e.host, e.d.mem[e.mem:e.mem+n])
	e.host, e.mem, e.left = e.host+n, e.mem+n, e.left-n
}

// push queues a write of bytes at any address, within an aligned block of 128
// bytes.
func (e *engine) push(addr uint64, p []byte) {
	first := addr &^ 3
	end := (addr + uint64(len(p)) + 3) &^ 3
	o := outgoing{req: port.Request{Kind: port.MemWrite, Len: uint8((end - first) / 4), Addr: first}}
	for at := first &^ 7; at < end; at += 8 {
		b := port.Beat{Valid: true, Last: at+8 >= end}
		for lane := range uint64(8) {
			if a := at + lane; a >= addr && a < addr+uint64(len(p)) {
				b.Data |= uint64(p[a-addr]) << (8 * lane)
				b.Enable |= 1 << lane
			}
		}
		o.beats = append(o.beats, b)
	}
	if !e.master() {
		e.failed = true
		return
	}
	e.queue = append(e.queue, o)
}

func (e *engine) master() bool {
	return e.d.cfg[pcicfg.Command/4]&pcicfg.CommandBusMaster != 0
}

func (e *engine) pushRead() {
	if e.waiting == maxReads {
		return
	}
	n := e.next()
	if !e.master() {
		e.failed, e.left = true, 0
		return
	}
	e.reads[e.tag] = inbound{e.mem, e.host, n}
	e.queue = append(e.queue, outgoing{req: port.Request{Kind: port.MemRead, Tag: e.tag, Len: uint8(n / 4), Addr: e.host}})
	e.tag++
	e.waiting++
	e.host, e.mem, e.left = e.host+n, e.mem+n, e.left-n
}

// take stores a beat of a completion.
func (e *engine) take(c port.Completion) {
	r := &e.reads[c.Tag]
	if r.left == 0 {
		panic("bustest: completion with an unexpected tag")
	}
	if c.Status != port.CplSuccess {
		if !c.Last {
			panic("bustest: failed completion is not the last")
		}
		e.failed = true
		*r = inbound{}
		e.waiting--
		return
	}
	for lane := r.addr & 7; lane < 8 && r.left > 0; lane++ {
		e.d.mem[r.mem] = byte(c.Data >> (8 * lane))
		r.mem, r.addr, r.left = r.mem+1, r.addr+1, r.left-1
	}
	if c.Last != (r.left == 0) {
		panic("bustest: completion has the wrong length")
	}
	if c.Last {
		e.waiting--
	}
}

// finish counts the job and sends the message of vector 0.
func (e *engine) finish() {
	d := e.d
	d.regs[RegDone/4]++
	if e.failed {
		d.regs[RegErrors/4]++
	}
	e.job = 0
	on := d.cfg[pcicfg.MSIX/4]&(pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask) == pcicfg.MSIXEnable
	if on && d.msix[3]&1 == 0 {
		var p [4]byte
		putLE32(p[:], d.msix[2])
		e.push(uint64(d.msix[1])<<32|uint64(d.msix[0]), p[:])
	}
}
