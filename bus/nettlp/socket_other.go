//go:build !linux

package nettlp

import (
	"net/netip"
	"time"
)

// sockets are not available on this system.
type sockets struct{}

func openSockets(Ends, []int) (*sockets, error) { return nil, ErrSystem }

func (*sockets) add(netip.AddrPort, netip.AddrPort) error { return ErrSystem }

func (*sockets) send(int, []byte) {}

func (*sockets) reply(int, netip.AddrPort, []byte) {}

func (*sockets) wait(time.Duration, func(int, netip.AddrPort, []byte)) (bool, error) {
	return false, ErrSystem
}

func (*sockets) interrupt() {}

func (*sockets) close() {}

func localTo(netip.Addr) (netip.Addr, error) { return netip.Addr{}, ErrSystem }

func (*sockets) closed() bool { return true }
