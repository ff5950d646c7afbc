package eth

import (
	"fmt"
	"testing"

	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/require"
)

// exchange delivers a datagram of a host, with host as its flag, and sends one, which must go
// to a host.
func (s *station) exchange(f []byte, host bool, to func([]byte) []byte) {
	s.t.Helper()
	s.receive(f)
	s.run()
	got := s.delivered()
	require.Len(s.t, got, 1)
	require.Equal(s.t, host, got[0].host)
	s.answers(to)
}

// answers sends a datagram, which must go to a host.
func (s *station) answers(to func([]byte) []byte) {
	s.t.Helper()
	data := []byte(fmt.Sprint("answer ", s.clocks))
	s.send = [][]byte{data}
	s.run()
	require.Equal(s.t, [][]byte{to(data)}, s.take())
}

func (s *station) strobe(keep, drop bool) {
	s.keep, s.drop = keep, drop
	s.clock()
}

// TestKeptHost: a host that is kept gets all answers, and only its datagrams have the flag.
// Another port, address or encapsulation is another host.
func TestKeptHost(t *testing.T) {
	port, mac, addr := alice, alice, alice
	port.port++
	mac.mac = bob.mac
	addr.ip = []byte{10, 0, 1, 1}
	for _, tt := range []struct {
		name string
		kept func([]byte) []byte
		to   func([]byte) []byte
		same func([]byte) []byte
	}{{"udp", alice.udp, alice.udpSent, alice.udp}, {"raw", alice.raw, alice.rawSent, alice.raw}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStation(t)
			s.exchange(bob.udp([]byte("first")), false, bob.udpSent)
			s.exchange(tt.kept([]byte("hello")), false, tt.to)
			s.strobe(true, false)
			for range 3 {
				s.exchange(tt.same([]byte("more")), true, tt.to)
				s.exchange(bob.udp([]byte("me too")), false, tt.to)
				s.exchange(bob.raw([]byte("me too")), false, tt.to)
				s.exchange(port.udp([]byte("port")), false, tt.to)
				s.exchange(addr.udp([]byte("address")), false, tt.to)
				s.exchange(mac.udp([]byte("mac")), false, tt.to)
				s.exchange(mac.raw([]byte("mac")), false, tt.to)
				other := alice.raw
				if tt.name == "raw" {
					other = alice.udp
				}
				s.exchange(other([]byte("the other one")), false, tt.to)
			}
			s.strobe(false, true)
			s.exchange(tt.same([]byte("no longer")), false, tt.to)
			s.exchange(bob.raw([]byte("now me")), false, bob.rawSent)
			s.strobe(true, false)
			s.exchange(tt.same([]byte("late")), false, bob.rawSent)
			s.exchange(bob.raw([]byte("mine")), true, bob.rawSent)
		})
	}
}

// TestKeptWithoutAnswers: the address of a host that is kept stays while others send, and no
// answer uses it.
func TestKeptWithoutAnswers(t *testing.T) {
	s := newStation(t)
	s.exchange(bob.udp([]byte("first")), false, bob.udpSent)
	s.receive(alice.udp([]byte("hello")))
	s.run()
	s.strobe(true, false)
	for i := range 6 {
		p := bob
		p.port += layers.UDPPort(i)
		s.receive(p.udp([]byte("me too")))
	}
	s.run()
	require.Len(t, s.delivered(), 7)
	s.exchange(alice.udp([]byte("more")), true, alice.udpSent)
}

// TestHostDuringDatagram: the flag of a datagram stays while its bytes are given.
func TestHostDuringDatagram(t *testing.T) {
	for wait := range 40 {
		s := newStation(t)
		for i, want := range []bool{false, true, false} {
			s.receive(alice.udp([]byte("0123456789")))
			for s.now == nil {
				s.clock()
			}
			for range wait {
				s.clock()
			}
			s.strobe(i%2 == 0, i%2 == 1)
			s.run()
			require.Equal(t, []datagram{{[]byte("0123456789"), want}}, s.delivered(), "%d clocks, datagram %d", wait, i)
		}
	}
}

// TestHostOfWaitingDatagram: a datagram that was stored before its host was kept, or released,
// has the flag of the clock in which it is given.
func TestHostOfWaitingDatagram(t *testing.T) {
	for wait := range 60 {
		s := newStation(t)
		stalled := false
		s.stall = func() bool { return stalled }
		s.receive(alice.udp([]byte("one")))
		s.run()
		require.Equal(t, []datagram{{[]byte("one"), false}}, s.delivered())
		stalled = true
		s.receive(alice.udp([]byte("two")))
		for len(s.in) > 0 {
			s.clock()
		}
		for range wait {
			s.clock()
		}
		s.strobe(true, false)
		stalled = false
		s.run()
		require.Equal(t, []datagram{{[]byte("two"), true}}, s.delivered(), "%d clocks", wait)
		stalled = true
		s.receive(alice.udp([]byte("three")))
		for len(s.in) > 0 {
			s.clock()
		}
		for range wait {
			s.clock()
		}
		s.strobe(false, true)
		stalled = false
		s.run()
		require.Equal(t, []datagram{{[]byte("three"), false}}, s.delivered(), "%d clocks", wait)
	}
}

// TestAnswerStays: an answer that has begun goes to the host that it was begun for, whatever
// arrives before it is sent.
func TestAnswerStays(t *testing.T) {
	for wait := range 120 {
		s := newStation(t)
		s.receive(alice.udp([]byte("one")))
		s.run()
		s.delivered()
		slow := true
		s.slow = func() bool { return slow }
		s.send = [][]byte{[]byte("to alice")}
		for range 40 {
			s.clock()
		}
		s.receive(bob.raw([]byte("two")))
		s.receive(bob.udp([]byte("three")))
		for range wait {
			s.clock()
		}
		s.strobe(true, false)
		slow = false
		s.run()
		require.Equal(t, [][]byte{alice.udpSent([]byte("to alice"))}, s.take(), "%d clocks", wait)
	}
}

// TestAnswerKeepsItsHost: datagrams of other hosts that are given while an answer begins leave
// its address alone.
func TestAnswerKeepsItsHost(t *testing.T) {
	for wait := range 24 {
		s := newStation(t)
		s.receive(alice.udp([]byte("one")))
		s.run()
		s.delivered()
		stalled := true
		s.stall = func() bool { return stalled }
		for range 4 {
			s.receive(bob.udp([]byte("2")))
		}
		s.run()
		s.send = [][]byte{[]byte("to alice")}
		for range wait {
			s.clock()
		}
		stalled = false
		s.run()
		require.Len(t, s.delivered(), 4)
		require.Equal(t, [][]byte{alice.udpSent([]byte("to alice"))}, s.take(), "%d clocks", wait)
		s.answers(bob.udpSent)
	}
}

// TestNoHost: before a datagram has arrived, none of the link is taken.
func TestNoHost(t *testing.T) {
	s := newStation(t)
	s.send = [][]byte{[]byte("early")}
	s.keep = true // of no datagram
	s.receive(alice.arp(board.IP[:]))
	s.receive(alice.echo(1, 1, []byte("ping")))
	for range 2000 {
		s.clock()
	}
	require.Len(t, s.take(), 2)
	require.Len(t, s.send, 1)
	s.receive(bob.udp([]byte("hello")))
	s.run()
	require.Equal(t, [][]byte{bob.udpSent([]byte("early"))}, s.take())
	require.Equal(t, []datagram{{[]byte("hello"), false}}, s.delivered())
}
