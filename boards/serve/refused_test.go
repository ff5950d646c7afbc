package serve_test

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// rightToken is that of the board and of the hosts with the right to use it.
const rightToken = "0123456789abcdef"

// A besieged board has connections that are of no use to it.
type besieged struct {
	name, network string
	idle          int // connections that say nothing
	board         *serve.Board
	addr          string
	connections   []net.Conn
	stop          chan struct{}
	crowd         sync.WaitGroup // hosts without the right, each refused again and again
	refused       atomic.Uint64
	wrong         atomic.Pointer[error] // of a host that is not refused
}

// sieges are the boards of TestSessionAmongRefusedHosts.
func sieges() []*besieged {
	return []*besieged{
		{name: "refused hosts over TCP", network: "tcp"},
		{name: "refused hosts over UDP", network: "udp"},
		{name: "refused hosts and 1000 idle connections", network: "tcp", idle: 1000},
	}
}

// begin serves the board, and makes the connections and the given number of hosts without
// the right.
func (s *besieged) begin(t testing.TB, hosts int) {
	l, err := serve.Listen(s.network + ":127.0.0.1:0")
	require.NoError(t, err)
	s.board, s.addr, _ = listenAt(t, l, serve.Options{Token: []byte(rightToken)})
	for range s.idle {
		c, err := net.Dial(s.network, s.addr)
		require.NoError(t, err)
		s.connections = append(s.connections, c)
	}
	s.stop = make(chan struct{})
	for i := range hosts {
		s.crowd.Go(func() { s.ask(i) })
	}
}

// ask asks for a session without the right token until the end.
func (s *besieged) ask(n int) {
	for {
		select {
		case <-s.stop:
			return
		default:
		}
		link, err := s.open([]string{"", "another token of a host"}[n%2])
		switch {
		case err == nil:
			link.Close()
			err = errors.New("a session without the right token")
			s.wrong.Store(&err)
		case errors.Is(err, datalink.ErrRefused):
			s.refused.Add(1)
		default:
			s.wrong.Store(&err)
		}
	}
}

// open opens a host with a token.
func (s *besieged) open(token string) (*rootport.RootPort, error) {
	return rootport.New(func() (rootport.Port, error) {
		c, err := net.Dial(s.network, s.addr)
		if err != nil {
			return nil, err
		}
		config := channel.Config{Link: datalink.Config{Role: datalink.Host, Token: []byte(token)}}
		if s.network == "udp" {
			config.Datagram = 1452
		}
		return channel.Open(c, config)
	}, bustest.NewHost(4096), rootport.Options{})
}

// sessions opens one session after another. Each begins when the one before has ended. It
// returns the times from an open to the answer of a first read.
func (s *besieged) sessions(t testing.TB, n int) (took []time.Duration) {
	for range n {
		refused := s.refused.Load()
		begun := time.Now()
		link, err := s.open(rightToken)
		require.NoError(t, err)
		_, err = link.ReadConfig(0)
		require.NoError(t, err)
		took = append(took, time.Since(begun))
		eventually(t, func() bool { return s.refused.Load() >= refused+4 }, "hosts are refused while another has the board")
		require.NoError(t, link.Close())
	}
	return took
}

// end ends the hosts and the connections.
func (s *besieged) end(t testing.TB) {
	close(s.stop)
	s.crowd.Wait()
	for _, c := range s.connections {
		c.Close()
	}
	if err := s.wrong.Load(); err != nil {
		assert.ErrorIs(t, *err, datalink.ErrRefused)
	}
}

// TestSessionAmongRefusedHosts: a host with the right token gets its session in a second
// after the session before, while hosts without the right ask again and again. The median
// counts, since the machine may be busy; BenchmarkRefusedHosts has the longest.
func TestSessionAmongRefusedHosts(t *testing.T) {
	for _, s := range sieges() {
		t.Run(s.name, func(t *testing.T) {
			s.begin(t, 4)
			took := s.sessions(t, 5)
			s.end(t)
			t.Logf("%d refused, sessions %v", s.refused.Load(), took)
			slices.Sort(took)
			assert.Less(t, took[2], time.Second, "from an open to the first answer")
			assert.Equal(t, uint64(5), s.board.Stats().Sessions)
		})
	}
}

// BenchmarkRefusedHosts measures sessions of hosts with the right token among hosts that
// are refused.
func BenchmarkRefusedHosts(b *testing.B) {
	for b.Loop() {
		for _, s := range sieges() {
			begun := time.Now()
			s.begin(b, 16)
			took := slices.Max(s.sessions(b, 50))
			rate := float64(s.refused.Load()) / time.Since(begun).Seconds()
			s.end(b)
			b.Logf("%s: %.0f refused per second", s.name, rate)
			bustest.Figure(b, "longest begin and first read, "+s.name, took.Seconds(), "s", took < time.Second, "less than 1")
		}
	}
}
