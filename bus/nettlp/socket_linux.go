package nettlp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/bus"
)

const (
	socketBuffer = 4 << 20 // of each socket in bytes; a full one loses datagrams
	perTurn      = 1 << 14 // datagrams taken from a socket before the others: more than it holds
	maxEvents    = 512     // more than there are sockets
)

// sockets are the UDP sockets of an end. send, query and wait are called by one goroutine
// at a time; interrupt and close at any time.
type sockets struct {
	poll int
	all  []socket
	at   map[int]int // index in all by port
	buf  []byte
	gone atomic.Bool // close was called

	using   sync.Mutex // held while the descriptors are in use; guards the fields below
	open    bool
	refused bool // a request of the host was refused

	waking sync.Mutex // guards wake
	wake   int        // event that ends wait; -1 after close
}

// A socket is bound to a port.
type socket struct{ fd, port int }

// openSockets opens sockets that are connected to the ports of the peer with the same
// numbers.
func openSockets(ends Ends, ports []int) (*sockets, error) {
	s := &sockets{at: map[int]int{}, buf: make([]byte, maxDatagram+1), open: true, wake: -1, poll: -1}
	var err error
	if s.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		s.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err == nil {
		err = s.watch(s.wake, -1)
	}
	for _, port := range ports {
		if err == nil {
			err = s.add(netip.AddrPortFrom(ends.Local, uint16(port)), netip.AddrPortFrom(ends.Peer, uint16(port)))
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// add opens a socket. A peer that is not valid is every peer.
func (s *sockets) add(local, peer netip.AddrPort) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("nettlp: socket: %w", err)
	}
	port := int(local.Port())
	s.at[port] = len(s.all)
	s.all = append(s.all, socket{fd, port})
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBuffer) != nil { // needs CAP_NET_ADMIN
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer) // at most net.core.rmem_max
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	if err = unix.Bind(fd, sockaddr(local)); err != nil {
		return fmt.Errorf("nettlp: port %d of %v: %w", port, local.Addr(), err)
	}
	if peer.IsValid() {
		if err = unix.Connect(fd, sockaddr(peer)); err != nil {
			return fmt.Errorf("nettlp: %v: %w", peer, err)
		}
	}
	return s.watch(fd, len(s.all)-1)
}

func sockaddr(a netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

func (s *sockets) watch(fd, index int) error {
	if err := unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)}); err != nil {
		return fmt.Errorf("nettlp: %w", err)
	}
	return nil
}

// send sends a datagram to the peer. One that the system does not send is lost.
func (s *sockets) send(port int, d []byte) {
	s.using.Lock()
	defer s.using.Unlock()
	i, ok := s.at[port]
	if !ok || !s.open {
		return
	}
	for range 2 {
		if err := unix.Sendto(s.all[i].fd, d, 0, nil); !errors.Is(err, unix.ECONNREFUSED) {
			return
		}
		s.refuse(port) // an earlier datagram was refused, and this one is not sent yet
	}
}

// reply sends a datagram from a port that is not connected.
func (s *sockets) reply(port int, to netip.AddrPort, d []byte) {
	s.using.Lock()
	defer s.using.Unlock()
	if i, ok := s.at[port]; ok && s.open {
		unix.Sendto(s.all[i].fd, d, 0, sockaddr(to))
	}
}

// wait calls each with the datagrams that have arrived, after at most the given time. It
// reports whether the peer has had no program at a port for requests of the host, and fails
// with bus.ErrClosed.
func (s *sockets) wait(timeout time.Duration, each func(port int, from netip.AddrPort, d []byte)) (refused bool, err error) {
	s.using.Lock()
	defer s.using.Unlock()
	if !s.open || s.gone.Load() {
		return false, bus.ErrClosed
	}
	var events [maxEvents]unix.EpollEvent
	n, err := unix.EpollWait(s.poll, events[:], milliseconds(timeout))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("nettlp: %w", err)
	}
	for _, e := range events[:max(n, 0)] {
		if e.Fd < 0 {
			unix.Read(s.wake, s.buf[:8])
			continue
		}
		s.take(&s.all[e.Fd], each)
	}
	return s.refused, nil
}

// refuse notes that the peer has no program at a port. A device in software opens those
// of its own requests only while it waits for an answer.
func (s *sockets) refuse(port int) { s.refused = s.refused || port >= HostPorts }

// milliseconds rounds a time up, since wait must not return without cause before it.
func milliseconds(d time.Duration) int {
	return int(min((max(d, 0)+time.Millisecond-1)/time.Millisecond, 1<<30))
}

// take takes the datagrams that wait at a socket.
func (s *sockets) take(k *socket, each func(port int, from netip.AddrPort, d []byte)) {
	for range perTurn {
		n, from, err := unix.Recvfrom(k.fd, s.buf, 0)
		switch {
		case errors.Is(err, unix.ECONNREFUSED):
			s.refuse(k.port)
			continue
		case err != nil:
			return
		}
		a, ok := from.(*unix.SockaddrInet4)
		if !ok {
			continue
		}
		each(k.port, netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), s.buf[:n])
	}
}

// interrupt ends the wait in progress, or else the next one.
func (s *sockets) interrupt() {
	s.waking.Lock()
	defer s.waking.Unlock()
	if s.wake >= 0 {
		unix.Write(s.wake, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// close ends wait and closes the sockets.
func (s *sockets) close() {
	s.gone.Store(true)
	s.interrupt()
	s.using.Lock()
	defer s.using.Unlock()
	s.waking.Lock()
	defer s.waking.Unlock()
	for _, k := range s.all {
		unix.Close(k.fd)
	}
	for _, fd := range []int{s.poll, s.wake} {
		if s.open && fd >= 0 {
			unix.Close(fd)
		}
	}
	s.all, s.open, s.wake = nil, false, -1
}

// localTo returns the address of this machine that the system uses towards another.
func localTo(peer netip.Addr) (netip.Addr, error) {
	c, err := net.Dial("udp4", netip.AddrPortFrom(peer, MessagePort).String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("nettlp: %v: %w", peer, err)
	}
	defer c.Close()
	a, _ := c.LocalAddr().(*net.UDPAddr)
	return a.AddrPort().Addr().Unmap(), nil
}

// closed reports whether close was called.
func (s *sockets) closed() bool { return s.gone.Load() }
