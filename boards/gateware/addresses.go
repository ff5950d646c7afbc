package gateware

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"strconv"

	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// ErrAddress is wrapped by an AddressError.
var ErrAddress = errors.New("gateware: bad address")

// Addresses are those of a board on Ethernet, in text. An empty one is the usual one.
//
//	MAC   of one station, as 02:68:69:6c:00:05
//	IP    of one host, IPv4, as 10.0.0.5
//	Port  of UDP, 1 to 65535
type Addresses struct{ MAC, IP, Port string }

// An AddressError is an address that a board cannot have.
type AddressError struct {
	Option string // mac, ip or port
	Value  string
	Want   string
}

// Error describes the address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%v: %s=%s, want %s", ErrAddress, e.Option, e.Value, e.Want)
}

// Unwrap returns ErrAddress.
func (e *AddressError) Unwrap() error { return ErrAddress }

// At returns the board with other addresses, which are constants of its gateware. It fails
// with an AddressError, also if the board is not on Ethernet.
func (b *Board) At(a Addresses) (*Board, error) {
	out := *b
	for _, o := range []struct {
		name, value, want string
		set               func(p *ip.Params, value string) bool
	}{
		{"mac", a.MAC, "that of one station, as 02:68:69:6c:00:05", setMAC},
		{"ip", a.IP, "an IPv4 address of one host, as 10.0.0.5", setIP},
		{"port", a.Port, "a number from 1 to 65535", setPort},
	} {
		if o.value == "" {
			continue
		}
		if b.NewEther == nil {
			return nil, &AddressError{o.name, o.value, "a board on Ethernet"}
		}
		if !o.set(&out.Address, o.value) {
			return nil, &AddressError{o.name, o.value, o.want}
		}
	}
	return &out, nil
}

// setMAC reports whether the text is the address of one station (IEEE 802-2014 §8.2).
func setMAC(p *ip.Params, text string) bool {
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != len(p.MAC) || mac[0]&1 != 0 {
		return false
	}
	p.MAC = [6]byte(mac)
	return p.MAC != [6]byte{}
}

// setIP reports whether the text is the address of one host (RFC 1122 §3.2.1.3).
func setIP(p *ip.Params, text string) bool {
	at, err := netip.ParseAddr(text)
	if err != nil || !at.Is4() || at.As4()[0] == 0 || at.As4()[0] >= 224 || at.IsLoopback() {
		return false
	}
	p.IP = at.As4()
	return true
}

// setPort reports whether the text is a port.
func setPort(p *ip.Params, text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	p.Port = uint16(n)
	return err == nil && n != 0
}

// with returns the value of ID.BUILD for the addresses of the board, from that for the usual
// ones: the CRC-32 of that, the MAC address, the IP address and the port. So a program without
// the source knows it too.
func (b *Board) with(build uint32) uint32 {
	if b.Address == b.usual {
		return build
	}
	a := b.Address
	p := binary.BigEndian.AppendUint32(nil, build)
	p = append(append(p, a.MAC[:]...), a.IP[:]...)
	return max(1, crc32.ChecksumIEEE(binary.BigEndian.AppendUint16(p, a.Port)))
}
