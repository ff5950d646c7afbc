package pins

import (
	"bytes"
	"encoding/binary"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// NewEtherWire returns a wire to a board at an Ethernet, whose addresses are at. The host
// uses raw frames.
func NewEtherWire(dev *Ether, at ip.Params, opt Options) (*Wire, error) {
	opt.Clocks, opt.Link.Datagram = 1, ip.MaxData
	return newWire(&datagramLine{dev: dev, at: at}, opt)
}

// hostMAC is the address of the host.
var hostMAC = [6]byte{0x02, 'h', 'o', 's', 't', 1}

// etherHeader is the size of the addresses and the type of a frame, and rawHeader that of
// the length of a datagram after them.
const (
	etherHeader = 14
	rawHeader   = 2
)

// A datagramLine carries frames in raw Ethernet. Those that are sent in one clock share a
// datagram as far as they fit.
type datagramLine struct {
	dev  *Ether
	at   ip.Params
	open []byte // the datagram in work
	from uint64 // clock in which it may arrive
}

func (l *datagramLine) send(f []byte, from uint64) {
	if len(l.open)+2+len(f) > ip.MaxData || from > l.from && len(l.open) > 0 {
		l.flush()
	}
	l.open, l.from = channel.AppendDatagram(l.open, f), from
}

// flush puts the datagram in work on the line.
func (l *datagramLine) flush() {
	if len(l.open) == 0 {
		return
	}
	f := append(append([]byte(nil), l.at.MAC[:]...), hostMAC[:]...)
	f = binary.BigEndian.AppendUint16(f, l.at.EtherType)
	f = binary.BigEndian.AppendUint16(f, uint16(len(l.open)))
	l.dev.send(append(f, l.open...), l.from)
	l.open = nil
}

func (l *datagramLine) drop() {
	l.open = nil
	l.dev.drop()
}

func (l *datagramLine) carried() (down, up uint64) { return l.dev.down, l.dev.up }

func (l *datagramLine) clock(_ uint64, host frame.Sink) error {
	l.flush()
	f := l.dev.Tick()
	if d := l.datagram(f); d != nil {
		for len(d) > 0 {
			one, rest, ok := channel.CutDatagram(d)
			if !ok || len(one) < datalink.MinFrame {
				host.Damaged(len(d))
				break
			}
			host.Frame(one)
			d = rest
		}
	}
	return l.dev.Err()
}

// datagram returns the datagram in a frame of the board for the host, or nil.
func (l *datagramLine) datagram(f []byte) []byte {
	if len(f) < etherHeader+rawHeader || !bytes.Equal(f[:6], hostMAC[:]) || !bytes.Equal(f[6:12], l.at.MAC[:]) ||
		binary.BigEndian.Uint16(f[12:]) != l.at.EtherType {
		return nil
	}
	n := int(binary.BigEndian.Uint16(f[etherHeader:]))
	if d := f[etherHeader+rawHeader:]; n <= len(d) {
		return d[:n]
	}
	return nil
}
