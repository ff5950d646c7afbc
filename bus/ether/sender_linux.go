package ether

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// sendTimeout bounds a send whose interface has no room for a frame.
const sendTimeout = 100 * time.Millisecond

// A sender is a socket that sends frames and receives none. The poller of the Go runtime
// does not know it: the system tells a poller after each frame that a socket can send
// again, which would wake a thread for nothing.
type sender struct {
	mu    sync.Mutex // guards the fields below
	fd    int        // -1 after close
	frame []byte     // the last frame; its memory is reused
}

// openSender returns the sender of frames from an address at an interface.
func openSender(at *net.Interface, etherType, buffer int) (*sender, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // protocol 0 receives nothing, see packet(7)
	if err != nil {
		return nil, fmt.Errorf("ether: %s: %w", at.Name, err)
	}
	timeout := unix.NsecToTimeval(int64(sendTimeout))
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: at.Index})
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("ether: %s: %w", at.Name, err)
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, buffer) // a smaller buffer costs time only
	s := &sender{fd: fd, frame: make([]byte, headLen)}
	copy(s.frame[6:], at.HardwareAddr)
	binary.BigEndian.PutUint16(s.frame[12:], uint16(etherType))
	return s, nil
}

// send sends a datagram in one frame. It fails with net.ErrClosed after close, or with the
// error of the system.
//
// The copy saves time. If the head and the datagram are two parts, the system copies the
// datagram to an odd address, which takes longer than both copies of a frame in one piece.
func (s *sender) send(p []byte, to MAC) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	s.frame = append(s.frame[:headLen], p...)
	copy(s.frame, to[:])
	binary.BigEndian.PutUint16(s.frame[14:], uint16(len(p)))
	for {
		if _, err := unix.Write(s.fd, s.frame); err != unix.EINTR {
			return err
		}
	}
}

func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd >= 0 {
		unix.Close(s.fd)
	}
	s.fd = -1
}
