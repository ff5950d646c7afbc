package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// wantNetTLP describes the places of nettlp:.
const wantNetTLP = "nettlp:ADDR?local=IP&host=IP, or with bar=ADDRESS&id=BB:DD.F in place of host"

// A NetTLP serves a board as a device in software, to the adapter or the host at an
// address.
type NetTLP struct {
	device *nettlp.Device
	ends   nettlp.Ends
}

// ListenNetTLP opens the ports of a device. at is the address of the adapter, and after a
// question mark the options
//
//	local       address of this machine
//	host        address of the PC of the adapter, whose driver tells the address of BAR 4
//	bar         address of BAR 4, a multiple of 256 MiB; then no question is asked
//	id          bus, device and function of the adapter, with bar
//	timeout     milliseconds after which a read without an answer fails
//	quarantine  milliseconds before its tag is used again
//
// It fails with ErrOptions, or as nettlp.OpenDevice does.
func ListenNetTLP(at string) (*NetTLP, error) {
	ends, o, err := parseNetTLP(at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	d, err := nettlp.OpenDevice(ends, o)
	if errors.Is(err, nettlp.ErrAddress) {
		err = fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if err != nil {
		return nil, err
	}
	return &NetTLP{d, d.Ends()}, nil
}

// parseNetTLP parses the argument of ListenNetTLP.
func parseNetTLP(at string) (ends nettlp.Ends, o nettlp.DeviceOptions, err error) {
	text, query, _ := strings.Cut(at, "?")
	if ends.Peer, err = resolve(text); err != nil {
		return ends, o, err
	}
	given, err := url.ParseQuery(query)
	if err != nil {
		return ends, o, fmt.Errorf("options %q: %w", query, err)
	}
	for name, v := range given {
		switch name {
		case "local":
			ends.Local, err = resolve(v[0])
		case "host":
			o.Host, err = resolve(v[0])
		case "bar":
			o.Window, err = strconv.ParseUint(strings.TrimPrefix(v[0], "0x"), 16, 64)
		case "id":
			o.ID, err = parseID(v[0])
		case "timeout":
			o.Timeout, err = milliseconds(v[0])
		case "quarantine":
			o.Quarantine, err = milliseconds(v[0])
		default:
			err = errors.New("unknown option")
		}
		if err != nil {
			return ends, o, fmt.Errorf("%s=%s: %w", name, v[0], err)
		}
	}
	if _, bar := given["bar"]; bar != given.Has("id") || bar && (given.Has("host") || o.Window == 0) {
		return ends, o, errors.New("bar= needs id= and excludes host=")
	}
	return ends, o, nil
}

// resolve returns the IPv4 address of a host.
func resolve(host string) (netip.Addr, error) {
	a, err := net.ResolveIPAddr("ip4", host)
	if err != nil || host == "" {
		return netip.Addr{}, fmt.Errorf("host %q, want an IPv4 address or the name of a host", host)
	}
	ip, _ := netip.AddrFromSlice(a.IP.To4())
	return ip, nil
}

// parseID parses a function as lspci prints it.
func parseID(text string) (tlp.ID, error) {
	var b, d, f uint8
	n, err := fmt.Sscanf(text, "%02x:%02x.%1x", &b, &d, &f)
	if err != nil || n != 3 || d > 31 || f != 0 {
		return 0, errors.New("want function 0 of a device, such as 03:00.0")
	}
	return tlp.MakeID(b, d, f), nil
}

// milliseconds parses a time.
func milliseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < 1 || n > 3_600_000 {
		return 0, errors.New("want 1 to 3600000 milliseconds")
	}
	return time.Duration(n) * time.Millisecond, nil
}

// isNetTLP reports whether a place is that of a device.
func isNetTLP(text string) bool {
	_, _, err := parseNetTLP(text)
	return err == nil
}

// Selector returns the selector with which a host in another hilgpu opens the board.
func (n *NetTLP) Selector() string {
	return "nettlp:" + n.ends.Local.String()
}

// Open reports whether a host on another machine can reach the board.
func (n *NetTLP) Open() bool { return !n.ends.Local.IsLoopback() }

// Refused returns the number of datagrams that were refused.
func (n *NetTLP) Refused() uint64 { return n.device.Stats().All() }

// Close ends Serve.
func (n *NetTLP) Close() error { return n.device.Close() }

// Serve serves the board until ctx is done, or the device fails.
func (n *NetTLP) Serve(ctx context.Context, b *Board) error {
	b.serving.Lock()
	defer b.serving.Unlock()
	l := netTLPLine{n.device}
	b.attach(l)
	b.single, b.turn, b.over = false, nil, false
	err := b.serveChannel(ctx, l)
	if s := n.device.Stats(); s.All() != 0 && b.opt.Log != nil {
		fmt.Fprintf(b.opt.Log, "board: %d datagrams refused, the last: %s\n", s.All(), s.Last)
	}
	return err
}

// netTLPLine is a device as a line.
type netTLPLine struct{ *nettlp.Device }

// Receive reports a session, and the end of the device, as a channel does.
func (l netTLPLine) Receive(timeout time.Duration) ([]byte, error) {
	p, err := l.Device.Receive(timeout)
	switch {
	case errors.Is(err, nettlp.ErrSession):
		return nil, fmt.Errorf("%w: %w", channel.ErrSession, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
	}
	return p, nil
}

// Offering returns false: there is no handshake.
func (netTLPLine) Offering() bool { return false }

// Notice returns nettlp.Notice.
func (n *NetTLP) Notice() string { return nettlp.Notice }
