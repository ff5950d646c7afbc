package ether

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A Socket sends and receives datagrams. Only one goroutine at a time may call ReadFrom.
// The other methods are safe for concurrent use.
type Socket struct {
	conn   *packet.Conn // receives
	sender *sender
	mac    MAC
	name   string
	index  int
	mtu    int
	raw    syscall.RawConn
	closed atomic.Bool
	in     receiver // of ReadFrom
	lock   net.Listener
}

// toUs accepts frames for this interface, for groups and for all. An interface in
// promiscuous mode receives those of others too (packet(7), sll_pkttype).
var toUs = []bpf.Instruction{
	bpf.LoadExtension{Num: bpf.ExtType},
	bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: unix.PACKET_MULTICAST, SkipTrue: 1},
	bpf.RetConstant{Val: math.MaxUint16},
	bpf.RetConstant{Val: 0},
}

// Open opens a socket at an interface for one EtherType. An mtu of 0 is that of the
// interface, at most MaxMTU; buffer is the size of the receive buffer in bytes. Open
// fails with ErrInterface, ErrDown, ErrMTU, or ErrForbidden.
func Open(name string, etherType, mtu, buffer int) (*Socket, error) {
	i, err := interfaceOf(name, mtu)
	if err != nil {
		return nil, err
	}
	filter, err := bpf.Assemble(toUs)
	if err != nil {
		return nil, fmt.Errorf("ether: %w", err)
	}
	c, err := packet.Listen(i, packet.Raw, etherType, &packet.Config{Filter: filter})
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w at %s: the program needs CAP_NET_RAW: sudo setcap cap_net_raw+ep %s", ErrForbidden, name, program())
	}
	if err != nil {
		return nil, fmt.Errorf("ether: %s: %w", name, err)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("ether: %s: %w", name, err)
	}
	raw.Control(func(fd uintptr) { // a smaller buffer costs replays only
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, buffer)
	})
	out, err := openSender(i, etherType, buffer)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Socket{conn: c, sender: out, raw: raw, mac: MAC(i.HardwareAddr), name: name, index: i.Index, mtu: i.MTU}, nil
}

// program returns the path of this program for a command that grants it a capability.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Interface returns the name of the interface.
func (s *Socket) Interface() string { return s.name }

// MAC returns the address of the interface.
func (s *Socket) MAC() MAC { return s.mac }

// Largest returns the size of the largest datagram, in bytes.
func (s *Socket) Largest() int { return s.mtu - prefixLen }

// ReadFrom returns a datagram and the address that sent it. Frames without a whole
// datagram of at most len(p) bytes are skipped. An interface that goes down is no error;
// one that is removed is ErrInterface.
func (s *Socket) ReadFrom(p []byte) (int, MAC, error) {
	for {
		n, err := s.in.receive(s.raw, p)
		switch {
		case errors.Is(err, unix.ENETDOWN): // said once when the interface goes down, and when it is removed
			if !s.exists() {
				return 0, MAC{}, fmt.Errorf("%w: %s was removed", ErrInterface, s.name)
			}
		case err != nil:
			return 0, MAC{}, s.failed(err)
		case n < headLen:
		default:
			if size := int(binary.BigEndian.Uint16(s.in.head[14:])); size <= n-headLen {
				return size, MAC(s.in.head[6:12]), nil
			}
		}
	}
}

// failed returns the error of a call: net.ErrClosed after Close.
func (s *Socket) failed(err error) error {
	if s.closed.Load() {
		return net.ErrClosed
	}
	return err
}

// headLen is the size of what precedes the datagram in a frame: two addresses, the
// EtherType and the length of the datagram.
const headLen = 14 + prefixLen

// A receiver receives frames: the head of each into memory of its own, the datagram into
// that of the caller.
type receiver struct {
	head  [headLen]byte
	parts [][]byte
	step  func(fd uintptr) (done bool)
	n     int
	err   error
}

// receive waits for a frame and returns its size.
func (r *receiver) receive(from syscall.RawConn, p []byte) (int, error) {
	if r.step == nil {
		r.step = r.try
	}
	r.parts = append(r.parts[:0], r.head[:], p)
	if err := from.Read(r.step); err != nil {
		return 0, err
	}
	return r.n, r.err
}

func (r *receiver) try(fd uintptr) bool {
	for r.n, r.err = unix.Readv(int(fd), r.parts); r.err == unix.EINTR; {
		r.n, r.err = unix.Readv(int(fd), r.parts)
	}
	return r.err != unix.EAGAIN
}

// exists reports whether the interface is still there, see netdevice(7).
func (s *Socket) exists() bool {
	name, err := unix.NewIfreq(s.name)
	if err != nil {
		return false
	}
	var found error
	err = s.raw.Control(func(fd uintptr) { found = unix.IoctlIfreq(int(fd), unix.SIOCGIFINDEX, name) })
	return err == nil && found == nil && int(name.Uint32()) == s.index
}

// WriteTo sends a datagram. One that the system does not send in time, because a queue is
// full or the interface is down, counts as lost, as on the line.
func (s *Socket) WriteTo(p []byte, to MAC) error {
	err := s.sender.send(p, to)
	for _, lost := range []error{unix.ENOBUFS, unix.EAGAIN, unix.ENETDOWN, unix.ENXIO} {
		if err == lost {
			return nil
		}
	}
	return err
}

// SetReadDeadline sets the end of ReadFrom, also of one in progress.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }

// Claim reserves a use of the interface for this socket until Close or the end of the
// process: a MAC address, unlike an address with a port, cannot tell two programs apart.
// It fails with ErrBusy if another socket has it. Claim is called once at most.
func (s *Socket) Claim(use string) error {
	var err error
	s.lock, err = claim(s.name, use)
	return err
}

// claim reserves a use of an interface until the listener is closed.
func claim(name, use string) (net.Listener, error) {
	l, err := net.Listen("unix", "@hilgpu-eth-"+name+"-"+use) // an abstract name, see unix(7)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another program uses %s as %s", ErrBusy, name, use)
	}
	if err != nil {
		return nil, fmt.Errorf("ether: %s: %w", name, err)
	}
	return l, nil
}

// Close ends ReadFrom.
func (s *Socket) Close() error {
	s.closed.Store(true)
	if s.lock != nil {
		s.lock.Close()
	}
	s.sender.close()
	return s.conn.Close()
}
