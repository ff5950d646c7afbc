package serve

import (
	"context"
	"fmt"
	"net"

	"github.com/hilgpu/hilgpu/bus/discovery"
)

// A discoverable is a listener whose boards answer to hosts that look for boards.
type discoverable interface {
	// responder returns what answers, and the scheme and the port that it names.
	responder() (r *discovery.Responder, scheme string, port int, err error)
}

func (u *UDP) responder() (*discovery.Responder, string, int, error) {
	at := u.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	r, err := discovery.ListenUDP(at.Addr())
	return r, "udp", int(at.Port()), err
}

func (t *TCP) responder() (*discovery.Responder, string, int, error) {
	at := t.listener.Addr().(*net.TCPAddr).AddrPort()
	r, err := discovery.ListenUDP(at.Addr())
	return r, "tcp", int(at.Port()), err
}

func (e *Ether) responder() (*discovery.Responder, string, int, error) {
	r, err := discovery.ListenEther(e.socket.Interface())
	return r, "eth", 0, err
}

// discover lets hosts find the board until ctx is done or stop is called. A board that
// cannot be found works without it.
func (s Station) discover(ctx context.Context) (stop func()) {
	l, ok := s.Listener.(discoverable)
	if !ok || s.Board == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, scheme, port, err := l.responder()
		if err == nil {
			err = r.Serve(ctx, func() discovery.Board { return s.Board.describe(scheme, port) })
		}
		if log := s.Board.opt.Log; log != nil && ctx.Err() == nil {
			fmt.Fprintf(log, "board %s: board list --discover does not find it: %v\n", s.Board.opt.Name, err)
		}
	}()
	return func() { cancel(); <-ended }
}

// describe returns the board as it answers.
func (b *Board) describe(scheme string, port int) discovery.Board {
	d := discovery.Board{Kind: discovery.Emulator, Scheme: scheme, Port: port, Token: len(b.opt.Token) > 0, MapHash: b.opt.MapHash, Name: b.opt.Name}
	if h := b.holder.Load(); h != nil {
		d.Holder = *h
	}
	return d
}
