// Package ether carries datagrams in Ethernet frames, without IP. A [Socket] sends and
// receives the datagrams of one EtherType at a network interface. It is available on
// Linux, where it is an AF_PACKET socket, see packet(7).
//
// The payload of a frame begins with the length of the datagram in bytes, a big-endian
// word of 16 bits, since Ethernet pads short frames with zeros.
package ether

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// EtherTypes of this project: those for local experiments (IEEE Std 802-2014, section
// 9.2.4). A network can use them for something else too. A frame that is not of this
// project fails the check of its link.
const (
	Link      = 0x88b5 // frames of a link
	Discovery = 0x88b6 // questions who is there, and answers
)

// Limits of the size of a frame's payload, in bytes.
const (
	MinMTU = 576
	MaxMTU = 9216
)

// prefixLen is the size of the length before a datagram, in bytes.
const prefixLen = 2

// Errors of Open, Claim and ParseMAC.
var (
	ErrInterface = errors.New("ether: no such Ethernet interface")
	ErrDown      = errors.New("ether: the interface is down")
	ErrForbidden = errors.New("ether: not allowed")
	ErrBusy      = errors.New("ether: busy")
	ErrMAC       = errors.New("ether: bad MAC address")
	ErrMTU       = errors.New("ether: bad MTU")
	ErrSystem    = errors.New("ether: raw Ethernet is available on Linux only")
)

// A MAC is the address of a network interface.
type MAC [6]byte

// Broadcast is the address of all interfaces.
var Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// ParseMAC reads six bytes as 02:00:00:00:00:01, or separated by - or in groups of four
// digits with points. The address must be that of one interface. ParseMAC fails with
// ErrMAC.
func ParseMAC(text string) (MAC, error) {
	b, err := net.ParseMAC(text)
	switch {
	case err != nil || len(b) != len(MAC{}):
		return MAC{}, fmt.Errorf("%w: %q, want six bytes such as 02:00:00:00:00:01", ErrMAC, text)
	case b[0]&1 != 0:
		return MAC{}, fmt.Errorf("%w: %s is the address of a group, want that of one interface", ErrMAC, text)
	case MAC(b) == MAC{}:
		return MAC{}, fmt.Errorf("%w: %s is the address of no interface", ErrMAC, text)
	}
	return MAC(b), nil
}

// String returns the address as 02:00:00:00:00:01.
func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// Network returns "ether".
func (m MAC) Network() string { return "ether" }

// interfaceOf returns an interface that is up. An mtu other than 0 limits that of the
// interface.
func interfaceOf(name string, mtu int) (*net.Interface, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %s", ErrInterface, name, known())
	}
	most := min(i.MTU, MaxMTU)
	switch {
	case len(i.HardwareAddr) != len(MAC{}):
		return nil, fmt.Errorf("%w: %s carries no Ethernet: %s", ErrInterface, name, known())
	case i.Flags&net.FlagUp == 0:
		return nil, fmt.Errorf("%w: %s: ip link set %s up", ErrDown, name, name)
	case most < MinMTU:
		return nil, fmt.Errorf("%w: %s has %d bytes, want at least %d", ErrMTU, name, i.MTU, MinMTU)
	case mtu != 0 && (mtu < MinMTU || mtu > most):
		return nil, fmt.Errorf("%w: %d bytes, want %d to %d, which %s carries", ErrMTU, mtu, MinMTU, most, name)
	}
	if i.MTU = most; mtu != 0 {
		i.MTU = mtu
	}
	return i, nil
}

// known names the Ethernet interfaces of this machine.
func known() string {
	all := Interfaces()
	if len(all) == 0 {
		return "this machine has no Ethernet interface"
	}
	return "this machine has " + strings.Join(all, ", ")
}

// Interfaces returns the names of the Ethernet interfaces of this machine.
func Interfaces() []string {
	all, err := net.Interfaces()
	if err != nil {
		return nil // the system tells nobody
	}
	var names []string
	for _, i := range all {
		if len(i.HardwareAddr) == len(MAC{}) {
			names = append(names, i.Name)
		}
	}
	return names
}
