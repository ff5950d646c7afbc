package relay

import (
	"net"
	"strings"
	"time"

	"github.com/mdlayher/packet"

	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// Pty opens a relay to a board at a pseudo-terminal. Hosts open path. After a cut it is
// another terminal, as when a cable is unplugged.
func Pty(board, path string, p Plan) (*Relay, error) {
	near, err := serial.ListenPty(path)
	if err != nil {
		return nil, err
	}
	r := newRelay(p)
	r.selector, r.stop = "serial:"+path+"?baud=4000000", func() {}
	r.wg.Go(func() {
		for {
			far, err := serial.Open(strings.TrimPrefix(board, "serial:"), serial.Options{})
			if err == nil {
				r.join(near, far)
			}
			near.Close()
			r.pause(10 * time.Millisecond) // the host notices the end
			if near, err = r.again(path); err != nil {
				return
			}
		}
	})
	return r, nil
}

// again opens a pseudo-terminal until that succeeds or the relay is closed.
func (r *Relay) again(path string) (*serial.Pty, error) {
	for {
		p, err := serial.ListenPty(path)
		select {
		case <-r.done:
			if err == nil {
				p.Close()
			}
			return nil, net.ErrClosed
		default:
		}
		if err == nil {
			return p, nil
		}
		r.pause(10 * time.Millisecond)
	}
}

// Ethernet opens a relay between two interfaces: near has the network of the host, far
// that of the board, which hosts open by its selector.
func Ethernet(board, near, far string, p Plan) (*Relay, error) {
	r := newRelay(p)
	r.selector = board
	var ends [2]*etherEnd
	for i, name := range []string{near, far} {
		at, err := net.InterfaceByName(name)
		if err != nil {
			return nil, err
		}
		c, err := packet.Listen(at, packet.Raw, ether.Link, nil)
		if err != nil {
			return nil, err
		}
		if err := c.SetPromiscuous(true); err != nil {
			return nil, err
		}
		ends[i] = &etherEnd{c}
	}
	r.carry(ends[0], ends[1])
	return r, nil
}

// An etherEnd passes frames with their header.
type etherEnd struct{ *packet.Conn }

// Read implements end.
func (e *etherEnd) Read(p []byte) (int, error) {
	n, _, err := e.ReadFrom(p)
	return n, err
}

// Write implements end.
func (e *etherEnd) Write(p []byte) (int, error) {
	if len(p) < headerLen {
		return len(p), nil // the damage has cut the header
	}
	return e.WriteTo(p, &packet.Addr{HardwareAddr: net.HardwareAddr(p[:6])})
}

// headerLen is the size of the header of a frame: two addresses and the EtherType.
const headerLen = 14

// spoof changes the address of the sender.
func (e *etherEnd) spoof(p []byte) {
	if len(p) >= headerLen {
		p[11] ^= 0x40
		e.Write(p) // may be lost
	}
}
