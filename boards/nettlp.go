package boards

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// defaultAperture is the VRAM of the emulator in bytes.
const defaultAperture = 16 << 20

func netTLP() scheme {
	return scheme{
		name: "nettlp", place: "HOST", doc: "a device in software built on libtlp, or a board served with --listen nettlp:, without acknowledgement: " +
			"a write that is lost or repeated is not noticed",
		only: []string{"linux"}, notice: nettlp.Notice,
		open: openNetTLP, options: append(remoteOptions(), []option{
			{name: "local", doc: "address of this machine towards the device, that of the route by default"},
			{name: "quarantine", doc: "milliseconds before the tag of an unanswered read is used again, 10000 by default"},
			{name: "bar2", doc: "size of BAR 2 of the device, its VRAM: a power of two from 4KiB to 128MiB, 16MiB by default; 0 for none"},
		}...),
	}
}

func openNetTLP(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	ms, quarantine, opt := uint64(1000), uint64(nettlp.DefaultQuarantine/time.Millisecond), nettlp.Options{Aperture: defaultAperture}
	v.number("timeout", &ms, 1, 3_600_000)
	v.number("quarantine", &quarantine, 1, 3_600_000)
	v.bytes("bar2", &opt.Aperture, 0, nettlp.MaxAperture)
	if bits.OnesCount64(opt.Aperture) > 1 || opt.Aperture != 0 && opt.Aperture < 4096 {
		v.bad("bar2", "a power of two from 4KiB to 128MiB, or 0")
	}
	ends := nettlp.Ends{}
	var err error
	if v.Has("local") {
		if ends.Local, err = netip.ParseAddr(v.Get("local")); err != nil || !ends.Local.Is4() {
			v.bad("local", "an IPv4 address")
		}
	}
	if v.err != nil {
		return nil, nil, v.err
	}
	if ends.Peer, err = ipv4(o.place); err != nil {
		return nil, nil, err
	}
	opt.Timeout, opt.Quarantine = time.Duration(ms)*time.Millisecond, time.Duration(quarantine)*time.Millisecond
	if o.Capture != nil {
		record := o.Capture.WallObserver()
		opt.Packet = func(sent bool, at time.Duration, packet []byte) { record(!sent, at, packet) }
	}
	return dialNetTLP(ends, opt, o.host)
}

// ipv4 returns the IPv4 address of a host.
func ipv4(place string) (netip.Addr, error) {
	a, err := net.ResolveIPAddr("ip4", place)
	if err != nil || place == "" {
		return netip.Addr{}, fmt.Errorf("%w: %s, want an IPv4 address or the name of a host", errPlace, place)
	}
	ip, _ := netip.AddrFromSlice(a.IP.To4())
	return ip, nil
}

// dialNetTLP opens the root port.
func dialNetTLP(ends nettlp.Ends, opt nettlp.Options, host bus.Host) (bus.Link, bus.Clock, error) {
	n := &netTLPLink{}
	dial := func() (rootport.Port, error) {
		p, err := nettlp.Open(ends, opt)
		switch {
		case errors.Is(err, nettlp.ErrAddress), errors.Is(err, nettlp.ErrSystem):
			return nil, err
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("%w: %w: another program of this machine uses NetTLP: end it, or give local=", bus.ErrLinkDown, err)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return nil, fmt.Errorf("%w: %w: this machine does not have the address", bus.ErrLinkDown, err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", bus.ErrLinkDown, err)
		}
		n.port.Store(p)
		return p, nil
	}
	var err error
	n.RootPort, err = rootport.New(dial, host, rootport.Options{
		Timeout: opt.Timeout, Quarantine: opt.Quarantine, Tags: 16, MaxPayload: 4096, ServeAlways: true,
	})
	if err != nil {
		return nil, nil, err
	}
	return n, n, nil
}

// netTLPLink is the link to a device in software.
type netTLPLink struct {
	*rootport.RootPort
	port atomic.Pointer[nettlp.Port] // of the last session
}

// BytesPerSecond implements Rated: the assumed rate of a stream, since each read of the
// device takes a round trip through two programs.
func (n *netTLPLink) BytesPerSecond() uint64 { return streamRate }

// Counters returns the counters of the link.
func (n *netTLPLink) Counters() []Counter {
	s := n.port.Load().Stats()
	return append(portCounters(n.RootPort),
		Counter{"datagrams_to_device", s.Sent},
		Counter{"datagrams_from_device", s.Received},
		Counter{"datagrams_refused", s.All()})
}
