package ether

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"sync"
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
	conn   *packet.Conn
	mac    MAC
	name   string
	index  int
	mtu    int
	raw    syscall.RawConn
	closed atomic.Bool
	in     transfer // of ReadFrom
	lock   net.Listener

	mu  sync.Mutex
	out transfer // of WriteTo
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
		unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, buffer)
	})
	s := &Socket{conn: c, raw: raw, mac: MAC(i.HardwareAddr), name: name, index: i.Index, mtu: i.MTU}
	copy(s.out.head[6:], s.mac[:])
	binary.BigEndian.PutUint16(s.out.head[12:], uint16(etherType))
	return s, nil
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
		n, err := s.in.move(s.raw.Read, unix.Readv, p)
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

// A transfer moves one frame between the socket, and a head and a datagram in memory of
// their own.
type transfer struct {
	head  [headLen]byte
	parts [][]byte
	call  func(fd int, parts [][]byte) (int, error)
	step  func(fd uintptr) (done bool)
	n     int
	err   error
}

// move waits until call can move the frame.
func (t *transfer) move(wait func(func(uintptr) bool) error, call func(int, [][]byte) (int, error), p []byte) (int, error) {
	if t.step == nil {
		t.step, t.call = t.try, call
	}
	t.parts = append(t.parts[:0], t.head[:], p)
	if err := wait(t.step); err != nil {
		return 0, err
	}
	return t.n, t.err
}

func (t *transfer) try(fd uintptr) bool {
	for t.n, t.err = t.call(int(fd), t.parts); t.err == unix.EINTR; {
		t.n, t.err = t.call(int(fd), t.parts)
	}
	return t.err != unix.EAGAIN
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

// WriteTo sends a datagram. One that the system does not send now, because a queue is
// full or the interface is down, counts as lost, as on the line.
func (s *Socket) WriteTo(p []byte, to MAC) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	copy(s.out.head[:], to[:])
	binary.BigEndian.PutUint16(s.out.head[14:], uint16(len(p)))
	_, err := s.out.move(s.raw.Write, unix.Writev, p)
	if errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	return s.failed(err)
}

// SetReadDeadline sets the end of ReadFrom, also of one in progress.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }

// Claim reserves a use of the interface for this socket until Close or the end of the
// process: a MAC address, unlike an address with a port, cannot tell two programs apart.
// It fails with ErrBusy if another socket has it. Claim is called once at most.
func (s *Socket) Claim(use string) error {
	l, err := net.Listen("unix", "@hilgpu-eth-"+s.name+"-"+use) // an abstract name, see unix(7)
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("%w: another program uses %s as %s", ErrBusy, s.name, use)
	}
	if err != nil {
		return fmt.Errorf("ether: %s: %w", s.name, err)
	}
	s.lock = l
	return nil
}

// Close ends ReadFrom.
func (s *Socket) Close() error {
	s.closed.Store(true)
	if s.lock != nil {
		s.lock.Close()
	}
	return s.conn.Close()
}
