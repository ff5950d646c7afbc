package serve

import (
	"errors"
	"net"
	"strings"

	"github.com/hilgpu/hilgpu/bus/ether"
)

// An Ether listens for hosts at a network interface.
type Ether struct {
	*datagramServer
	socket *ether.Socket
}

// ListenEther listens at the interface with a name. It fails as ether.Open does.
func ListenEther(name string) (*Ether, error) {
	s, err := ether.Open(name, ether.Link, 0, SocketBuffer)
	if err != nil {
		return nil, err
	}
	if err := s.Claim("a board"); err != nil {
		s.Close()
		return nil, err
	}
	return &Ether{newDatagramServer(etherSocket{s}), s}, nil
}

// Selector returns eth:IFACE/ and the address of the interface. IFACE stands for the
// host's interface in the same network.
func (e *Ether) Selector() string { return "eth:IFACE/" + e.socket.MAC().String() }

// Open returns true.
func (e *Ether) Open() bool { return true }

// etherSocket implements socket.
type etherSocket struct{ *ether.Socket }

// etherAddress implements address.
type etherAddress struct{ ether.MAC }

func (a etherAddress) key() []byte { return a.MAC[:] }

func (s etherSocket) receive(p []byte) (int, address, error) {
	n, from, err := s.ReadFrom(p)
	return n, etherAddress{from}, err
}

func (s etherSocket) send(p []byte, to address) error {
	a, ok := to.(etherAddress)
	if !ok {
		return nil
	}
	if err := s.WriteTo(p, a.MAC); errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (s etherSocket) largest() int { return s.Largest() }

// isInterface reports whether text can be the name of a network interface.
func isInterface(text string) bool { return text != "" && !strings.ContainsAny(text, "/:? ") }
