package inproc

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// ErrProtocol is wrapped by the cause of a link that is down because the device
// violated a rule of its ports.
var ErrProtocol = errors.New("inproc: device violated the port protocol")

// receiver collects a device's write and holds the data of its reads.
type receiver struct {
	req    port.Request // the write whose beats are due
	beats  uint8        // beats still due
	buf    [maxRequest + beatBytes]byte
	enable [(maxRequest + beatBytes) / beatBytes]uint8
	n      int // beats in buf
}

// receive handles an item that arrives at the host.
func (l *Link) receive(it *upItem) {
	switch it.kind {
	case upHeader:
		l.receiveRequest(it.req)
	case upBeat:
		l.receiveBeat(it.beat)
	case upCompletion:
		l.receiveCompletion(it.cpl)
	}
}

func (l *Link) protocol(format string, args ...any) {
	l.fail(fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...)))
}

func (l *Link) receiveRequest(req port.Request) {
	end := req.Addr + 4*uint64(req.Len)
	if req.Kind != port.MemRead && req.Kind != port.MemWrite || req.Len == 0 || req.Len > port.MaxLen ||
		req.Addr%4 != 0 || end < req.Addr || (end-1)/maxRequest != req.Addr/maxRequest {
		l.protocol("request kind %d, %d dwords at %#x", req.Kind, req.Len, req.Addr)
		return
	}
	if req.Kind == port.MemRead {
		l.stats.DeviceReads++
		l.observe(Up, req, port.CplNone, nil)
		l.answer(req)
		return
	}
	l.stats.DeviceWrites++
	l.stats.BytesUp += 4 * uint64(req.Len)
	l.receiver.req, l.receiver.beats, l.receiver.n = req, port.Beats(req.Addr, req.Len), 0
}

// answer completes a device read from host memory. A fork leaves it unanswered.
func (l *Link) answer(req port.Request) {
	if l.host == nil {
		return
	}
	r := &l.receiver
	n := 4 * int(req.Len)
	lane := int(req.Addr & 7)
	beats := int(port.Beats(req.Addr, req.Len))
	data := r.buf[lane : lane+n]
	err := l.host.ReadMem(req.Addr, data)
	if errors.Is(err, bus.ErrNoAnswer) {
		l.wire.reserved -= beats
		return
	}
	if err != nil {
		l.stats.Refused++
		l.observe(Down, req, port.CplUnsupported, nil)
		l.wire.answers.push(port.Completion{Tag: req.Tag, Status: port.CplUnsupported, Last: true})
		l.wire.reserved -= beats - 1
		return
	}
	l.stats.BytesDown += uint64(n)
	clear(r.buf[:lane])
	clear(r.buf[lane+n : beatBytes*beats])
	l.observe(Down, req, port.CplSuccess, data)
	for i := range beats {
		l.wire.answers.push(port.Completion{
			Tag: req.Tag, Status: port.CplSuccess, Last: i == beats-1,
			Data: beatData(r.buf[beatBytes*i:]),
		})
	}
}

func beatData(p []byte) uint64 {
	var v uint64
	for i := range beatBytes {
		v |= uint64(p[i]) << (8 * i)
	}
	return v
}

func (l *Link) receiveBeat(b port.Beat) {
	r := &l.receiver
	r.beats--
	if b.Last != (r.beats == 0) {
		l.protocol("beat %d of a write of %d dwords at %#x has last %v", r.n, r.req.Len, r.req.Addr, b.Last)
		return
	}
	for i := range beatBytes {
		r.buf[beatBytes*r.n+i] = byte(b.Data >> (8 * i))
	}
	r.enable[r.n] = b.Enable
	r.n++
	if b.Last {
		l.writeHost()
	}
}

// writeHost passes a complete write to the host, one call for each contiguous
// run of enabled bytes.
func (l *Link) writeHost() {
	r := &l.receiver
	base := r.req.Addr &^ (beatBytes - 1)
	lo, hi := int(r.req.Addr-base), int(r.req.Addr-base)+4*int(r.req.Len)
	first := r.enable[0] & (1<<lo - 1)
	last := r.enable[r.n-1] >> (hi - beatBytes*(r.n-1))
	if first != 0 || last != 0 {
		l.protocol("write of %d dwords at %#x enables bytes outside of it", r.req.Len, r.req.Addr)
		return
	}
	l.observeBytes(Up, r.req, port.CplNone, r.buf[lo:hi], r.dword(lo), r.dword(hi-4))
	for at := 0; at < beatBytes*r.n; {
		start := at + r.gap(at, false)
		at = start + r.gap(start, true)
		if at > start {
			l.writeRun(base+uint64(start), r.buf[start:at])
		}
	}
}

// dword returns the enables of the dword at offset at, a multiple of 4.
func (r *receiver) dword(at int) uint8 { return r.enable[at/beatBytes] >> (at % beatBytes) & 15 }

// gap returns the length of the run of enabled, or of disabled, bytes from at
// on.
func (r *receiver) gap(at int, enabled bool) int {
	n := 0
	for at+n < beatBytes*r.n {
		i := at + n
		rest := r.enable[i/beatBytes] >> (i % beatBytes)
		if enabled {
			rest = ^rest
		}
		run := min(bits.TrailingZeros8(rest), beatBytes-i%beatBytes)
		n += run
		if run < beatBytes-i%beatBytes {
			break
		}
	}
	return n
}

func (l *Link) writeRun(addr uint64, p []byte) {
	if l.host == nil {
		return
	}
	if addr >= messageBase && addr < messageEnd {
		l.stats.Messages++
		l.event = true
	}
	if err := l.host.WriteMem(addr, p); err != nil {
		l.stats.Refused++
	}
}

// receiveCompletion checks a completion and stores its data.
func (l *Link) receiveCompletion(c port.Completion) {
	p := &l.requests.tags[c.Tag]
	if p.state == tagFree {
		l.protocol("unexpected completion with tag %d", c.Tag)
		return
	}
	if c.Status > port.CplAbort || c.Status != port.CplSuccess && !c.Last {
		l.protocol("completion of tag %d has status %d, last %v", c.Tag, c.Status, c.Last)
		return
	}
	if c.Status == port.CplSuccess {
		p.take(c.Data)
		want := 1
		if p.req.Kind == port.MemRead {
			want = int(port.Beats(p.req.Addr, p.req.Len))
		}
		if c.Last != (p.got == want) {
			l.protocol("completion %d of %d of tag %d has last %v", p.got, want, c.Tag, c.Last)
			return
		}
	}
	if p.state == tagWaits {
		l.requests.progress = l.now
	}
	if c.Last {
		l.complete(p, c.Status)
	}
}

// take stores the bytes of one beat of a completion.
func (p *pending) take(v uint64) {
	at := beatBytes*p.got - int(p.req.Addr&7) // offset of lane 0 in dst
	p.got++
	if p.dst == nil || p.req.Kind == port.CfgWrite {
		return
	}
	for i := range beatBytes {
		if j := at + i; j >= 0 && j < len(p.dst) {
			p.dst[j] = byte(v >> (8 * i))
		}
	}
}

func (l *Link) complete(p *pending, s port.Status) {
	var data []byte
	if s == port.CplSuccess && p.req.Kind != port.CfgWrite {
		data = p.dst
	}
	l.observe(Up, p.req, s, data)
	if p.state == tagWaits {
		l.requests.waiting--
		if s != port.CplSuccess {
			l.requests.setFailed(s, p.req.Addr)
		}
		l.stats.BytesUp += uint64(len(data))
	}
	*p = pending{}
}
