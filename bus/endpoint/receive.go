package endpoint

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Receive processes one packet from the host, which it copies. It fails with
// ErrFull if there is no room for the packet, which then counts as not
// received; Run and Next make room. Any other error is the reason why the
// packet was refused: tlp.ErrMalformed, tlp.ErrUnsupported, ErrPoisoned or
// ErrUnexpected. Refused packets are counted, and completed if the
// specification requires it.
func (e *Endpoint) Receive(packet []byte) error {
	p := &e.in
	err := p.Decode(packet)
	switch {
	case errors.Is(err, tlp.ErrUnsupported):
		return e.refuse(err, &e.stats.Unsupported)
	case err != nil:
		e.stats.Malformed++
		return err
	case p.IsCompletion():
		return e.completion(p)
	case p.IsMessage():
		return e.message(p)
	case p.EP:
		return e.refuse(fmt.Errorf("%w: %v", ErrPoisoned, p), &e.stats.Poisoned)
	case p.IsConfig() && p.Completer&7 != 0:
		return e.refuse(fmt.Errorf("%w: %v, want function 0", tlp.ErrUnsupported, p), &e.stats.Unsupported)
	}
	return e.request(p)
}

// refuse completes the request in e.in with UR, if it is non-posted (PCIe 3.0
// §2.3.1, §2.7.2.2).
func (e *Endpoint) refuse(cause error, counter *uint64) error {
	if e.in.Kind.Class() == tlp.NonPosted {
		if e.out.room() == 0 {
			return ErrFull
		}
		r := e.in.Reply(e.id, tlp.UR)
		e.out.push(&r)
	}
	*counter++
	return cause
}

// message drops a message: no message from a host has a meaning for this
// function (PCIe 3.0 §2.2.8.1, §2.2.8.6).
func (e *Endpoint) message(p *tlp.Packet) error {
	if p.Code == tlp.Vendor1 {
		return nil
	}
	return e.refuse(fmt.Errorf("%w: %v", tlp.ErrUnsupported, p), &e.stats.Unsupported)
}

// request queues a request for the target port.
func (e *Endpoint) request(p *tlp.Packet) error {
	t := &e.target
	if t.queue.full() {
		return ErrFull
	}
	w := t.queue.push()
	data := append(w.data[:0], p.Data...)
	*w = waiting{head: *p, data: data}
	w.head.Data = nil
	if !p.Kind.HasData() {
		e.stats.HostReads++
		return nil
	}
	e.stats.HostWrites++
	e.stats.BytesDown += uint64(len(p.Data))
	if p.Kind == tlp.CfgWr0 {
		// PCIe 3.0 §2.2.6.2: captured from every such request.
		e.id = p.Completer
		return nil
	}
	t.posted++
	return nil
}
