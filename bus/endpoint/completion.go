package endpoint

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// hostRCB is what every completion of the host but the last of a read ends at a
// multiple of, in bytes: that of a root port with the smaller boundary (PCIe
// 3.0 §2.3.1.1).
const hostRCB = tlp.RCB

// completion takes an answer of the host. One that does not fit its read is
// dropped as malformed, and the read goes on waiting (PCIe 3.0 §2.3.2).
func (e *Endpoint) completion(p *tlp.Packet) error {
	m := &e.master
	o := &m.tags[p.Tag&0xff]
	if p.Tag > 0xff || o.state == tagFree || p.Requester != o.id {
		e.stats.Unasked++
		return fmt.Errorf("%w: %v", ErrUnasked, p)
	}
	if wrong := o.check(p); wrong != "" {
		e.stats.Malformed++
		return fmt.Errorf("%w: %v: %s", tlp.ErrMalformed, p, wrong)
	}
	if o.state == tagLost {
		e.stats.Unasked++
		m.late(o, p)
		return fmt.Errorf("%w: %v: it comes too late", ErrUnasked, p)
	}
	if p.Kind == tlp.CplD && !p.EP {
		e.data(o, p)
		return nil
	}
	status := port.CplAbort
	if p.Kind == tlp.Cpl && p.Status.Effective() == tlp.UR {
		status = port.CplUnsupported
	}
	m.push(e.target.posted, port.Completion{Tag: o.req.Tag, Status: status, Last: true})
	m.waiting--
	e.stats.Failed++
	poisoned := p.EP
	_, last := p.Carries()
	if poisoned && !last {
		// The rest of the answer is still to come.
		o.got += 4 * p.Len
		o.state = tagLost
	} else {
		m.free(o)
	}
	if poisoned {
		e.stats.Poisoned++
		return fmt.Errorf("%w: %v", ErrPoisoned, p)
	}
	return nil
}

func (m *master) free(o *outstanding) {
	*o = outstanding{}
	m.used--
}

// late follows the answer to a read that has ended at the device, so that its
// tag can be used again after it.
func (m *master) late(o *outstanding, p *tlp.Packet) {
	o.got += 4 * p.Len
	if p.Kind == tlp.Cpl || o.got == 4*int(o.req.Len) {
		m.free(o)
	}
}

// check returns how p does not fit the read, or an empty string.
func (o *outstanding) check(p *tlp.Packet) string {
	left := 4*int(o.req.Len) - o.got
	at := o.req.Addr + uint64(o.got)
	switch {
	case p.TC != 0 || p.Attr != 0:
		return "class or attributes are not those of the read"
	case p.Kind == tlp.Cpl && p.Status == tlp.SC:
		return "a read succeeds with data"
	case p.Kind == tlp.Cpl && p.Status == tlp.CRS:
		return "a retry answers configuration requests"
	case p.Kind == tlp.Cpl:
		return ""
	case p.ByteCount != left:
		return fmt.Sprintf("%d bytes are to come", left)
	case p.Lower != uint8(at&0x7f):
		return fmt.Sprintf("lower address is %#x", at&0x7f)
	case 4*p.Len < left && (at+4*uint64(p.Len))%hostRCB != 0:
		return "it does not end at the read completion boundary"
	}
	return ""
}

// data passes the data of p on to the device. It ends where a beat does, unless
// it is the last.
func (e *Endpoint) data(o *outstanding, p *tlp.Packet) {
	m := &e.master
	lane := int(o.req.Addr+uint64(o.got)) & (beatBytes - 1)
	for i := -lane; i < len(p.Data); i += beatBytes {
		c := port.Completion{Tag: o.req.Tag, Status: port.CplSuccess}
		for j := range beatBytes {
			if k := i + j; k >= 0 && k < len(p.Data) {
				c.Data |= uint64(p.Data[k]) << (8 * j)
			}
		}
		c.Last = o.got+i+beatBytes >= 4*int(o.req.Len)
		m.push(e.target.posted, c)
	}
	o.got += len(p.Data)
	e.stats.BytesDown += uint64(len(p.Data))
	if o.got == 4*int(o.req.Len) {
		m.waiting--
		m.free(o)
	}
}
