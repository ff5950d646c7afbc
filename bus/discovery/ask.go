package discovery

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hilgpu/hilgpu/bus/ether"
)

// A Found is a board that has answered.
type Found struct {
	Board
	Selector string // by which this machine opens it
}

const (
	questions = 3 // in each network, since one can be lost
	askEvery  = 100 * time.Millisecond
)

// Ask asks in all networks of this machine, for less than a second, and returns the
// boards in the order of their selectors. skipped says which networks it could not ask,
// and why.
func Ask() (found []Found, skipped []error) {
	var word [4]byte
	rand.Read(word[:]) // never fails
	nonce := binary.BigEndian.Uint32(word[:])
	asks := []func() ([]Found, error){func() ([]Found, error) { return askUDP(nonce) }}
	for _, name := range ether.Interfaces() {
		asks = append(asks, func() ([]Found, error) { return askEther(nonce, name) })
	}
	type result struct {
		found []Found
		err   error
	}
	results := make([]chan result, len(asks))
	for i, ask := range asks {
		results[i] = make(chan result, 1)
		go func() {
			found, err := ask()
			results[i] <- result{found, err}
		}()
	}
	all := map[string]Found{} // a board can answer in several networks
	for _, c := range results {
		r := <-c
		for _, f := range r.found {
			all[f.Selector] = f
		}
		if r.err != nil && !errors.Is(r.err, ether.ErrDown) && !errors.Is(r.err, ether.ErrSystem) {
			skipped = append(skipped, r.err)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(all)) {
		found = append(found, all[s])
	}
	return found, skipped
}

// askUDP asks all IPv4 networks of this machine.
func askUDP(nonce uint32) ([]Found, error) {
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	defer c.Close()
	to := broadcasts()
	return collect(nonce, c.SetReadDeadline, func(question []byte) {
		for _, a := range to {
			c.WriteToUDPAddrPort(question, netip.AddrPortFrom(a, Port)) // a network without a route has no boards
		}
	}, func(p []byte) (int, func(Board) string, error) {
		n, from, err := c.ReadFromUDPAddrPort(p)
		return n, func(b Board) string {
			if b.Scheme == "eth" {
				return "" // not in this network
			}
			return b.Scheme + ":" + net.JoinHostPort(from.Addr().Unmap().String(), strconv.Itoa(b.Port))
		}, err
	})
}

// askEther asks in the Ethernet of an interface.
func askEther(nonce uint32, name string) ([]Found, error) {
	s, err := ether.Open(name, ether.Discovery, 0, 1<<16)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return collect(nonce, s.SetReadDeadline, func(question []byte) {
		s.WriteTo(question, ether.Broadcast)
	}, func(p []byte) (int, func(Board) string, error) {
		n, from, err := s.ReadFrom(p)
		return n, func(b Board) string {
			if b.Scheme != "eth" {
				return ""
			}
			return "eth:" + name + "/" + from.String()
		}, err
	})
}

// collect asks several times and gathers the answers. selector returns the selector of
// the board that sent a datagram, or "".
func collect(nonce uint32, deadline func(time.Time) error, ask func(question []byte),
	receive func(p []byte) (n int, selector func(Board) string, err error)) (found []Found, err error) {
	question := AppendQuestion(nil, nonce)
	p := make([]byte, 2*QuestionLen)
	for range questions {
		ask(question)
		if err := deadline(time.Now().Add(askEvery)); err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
		for {
			n, selector, err := receive(p)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("discovery: %w", err)
			}
			if b, ok := ParseAnswer(p[:n], nonce); ok && selector(b) != "" {
				found = append(found, Found{b, selector(b)})
			}
		}
	}
	return found, nil
}

// broadcasts returns the broadcast addresses of the IPv4 networks of this machine.
func broadcasts() []netip.Addr {
	all := []netip.Addr{loopbackBroadcast}
	interfaces, err := net.Interfaces()
	if err != nil {
		return all
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagBroadcast == 0 {
			continue
		}
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if ok && n.IP.To4() != nil {
				all = append(all, broadcast(n))
			}
		}
	}
	return all
}

// broadcast returns the address of all hosts of an IPv4 network.
func broadcast(n *net.IPNet) netip.Addr {
	ip, mask := n.IP.To4(), n.Mask
	var b [4]byte
	for i := range b {
		b[i] = ip[i] | ^mask[len(mask)-4+i]
	}
	return netip.AddrFrom4(b)
}
