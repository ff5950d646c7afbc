package ether

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Frames sends and receives whole frames of all EtherTypes at an interface, for a station of
// another address than that of the interface. It adds and removes no FCS.
type Frames struct {
	conn *packet.Conn
	lock net.Listener
}

// arriving accepts the frames that arrive for a station or for all, without a VLAN tag, and
// not those that this machine sends (packet(7), sll_pkttype).
func arriving(station MAC) []bpf.Instruction {
	high, low := binary.BigEndian.Uint32(station[:]), uint32(binary.BigEndian.Uint16(station[4:]))
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 9},
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 7},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: high, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: math.MaxUint32, SkipTrue: 4},
		bpf.LoadAbsolute{Off: 4, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: low, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: math.MaxUint16, SkipTrue: 1},
		bpf.RetConstant{Val: math.MaxUint16},
		bpf.RetConstant{Val: 0},
	}
}

// largestFrame is the size of the largest frame of a station, without FCS, in bytes.
const largestFrame = 1514

// OpenFrames opens an interface for a station, and makes it promiscuous. Its MTU must be 1500
// at least. OpenFrames fails as Open does, or with ErrBusy if another station of this machine
// has the interface.
func OpenFrames(name string, station MAC) (*Frames, error) {
	i, err := interfaceOf(name, 0)
	if err != nil {
		return nil, err
	}
	if i.MTU < largestFrame-14 {
		return nil, fmt.Errorf("%w: %s has %d bytes, want at least %d", ErrMTU, name, i.MTU, largestFrame-14)
	}
	filter, err := bpf.Assemble(arriving(station))
	if err != nil {
		return nil, fmt.Errorf("ether: %w", err)
	}
	c, err := packet.Listen(i, packet.Raw, unix.ETH_P_ALL, &packet.Config{Filter: filter})
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w at %s: the program needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s", ErrForbidden, name, program())
	}
	if err != nil {
		return nil, fmt.Errorf("ether: %s: %w", name, err)
	}
	f := &Frames{conn: c}
	if err = c.SetPromiscuous(true); err != nil {
		err = fmt.Errorf("ether: %s: %w", name, err)
	} else {
		f.lock, err = claim(name, "a station")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return f, nil
}

// Read returns a frame, from its addresses on. One that no station takes is skipped. The
// checksum of a UDP datagram that the kernel has left to the interface is completed. An
// interface that goes down is no error.
func (f *Frames) Read(p []byte) (int, error) {
	for {
		n, _, err := f.conn.ReadFrom(p)
		switch {
		case errors.Is(err, unix.ENETDOWN):
		case err != nil:
			return 0, err
		case n <= largestFrame:
			complete(p[:n])
			return n, nil
		}
	}
}

// Write sends a frame. One that the system does not send counts as lost.
func (f *Frames) Write(p []byte) (int, error) {
	_, err := f.conn.WriteTo(p, &packet.Addr{HardwareAddr: p[:6]})
	for _, lost := range []error{unix.ENOBUFS, unix.EAGAIN, unix.ENETDOWN, unix.ENXIO, unix.EMSGSIZE} {
		if errors.Is(err, lost) {
			return len(p), nil
		}
	}
	return len(p), err
}

// SetReadDeadline sets the end of Read.
func (f *Frames) SetReadDeadline(t time.Time) error { return f.conn.SetReadDeadline(t) }

// Close ends Read.
func (f *Frames) Close() error {
	f.lock.Close()
	return f.conn.Close()
}

// complete completes the checksum of a UDP datagram of this machine. The kernel leaves it to
// the interface, and a virtual one passes it on as it is: the sum of the pseudo header (RFC 768,
// RFC 1071).
func complete(f []byte) {
	const ethernet, address, udp = 14, 4, 8
	if len(f) < ethernet+20 || binary.BigEndian.Uint16(f[12:]) != 0x0800 || f[ethernet+9] != unix.IPPROTO_UDP {
		return
	}
	packet := f[ethernet:]
	head, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
	if head < 20 || total < head+udp || total > len(packet) {
		return
	}
	datagram := packet[head:total]
	pseudo := sum(packet[12:12+2*address]) + unix.IPPROTO_UDP + uint32(len(datagram))
	if fold(pseudo) != binary.BigEndian.Uint16(datagram[6:]) {
		return
	}
	v := ^fold(sum(datagram))
	if v == 0 {
		v = 0xffff
	}
	binary.BigEndian.PutUint16(datagram[6:], v)
}

// sum returns the sum of the words of p, the last one filled with a zero.
func sum(p []byte) (s uint32) {
	for i, b := range p {
		s += uint32(b) << (8 * (1 - i&1))
	}
	return s
}

// fold adds the carries of a sum to it.
func fold(s uint32) uint16 {
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
