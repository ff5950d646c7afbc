package endpoint

import (
	"math/bits"
	"slices"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A chunk is a non-posted request at the target port.
type chunk struct {
	used  bool
	kind  port.Kind
	read  *read // nil: its session has ended
	off   int   // offset in the data of the read, in bytes
	n     int
	lane  int // lane of the first byte
	beats uint8
	got   uint8
}

// A read collects the completion of one request of the host, in the parts in
// which it is sent. A configuration write uses one too, with one part.
type read struct {
	head     tlp.Packet
	flush    bool // no byte is enabled
	data     []byte
	parts    []tlp.Part
	left     []int // bytes missing in each part
	sent     int   // parts sent
	failed   int   // first failed part, or len(parts)
	status   tlp.Status
	atDevice int  // chunks at the device
	whole    bool // all chunks have been at the port
	queued   bool // in target.ready
	ended    bool // its last packet was sent
}

// start makes r collect the completion of w.
func (r *read) start(w *waiting, maxPayload int) {
	*r = read{head: w.head, data: r.data[:0], parts: r.parts[:0], left: r.left[:0]}
	p := &r.head
	r.flush = p.Len == 1 && p.First == 0 && p.Kind != tlp.CfgRd0
	if cap(r.data) < 4*p.Len {
		r.data = make([]byte, 4*p.Len)
	}
	r.data = r.data[:4*p.Len]
	if p.IsConfig() {
		r.parts = append(r.parts, tlp.Part{Len: 1, ByteCount: 4})
	} else {
		r.parts = tlp.Split(r.parts, p.Addr, p.Len, p.First, p.Last, RCB, max(maxPayload, RCB))
	}
	for _, part := range r.parts {
		r.left = append(r.left, 4*part.Len)
	}
	if p.Kind == tlp.CfgWr0 && !r.flush {
		r.left[0] = bits.OnesCount8(p.First)
	}
	r.failed = len(r.parts)
	if slices.ContainsFunc(r.parts, func(part tlp.Part) bool { return 4*part.Len > maxPayload }) {
		r.failed, r.status = 0, tlp.CA
	}
}

// answer takes a completion of the device. It returns a description of an
// error, or "".
func (t *target) answer(c port.Completion) string {
	k := &t.chunks[c.Tag]
	switch {
	case !k.used:
		return "unexpected completion"
	case c.Status > port.CplAbort:
		return "completion with an unknown status"
	case c.Status != port.CplSuccess && !c.Last:
		return "failed completion that is not the last"
	}
	if c.Status == port.CplSuccess {
		k.keep(c.Data)
		k.got++
		if c.Last != (k.got == k.beats) {
			return "completion with the wrong number of beats"
		}
	}
	if c.Last {
		t.finish(k, c.Status)
	}
	return ""
}

// keep stores a beat of a completion.
func (k *chunk) keep(data uint64) {
	if k.read == nil || k.kind == port.CfgWrite {
		return
	}
	at := beatBytes*int(k.got) - k.lane // offset of lane 0 in the chunk
	dst := k.read.data[k.off : k.off+k.n]
	for i := max(0, -at); i < beatBytes && at+i < len(dst); i++ {
		dst[at+i] = byte(data >> (8 * i))
	}
}

// finish ends a chunk, and its part of the read if that is complete.
func (t *target) finish(k *chunk, status port.Status) {
	r := k.read
	if r != nil {
		r.atDevice--
		part := 0
		for r.parts[part].Off+4*r.parts[part].Len <= k.off {
			part++
		}
		s := statusOf(status)
		if s == tlp.SC && r.flush && r.head.IsMemory() && !r.decodes() {
			s = tlp.UR
		}
		if s == tlp.SC {
			r.left[part] -= k.n
		} else if part < r.failed {
			r.failed, r.status = part, s
		}
		t.offer(r)
		t.release(r)
	}
	*k = chunk{}
	t.used--
}

// decodes reports whether the function decodes memory. It reads this from the
// dword fetched by a flush, and clears the dword.
func (r *read) decodes() bool {
	on := r.data[0]&pcicfg.CommandMemory != 0
	clear(r.data)
	return on
}

func statusOf(s port.Status) tlp.Status {
	switch s {
	case port.CplSuccess:
		return tlp.SC
	case port.CplAbort:
		return tlp.CA
	}
	return tlp.UR
}

// due reports whether the next part can be sent, as data or as a failure.
func (r *read) due() bool {
	return !r.ended && (r.sent == r.failed || r.left[r.sent] == 0)
}

func (t *target) offer(r *read) {
	if r.due() && !r.queued {
		*t.ready.push() = r
		r.queued = true
	}
}

// release frees r if nothing refers to it.
func (t *target) release(r *read) {
	if r.ended && r.whole && r.atDevice == 0 {
		t.free = append(t.free, r)
	}
}

func (e *Endpoint) canEmit() bool { return !e.target.ready.empty() && e.out.room() > 0 }

// emit makes packets of complete parts.
func (e *Endpoint) emit() {
	t := &e.target
	for e.canEmit() {
		r := *t.ready.front()
		e.emitPart(r)
		if r.due() {
			continue
		}
		t.ready.pop()
		r.queued = false
		t.release(r)
	}
}

// emitPart sends the next part of r. A failure ends the read: its byte count is
// the number of remaining bytes (PCIe 3.0 §2.3.1.1).
func (e *Endpoint) emitPart(r *read) {
	part := r.parts[r.sent]
	var p tlp.Packet
	switch {
	case r.sent == r.failed:
		p = r.head.Reply(e.id, r.status)
		p.ByteCount, p.Lower = part.ByteCount, part.Lower
	case r.head.Kind == tlp.CfgWr0:
		p = r.head.Reply(e.id, tlp.SC)
	default:
		p = r.head.ReplyData(e.id, part, r.data)
		e.stats.BytesUp += uint64(4 * part.Len)
	}
	r.ended = r.sent == r.failed || r.sent == len(r.parts)-1
	r.sent++
	e.out.push(&p)
}
