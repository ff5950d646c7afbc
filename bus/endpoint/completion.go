package endpoint

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// hostRCB is the read completion boundary of the host, in bytes: all
// completions of a read but the last end at a multiple of it. It is the smaller
// value of a root port (PCIe 3.0 §2.3.1.1).
const hostRCB = tlp.RCB

// completion processes a completion of the host. One that does not match its
// read is dropped as malformed, and the read keeps waiting (PCIe 3.0 §2.3.2).
func (e *Endpoint) completion(p *tlp.Packet) error {
	m := &e.master
	o := &m.tags[p.Tag&0xff]
	if p.Tag > 0xff || o.state == tagFree || p.Requester != o.id {
		e.stats.Unexpected++
		return fmt.Errorf("%w: %v", ErrUnexpected, p)
	}
	if wrong := o.check(p); wrong != "" {
		e.stats.Malformed++
		return fmt.Errorf("%w: %v: %s", tlp.ErrMalformed, p, wrong)
	}
	if o.state == tagLost {
		e.stats.Unexpected++
		m.late(o, p)
		return fmt.Errorf("%w: %v: its read has ended", ErrUnexpected, p)
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
		// More completions of this read follow.
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

// late processes a completion of a read that has already ended at the device.
// The tag becomes free after the last one.
func (m *master) late(o *outstanding, p *tlp.Packet) {
	o.got += 4 * p.Len
	if p.Kind == tlp.Cpl || o.got == 4*int(o.req.Len) {
		m.free(o)
	}
}

// check describes how p fails to match the read, or returns "".
func (o *outstanding) check(p *tlp.Packet) string {
	left := 4*int(o.req.Len) - o.got
	at := o.req.Addr + uint64(o.got)
	switch {
	case p.TC != 0 || p.Attr != 0:
		return "class or attributes are not those of the read"
	case p.Kind == tlp.Cpl && p.Status == tlp.SC:
		return "success without data"
	case p.Kind == tlp.Cpl && p.Status == tlp.CRS:
		return "retry status for a memory read"
	case p.Kind == tlp.Cpl:
		return ""
	case p.ByteCount != left:
		return fmt.Sprintf("want %d remaining bytes", left)
	case p.Lower != uint8(at&0x7f):
		return fmt.Sprintf("want lower address %#x", at&0x7f)
	case 4*p.Len < left && (at+4*uint64(p.Len))%hostRCB != 0:
		return "it does not end at the read completion boundary"
	}
	return ""
}

// data passes the data of p to the device. Unless it is the last completion, it
// ends at a beat boundary.
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
