package discovery

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/hilgpu/hilgpu/bus/ether"
)

// A Responder answers questions in one network.
type Responder struct {
	receive func(p []byte) (n int, reply func(answer []byte), err error)
	close   func()
}

// ListenUDP answers questions on UDP that concern a board at an address of this machine.
// Boards at a loopback address are found by this machine only. ListenUDP fails for an
// address that IPv4 does not reach: IPv6 has no broadcast.
func ListenUDP(at netip.Addr) (*Responder, error) {
	if !at.Unmap().Is4() && !at.IsUnspecified() {
		return nil, fmt.Errorf("discovery: boards at an IPv6 address are not found: %v", at)
	}
	where := netip.AddrPortFrom(netip.IPv4Unspecified(), Port)
	if at.IsLoopback() {
		where = netip.AddrPortFrom(loopbackBroadcast, Port)
	}
	config := net.ListenConfig{Control: share}
	in, err := config.ListenPacket(context.Background(), "udp4", where.String())
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	from := net.UDPAddr{}
	if at.Unmap().Is4() && !at.IsUnspecified() {
		from.IP = at.Unmap().AsSlice()
	}
	out, err := net.ListenUDP("udp4", &from) // answers cannot come from a broadcast address
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("discovery: %w", err)
	}
	return &Responder{
		receive: func(p []byte) (int, func([]byte), error) {
			n, who, err := in.ReadFrom(p)
			return n, func(answer []byte) { out.WriteTo(answer, who) }, err // a lost answer is asked for again
		},
		close: func() { in.Close(); out.Close() },
	}, nil
}

// loopbackBroadcast is the broadcast address of the loopback interface.
var loopbackBroadcast = netip.AddrFrom4([4]byte{127, 255, 255, 255})

// ListenEther answers questions in the Ethernet of an interface.
func ListenEther(name string) (*Responder, error) {
	s, err := ether.Open(name, ether.Discovery, 0, 1<<16)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	return &Responder{
		receive: func(p []byte) (int, func([]byte), error) {
			n, who, err := s.ReadFrom(p)
			return n, func(answer []byte) { s.WriteTo(answer, who) }, err
		},
		close: func() { s.Close() },
	}, nil
}

// Serve answers with what describe returns, until ctx is done or the network fails. It
// closes the responder.
func (r *Responder) Serve(ctx context.Context, describe func() Board) error {
	stop := context.AfterFunc(ctx, r.close)
	defer stop()
	defer r.close()
	p := make([]byte, 2*QuestionLen)
	for {
		n, reply, err := r.receive(p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case tooLong(err):
			continue
		case err != nil:
			return fmt.Errorf("discovery: %w", err)
		}
		if nonce, ok := ParseQuestion(p[:n]); ok {
			reply(AppendAnswer(nil, nonce, describe()))
		}
	}
}
