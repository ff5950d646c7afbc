package rootport

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// receive handles a packet of the device.
func (r *RootPort) receive(packet []byte) {
	r.crossed(Up, packet)
	p := &r.in
	if err := p.Decode(packet); err != nil {
		r.receiveBad(err)
		return
	}
	switch p.Kind {
	case tlp.Cpl, tlp.CplD:
		r.complete(p)
	case tlp.MRd32, tlp.MRd64:
		r.deviceRead(p)
	case tlp.MWr32, tlp.MWr64:
		r.deviceWrite(p)
	case tlp.Msg, tlp.MsgD:
		r.message(p)
	default:
		r.refuse(Unsupported, "a root port has no configuration space")
		r.newAnswer(p, tlp.UR)
	}
	p.Data = nil
}

// receiveBad refuses a packet that cannot be decoded. Only a well-formed
// request is completed, because no field of a malformed one can be trusted
// (PCIe 3.0 §2.3).
func (r *RootPort) receiveBad(err error) {
	if !errors.Is(err, tlp.ErrUnsupported) {
		r.refuse(Malformed, "%v", err)
		return
	}
	r.refuse(Unsupported, "%v", err)
	if r.in.Kind.Class() == tlp.NonPosted {
		r.newAnswer(&r.in, tlp.UR)
	}
}

// message counts INTx. A vendor-defined message of type 1 is dropped by
// receivers that do not know it (PCIe 3.0 §2.2.8.6).
func (r *RootPort) message(p *tlp.Packet) {
	if _, _, ok := p.Code.INTx(); ok {
		r.stats.INTx++
		return
	}
	if p.Code != tlp.Vendor1 {
		r.refuse(Unsupported, "a vendor-defined message of type 0")
	}
}

// complete handles a completion.
func (r *RootPort) complete(p *tlp.Packet) {
	q := &r.requests
	if p.Requester != hostID || int(p.Tag) >= len(q.tags) || q.tags[p.Tag].state == tagFree {
		r.refuse(Unexpected, "no outstanding request")
		return
	}
	tag := uint8(p.Tag)
	req := &q.tags[tag]
	lost := req.state == tagLost
	if err := req.check(p, r.opt.MaxPayload); err != "" {
		r.refuse(Mismatch, "%s", err)
		if !lost {
			q.fail(ErrProtocol, req.addr, req.size, fmt.Sprintf("%v: %s", p, err))
			q.leave(tag, tagLost, r.now())
		}
		return
	}
	if lost {
		r.stats.Late++
	} else if p.EP {
		r.refuse(Poisoned, "its data is poisoned")
		q.fail(ErrPoisoned, req.addr, req.size, "")
		q.leave(tag, tagLost, r.now())
	}
	if p.Kind == tlp.CplD {
		last := req.take(p)
		if last {
			q.leave(tag, tagFree, 0)
		}
		return
	}
	if kind := failureOf(p.Status); kind != nil && !lost {
		q.fail(kind, req.addr, req.size, "")
	}
	q.leave(tag, tagFree, 0)
}

// failureOf returns the error for a status, or nil for success.
func failureOf(s tlp.Status) error {
	switch s.Effective() {
	case tlp.SC:
		return nil
	case tlp.CA:
		return bus.ErrAbort
	case tlp.CRS:
		return errRetry
	}
	return bus.ErrUnsupported
}

// check describes how a completion fails to match the request, or returns ""
// (PCIe 3.0 §2.2.9, §2.3.1.1, §2.3.2). The byte count and address of an
// unsuccessful completion are not used and not checked.
func (q *request) check(p *tlp.Packet, maxPayload int) string {
	config := q.kind == tlp.CfgRd0 || q.kind == tlp.CfgWr0
	switch {
	case p.TC != 0 || p.Attr != 0 || p.BCM:
		return "class, attributes or BCM differ from the request's"
	case p.Kind == tlp.Cpl && p.Status.Effective() == tlp.CRS && !config:
		return "retry status for a memory read"
	case p.Kind == tlp.Cpl && p.Status == tlp.SC && q.kind != tlp.CfgWr0:
		return "success without the data of a read"
	case p.Kind == tlp.Cpl:
		return ""
	case q.kind == tlp.CfgWr0:
		return "data for a write"
	case p.ByteCount != q.left:
		return fmt.Sprintf("byte count %d, want %d", p.ByteCount, q.left)
	case p.Lower != q.lower:
		return fmt.Sprintf("lower address %#02x, want %#02x", p.Lower, q.lower)
	case 4*p.Len > maxPayload:
		return fmt.Sprintf("payload of %d bytes, want at most %d", 4*p.Len, maxPayload)
	}
	if n, last := p.Carries(); !last && (int(p.Lower)+n)%tlp.RCB != 0 {
		return fmt.Sprintf("%d of %d bytes, which does not end at a multiple of %d", n, q.left, tlp.RCB)
	}
	return ""
}

// take stores the data of a matching completion and reports whether it was the
// last one.
func (q *request) take(p *tlp.Packet) (last bool) {
	n, last := p.Carries()
	if q.dst != nil {
		copy(q.dst, p.Data)
		q.dst = q.dst[n:]
	}
	q.left -= n
	q.lower = (q.lower + uint8(n)) & 0x7f
	return last
}
