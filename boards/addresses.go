package boards

import (
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/bus/ether"
)

// neighbours is the file in which Linux has the addresses that ARP has found.
const neighbours = "/proc/net/arp"

// Addresses returns what the transport of a selector knows of the addresses of a board at an
// Ethernet: those in the selector, that of the gateware at its pins, and those that ARP has
// found since the board was used. An address that is not known is empty; all are for a board
// that is not at an Ethernet.
func Addresses(selector string) gateware.Addresses {
	a := known(selector)
	if table, err := os.ReadFile(neighbours); err == nil {
		addNeighbour(&a, string(table))
	}
	return a
}

// known returns the addresses in a selector, and those of gateware at its pins.
func known(selector string) (a gateware.Addresses) {
	name, rest, _ := strings.Cut(selector, ":")
	place, query, _ := strings.Cut(rest, "?")
	switch name {
	case "pins":
		return addressesOf(place, query)
	case "udp":
		at, err := net.ResolveUDPAddr("udp", place)
		if err != nil || at.IP.To4() == nil || at.IP.IsLoopback() {
			return a // a loopback address is not that of a station
		}
		a.IP, a.Port = at.IP.String(), strconv.Itoa(at.Port)
	case "eth":
		_, text, _ := strings.Cut(place, "/")
		if mac, err := ether.ParseMAC(text); err == nil {
			a.MAC = mac.String()
		}
	}
	return a
}

// addressesOf returns the addresses of the gateware of a selector pins.
func addressesOf(place, query string) (a gateware.Addresses) {
	board, err := gateware.Find(place)
	given, bad := url.ParseQuery(query)
	if err != nil || bad != nil || board.NewEther == nil {
		return a
	}
	board, err = board.At(gateware.Addresses{MAC: given.Get("mac"), IP: given.Get("ip"), Port: given.Get("port")})
	if err != nil {
		return a
	}
	at := board.Address
	return gateware.Addresses{MAC: ether.MAC(at.MAC).String(), IP: net.IP(at.IP[:]).String(), Port: strconv.Itoa(int(at.Port))}
}

// addNeighbour adds the MAC address of an IP address, or the other way round, from the table
// of Linux: a line of titles, and in each other line the IP address, the type of hardware, flags
// and the MAC address. Bit 1 of the flags is set if the line is complete.
func addNeighbour(a *gateware.Addresses, table string) {
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		if flags, err := strconv.ParseUint(f[2], 0, 32); err != nil || flags&2 == 0 {
			continue
		}
		if a.MAC == "" && f[0] == a.IP {
			a.MAC = f[3]
		} else if a.IP == "" && f[3] == a.MAC {
			a.IP = f[0]
		}
	}
}
