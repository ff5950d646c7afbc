package capture

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Identifiers of the host and the board on a link in this process.
const (
	HostID  tlp.ID = 0
	BoardID tlp.ID = 1 << 8 // 01:00.0
)

// maxPayload is the payload of a completion in this process, in bytes, from
// pcicfg.DevCap.
const maxPayload = 4 * port.MaxLen

// FromTransaction appends the packets that PCIe would carry for a transaction
// of a link in this process. It fails with ErrPacket for a transaction that
// PCIe cannot carry. The packets' data aliases t.Data.
func FromTransaction(dst []tlp.Packet, t inproc.Transaction) ([]tlp.Packet, error) {
	req, ok := request(t)
	if !ok {
		return dst, fmt.Errorf("%w: transaction of kind %d, direction %d, status %d", ErrPacket, t.Req.Kind, t.Dir, t.Status)
	}
	from := len(dst)
	completer := BoardID
	if t.Dir == inproc.Down {
		completer = HostID
	}
	switch {
	case t.Status == port.CplNone:
		dst = append(dst, req)
	case t.Status == port.CplUnsupported:
		dst = append(dst, req.Reply(completer, tlp.UR))
	case t.Status == port.CplAbort:
		dst = append(dst, req.Reply(completer, tlp.CA))
	case req.Kind == tlp.CfgWr0:
		dst = append(dst, req.Reply(completer, tlp.SC))
	case len(t.Data) != 4*req.Len:
		return dst, fmt.Errorf("%w: completion of %d bytes to a read of %d dwords", ErrPacket, len(t.Data), req.Len)
	case req.Kind == tlp.CfgRd0:
		part := tlp.Part{Len: 1, ByteCount: 4}
		dst = append(dst, req.ReplyData(completer, part, t.Data))
	default:
		for _, part := range tlp.Split(nil, req.Addr, req.Len, req.First, req.Last, tlp.RCB, maxPayload) {
			dst = append(dst, req.ReplyData(completer, part, t.Data))
		}
	}
	for i := range dst[from:] {
		if err := dst[from+i].Check(); err != nil {
			return dst[:from], fmt.Errorf("%w: %w", ErrPacket, err)
		}
	}
	return dst, nil
}

// request returns the request of a transaction: t itself, or the request that t
// completes.
func request(t inproc.Transaction) (tlp.Packet, bool) {
	down := t.Dir == inproc.Down == (t.Status == port.CplNone) // the host asked
	p := tlp.Packet{
		Len: int(t.Req.Len), Tag: uint16(t.Req.Tag), Addr: t.Req.Addr,
		First: t.First, Last: t.Last, Requester: HostID,
	}
	if !down {
		p.Requester = BoardID
	}
	wide := p.Addr>>32 != 0
	switch {
	case t.Req.Kind == port.MemRead && wide:
		p.Kind = tlp.MRd64
	case t.Req.Kind == port.MemRead:
		p.Kind = tlp.MRd32
	case t.Req.Kind == port.MemWrite && t.Status == port.CplNone && wide:
		p.Kind, p.Data = tlp.MWr64, t.Data
	case t.Req.Kind == port.MemWrite && t.Status == port.CplNone:
		p.Kind, p.Data = tlp.MWr32, t.Data
	case t.Req.Kind == port.CfgRead && down:
		p.Kind, p.Completer = tlp.CfgRd0, BoardID
	case t.Req.Kind == port.CfgWrite && down:
		p.Kind, p.Completer = tlp.CfgWr0, BoardID
		if t.Status == port.CplNone {
			p.Data = t.Data
		}
	default:
		return p, false
	}
	return p, t.Status <= port.CplAbort
}

// Clocks converts n clocks of hz to a duration, rounded down; hz is not 0. A
// duration that overflows is the largest value.
func Clocks(n, hz uint64) time.Duration {
	const top = 1<<63 - 1
	hi, lo := bits.Mul64(n, uint64(time.Second))
	if hi >= hz {
		return top
	}
	q, _ := bits.Div64(hi, lo, hz)
	return time.Duration(min(q, top))
}

// Observer returns a function for inproc.Options that writes each transaction;
// hz is the clock frequency of the link. Write errors are reported by w.Err. A
// transaction that PCIe cannot carry is dropped and passed to dropped, if that
// is not nil.
func (w *Writer) Observer(hz uint64, dropped func(error)) func(inproc.Transaction) {
	var packets []tlp.Packet
	var buf []byte
	return func(t inproc.Transaction) {
		var err error
		if packets, err = FromTransaction(packets[:0], t); err != nil && dropped != nil {
			dropped(err)
		}
		dir := Down
		if t.Dir == inproc.Up {
			dir = Up
		}
		for i := range packets {
			if buf, err = packets[i].Append(buf[:0]); err == nil {
				err = w.Write(Record{At: Clocks(t.Clock, hz), Dir: dir, Packet: buf})
			}
			if err != nil && w.Err() == nil && dropped != nil {
				dropped(err)
			}
		}
	}
}

// WallObserver begins a link as BeginAt does, at the present time, and returns
// a function that writes each packet when it is called with it: up is from the
// board to the host. The function has the form of serve.Options.Observer and
// does not use the board's time. Write errors are reported by w.Err.
func (w *Writer) WallObserver() func(up bool, _ time.Duration, packet []byte) {
	epoch := time.Now()
	w.BeginAt(epoch)
	return func(up bool, _ time.Duration, packet []byte) {
		dir := Down
		if up {
			dir = Up
		}
		w.Write(Record{At: time.Since(epoch), Dir: dir, Packet: packet}) // Err reports errors
	}
}
