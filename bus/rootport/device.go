package rootport

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A device write in [messageBase, messageEnd) is a message.
const (
	messageBase = 0xfee00000
	messageEnd  = 0xfef00000
)

// maxAnswers bounds the requests of the device whose completions wait to be
// sent: as many as it has tags.
const maxAnswers = tlp.TagsExtended

// An answer is the part of a completion of a device request that is still to be
// sent. Its memory is reused.
type answer struct {
	request tlp.Packet // without its data
	status  tlp.Status
	data    []byte // of a successful read
	parts   []tlp.Part
	sent    int
}

// answers is a queue: reads are completed in the order of arrival, with the
// memory contents at arrival.
type answers struct {
	queue []answer // allocated as needed, to maxAnswers
	head  int
	n     int
}

func (a *answers) reset() { a.head, a.n = 0, 0 }

func (a *answers) at(i int) *answer { return &a.queue[(a.head+i)%len(a.queue)] }

// push returns a slot for an answer, if there is one.
func (a *answers) push() (*answer, bool) {
	if a.n == maxAnswers {
		return nil, false
	}
	if a.queue == nil {
		a.queue = make([]answer, maxAnswers)
	}
	a.n++
	return a.at(a.n - 1), true
}

func (a *answers) pop() {
	a.head = (a.head + 1) % len(a.queue)
	a.n--
}

// has reports whether an unanswered request has the requester and tag of p.
func (a *answers) has(p *tlp.Packet) bool {
	for i := range a.n {
		if req := &a.at(i).request; req.Requester == p.Requester && req.Tag == p.Tag {
			return true
		}
	}
	return false
}

// newAnswer returns the slot for the answer to a request, or nil if there is
// none.
func (r *RootPort) newAnswer(p *tlp.Packet, status tlp.Status) *answer {
	if r.answers.has(p) {
		r.refuse(TagInUse, "a request with this tag is still outstanding")
		return nil
	}
	a, ok := r.answers.push()
	if !ok {
		r.refuse(TagInUse, "%d requests are still outstanding", maxAnswers)
		return nil
	}
	*a = answer{request: *p, status: status, data: a.data[:0], parts: a.parts[:0]}
	a.request.Data = nil
	return a
}

// deviceRead reads host memory for the device, from the first enabled byte to
// the last. A read of zero length is a flush: it reads nothing and is completed
// with an undefined dword (PCIe 3.0 §2.2.5).
func (r *RootPort) deviceRead(p *tlp.Packet) {
	a := r.newAnswer(p, tlp.SC)
	if a == nil {
		return
	}
	a.data = slices.Grow(a.data, 4*p.Len)[:4*p.Len]
	from, to := 0, 0
	if p.First != 0 {
		from = tlp.Offset(p.First)
		to = from + tlp.ByteCount(p.Len, p.First, p.Last)
	}
	clear(a.data[:from])
	clear(a.data[to:])
	if p.First != 0 {
		err := r.host.ReadMem(p.Addr+uint64(from), a.data[from:to])
		if errors.Is(err, bus.ErrNoAnswer) {
			r.answers.n--
			return
		}
		if err != nil {
			r.refuse(NoMemory, "%v", err)
			a.status = tlp.UR
			return
		}
	}
	if r.cut < min(4*p.Len, tlp.RCB) {
		r.refuse(TooLong, "its completion does not fit into packets of %d bytes", r.port.MaxPacket())
		a.status = tlp.CA
		return
	}
	a.parts = tlp.Split(a.parts, p.Addr, p.Len, p.First, p.Last, tlp.RCB, max(r.payload(), tlp.RCB))
}

// payload returns the largest payload of a packet to the device, in bytes.
func (r *RootPort) payload() int {
	if r.function.known {
		return min(r.function.payload, r.cut)
	}
	return min(minPayload, r.cut)
}

// sendAnswers sends completions while the port has room.
func (r *RootPort) sendAnswers() {
	for r.answers.n > 0 && r.down == nil {
		a := r.answers.at(0)
		if a.status == tlp.SC {
			r.out = a.request.ReplyData(hostID, a.parts[a.sent], a.data)
		} else {
			r.out = a.request.Reply(hostID, a.status)
		}
		var err error
		if r.answer, err = r.out.Append(r.answer[:0]); err == nil {
			err = r.send(&r.answer)
		}
		r.out.Data = nil
		switch {
		case errors.Is(err, datalink.ErrFull):
			return
		case err != nil:
			r.fail(fmt.Errorf("completion of %v: %w", &a.request, err))
			return
		}
		if a.sent++; a.sent >= len(a.parts) {
			r.answers.pop()
		}
	}
}

// deviceWrite writes host memory for the device, one call for each contiguous
// run of enabled bytes. A write of zero length writes nothing.
func (r *RootPort) deviceWrite(p *tlp.Packet) {
	switch {
	case 4*p.Len > r.opt.MaxPayload:
		r.refuse(TooLong, "want at most %d bytes", r.opt.MaxPayload)
		return
	case p.EP:
		r.refuse(Poisoned, "its data is poisoned")
		return
	}
	if p.First == 0xf && (p.Len == 1 || p.Last == 0xf) {
		r.writeRun(p.Addr, p.Data)
		return
	}
	for at := 0; at < len(p.Data); {
		if !enabled(p, at) {
			at++
			continue
		}
		end := at
		for end < len(p.Data) && enabled(p, end) {
			if end++; end >= 4 {
				end = max(end, len(p.Data)-4) // all between the first and the last dword is enabled
			}
		}
		r.writeRun(p.Addr+uint64(at), p.Data[at:end])
		at = end
	}
}

// enabled reports whether a write enables byte i of its data.
func enabled(p *tlp.Packet, i int) bool {
	switch i / 4 {
	case 0:
		return p.First>>i&1 != 0
	case p.Len - 1:
		return p.Last>>(i%4)&1 != 0
	}
	return true
}

func (r *RootPort) writeRun(addr uint64, p []byte) {
	if addr >= messageBase && addr < messageEnd {
		r.stats.Messages++
		r.event = true
	}
	if err := r.host.WriteMem(addr, p); err != nil {
		r.refuse(NoMemory, "%v", err)
	}
}
