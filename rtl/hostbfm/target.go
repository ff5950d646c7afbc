package hostbfm

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// An Op is a request by the host with its beats.
type Op struct {
	Req   port.Request
	Beats []port.Beat

	// Done, if not nil, is called when the request ends, with the status of the last
	// completion and the data of all of them. It is not called for memory writes.
	Done func(s port.Status, data []uint64)

	data []uint64
}

// BARs holds the addresses that the host assigned to the BARs.
type BARs struct {
	BAR0, BAR2 uint64
}

// Write returns a write of at least 1 byte at a bus address. The bytes must be
// within one naturally aligned block of 128 bytes.
func Write(addr uint64, p []byte) Op {
	n := uint64(len(p))
	o := Op{Req: port.Request{Kind: port.MemWrite, Len: uint8((addr&3 + n + 3) / 4), Addr: addr &^ 3}}
	for a := addr &^ 7; a < addr+n; a += 8 {
		v := port.Beat{Valid: true, Last: a+8 >= addr+n}
		for i := range uint64(8) {
			if at := a + i - addr; at < n {
				v.Enable |= 1 << i
				v.Data |= uint64(p[at]) << (8 * i)
			}
		}
		o.Beats = append(o.Beats, v)
	}
	return o
}

// Queue appends requests to the queue.
func (b *Bus) Queue(ops ...Op) { b.queue = append(b.queue, ops...) }

// Last returns the newest request in the queue, which must not be empty.
func (b *Bus) Last() *Op { return &b.queue[len(b.queue)-1] }

// Queued reports whether any request is not yet fully sent.
func (b *Bus) Queued() bool { return len(b.queue) > 0 }

// Busy reports whether any request is not yet complete.
func (b *Bus) Busy() bool { return len(b.queue) > 0 || len(b.await) > 0 }

// SetReg queues a write of a register at an offset in BAR0.
func (b *Bus) SetReg(off uint64, v uint32) { b.Queue(Write(b.BAR0+off, dword(v))) }

// Reg queues a read of a register. done is not called if the read fails.
func (b *Bus) Reg(off uint64, done func(v uint32)) {
	req := port.Request{Kind: port.MemRead, Tag: uint8(b.Rng.Uint32()), Len: 1, Addr: b.BAR0 + off}
	b.Queue(Op{Req: req, Done: func(s port.Status, data []uint64) {
		if s == port.CplSuccess {
			done(lane(req, data))
		}
	}})
}

// SetConfig queues a write of a dword of configuration space.
func (b *Bus) SetConfig(off uint64, v uint32) {
	o := Write(off, dword(v))
	o.Req.Kind, o.Req.Tag = port.CfgWrite, uint8(b.Rng.Uint32())
	b.Queue(o)
}

// GetConfig queues a read of a dword of configuration space.
func (b *Bus) GetConfig(off uint64, done func(v uint32)) {
	req := port.Request{Kind: port.CfgRead, Tag: uint8(b.Rng.Uint32()), Len: 1, Addr: off}
	b.Queue(Op{Req: req, Done: func(_ port.Status, data []uint64) { done(lane(req, data)) }})
}

// Store stores bytes at a GPU address, whose bit 63 selects the memory: directly in
// host memory, or in VRAM through the aperture.
func (b *Bus) Store(addr uint64, p []byte) {
	if addr>>63 != 0 {
		copy(b.Mem[addr<<1>>1-b.Base:], p)
		return
	}
	for len(p) > 0 {
		n := min(len(p), int(128-addr%128))
		b.Queue(Write(b.BAR2+addr, p[:n]))
		addr, p = addr+uint64(n), p[n:]
	}
}

// dword returns the bytes of a dword.
func dword(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// lane returns the dword that a one-dword request read.
func lane(r port.Request, data []uint64) uint32 {
	return uint32(data[len(data)-1] >> (8 * (r.Addr & 4)))
}

// offer returns what the host offers the target port in this clock. An offer that
// was not accepted is repeated.
func (b *Bus) offer() (req port.Request, beat port.Beat) {
	if len(b.queue) == 0 || !b.shown && b.percent(b.Gap) {
		return req, beat
	}
	b.shown = true
	o := &b.queue[0]
	if !b.sent {
		req = o.Req
	}
	if len(o.Beats) > 0 {
		beat = o.Beats[0]
	}
	return req, beat
}

// sentOne removes the accepted parts of the offer from the queue.
func (b *Bus) sentOne(header, beat bool) {
	if header {
		b.sent, b.shown = true, false
		if k := b.queue[0].Req.Kind; k != port.MemWrite {
			b.await = append(b.await, b.queue[0])
		}
	}
	if beat {
		b.queue[0].Beats = b.queue[0].Beats[1:]
		b.shown = false
	}
	if b.sent && len(b.queue[0].Beats) == 0 {
		b.queue, b.sent, b.shown = b.queue[1:], false, false
	}
}

// completed handles a completion of the target port. Completions are in order.
func (b *Bus) completed(c port.Completion) {
	if len(b.await) == 0 || b.await[0].Req.Tag != c.Tag {
		b.fail("completion with tag %d, want the tag of the oldest pending request", c.Tag)
		return
	}
	o := &b.await[0]
	o.data = append(o.data, c.Data)
	if !c.Last {
		return
	}
	if b.Completed != nil {
		b.Completed(c.Status)
	}
	done := *o
	b.await = b.await[1:]
	if done.Done != nil {
		done.Done(c.Status, done.data)
	}
}
