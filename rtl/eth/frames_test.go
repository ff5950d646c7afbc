package eth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFrames has one frame of each kind that is dropped, with the counter that counts it. The
// next good frame is delivered.
func TestFrames(t *testing.T) {
	data := bytes(40, 5)
	edit := func(f []byte, change func(f []byte)) []byte {
		f = append([]byte(nil), f...)
		change(f)
		return f
	}
	checked := func(f []byte, change func(f []byte)) []byte {
		return edit(f, func(f []byte) { change(f); ipChecksum(f) })
	}
	reply := edit(alice.arp(board.IP[:]), func(f []byte) { f[21] = 2 })
	for _, tt := range []struct {
		name    string
		frame   []byte
		counter int
	}{
		{"an ARP request for another address", alice.arp(bob.ip), Ignored},
		{"an ARP answer", reply, Ignored},
		{"an ARP request of another hardware", edit(alice.arp(board.IP[:]), func(f []byte) { f[15] = 6 }), Ignored},
		{"another EtherType", edit(alice.raw(data), func(f []byte) { f[13]++ }), Ignored},
		{"another EtherType, of the same first byte as IP", edit(alice.udp(data), func(f []byte) { f[13] = 1 }), Ignored},
		{"another version of IP", edit(alice.udp(data), func(f []byte) { f[14] = 0x65 }), Invalid},
		{"IP options", checked(alice.udp(data), func(f []byte) { f[14] = 0x46 }), Invalid},
		{"a first fragment", checked(alice.udp(data), func(f []byte) { f[20] = 0x20 }), Invalid},
		{"a later fragment", checked(alice.udp(data), func(f []byte) { f[21] = 1 }), Invalid},
		{"a fragment that is far", checked(alice.udp(data), func(f []byte) { f[20] = 0x10 }), Invalid},
		{"the reserved flag", checked(alice.udp(data), func(f []byte) { f[20] = 0x80 }), Invalid},
		{"a wrong checksum of the header", edit(alice.udp(data), func(f []byte) { f[24] ^= 1 }), Invalid},
		{"another IP address", checked(alice.udp(data), func(f []byte) { f[33]++ }), Ignored},
		{"the IP address of all", checked(alice.udp(data), func(f []byte) { copy(f[30:], []byte{255, 255, 255, 255}) }), Ignored},
		{"another protocol", checked(alice.udp(data), func(f []byte) { f[23] = 6 }), Ignored},
		{"another port", edit(alice.udp(data), func(f []byte) { f[37]++ }), Ignored},
		{"UDP to all stations", edit(alice.udp(data), func(f []byte) { copy(f, broadcast) }), Ignored},
		{"a raw frame to all stations", edit(alice.raw(data), func(f []byte) { copy(f, broadcast) }), Ignored},
		{"a ping to all stations", edit(alice.echo(1, 2, data), func(f []byte) { copy(f, broadcast) }), Ignored},
		{"UDP from a group", edit(alice.udp(data), func(f []byte) { f[6] |= 1 }), Ignored},
		{"a wrong checksum of UDP", edit(alice.udp(data), func(f []byte) { f[41] ^= 1 }), Invalid},
		{"a wrong checksum of UDP, its first byte 0", edit(alice.udp(data), func(f []byte) { f[40], f[41] = 0, 1 }), Invalid},
		{"a wrong checksum of UDP, its second byte 0", edit(alice.udp(data), func(f []byte) { f[40], f[41] = 1, 0 }), Invalid},
		{"a wrong byte of UDP", edit(alice.udp(data), func(f []byte) { f[50] ^= 1 }), Invalid},
		{"UDP shorter than IP", edit(alice.udp(data), func(f []byte) { f[39]--; f[40], f[41] = 0, 0 }), Invalid},
		{"UDP longer than IP", edit(alice.udp(data), func(f []byte) { f[39]++; f[40], f[41] = 0, 0 }), Invalid},
		{"UDP without data", alice.udp(nil), Invalid},
		{"IP longer than the frame", checked(alice.udp(data), func(f []byte) { f[17]++; f[39]++; f[40], f[41] = 0, 0 }), Invalid},
		{"IP shorter than its header", checked(alice.udp(data), func(f []byte) { f[17] = 19 }), Invalid},
		{"IP shorter than UDP", checked(alice.udp(data), func(f []byte) { f[17] = 27; f[39] = 7 }), Invalid},
		{"IP of 2048 bytes and more", checked(alice.udp(data), func(f []byte) { f[16] |= 8 }), Invalid},
		{"ICMP of 7 bytes", checked(alice.echo(0, 0, nil), func(f []byte) { f[17] = 27 }), Invalid},
		{"a wrong checksum of ICMP", edit(alice.echo(1, 2, data), func(f []byte) { f[36] ^= 1 }), Invalid},
		{"an echo answer", edit(alice.echo(1, 2, data), func(f []byte) { f[34] = 0; f[36] += 8 }), Ignored},
		{"an echo request of another code", edit(alice.echo(1, 2, data), func(f []byte) { f[35]++ }), Ignored},
		{"a raw frame longer than the frame", edit(alice.raw(data), func(f []byte) { f[15] = 60 - 16 + 1 }), Invalid},
		{"a raw frame of 2048 bytes and more", edit(alice.raw(data), func(f []byte) { f[14] |= 8 }), Invalid},
		{"a raw frame without data", alice.raw(nil), Invalid},
		{"another station", edit(alice.udp(data), func(f []byte) { f[5] ^= 1 }), Filtered},
		{"a group", edit(alice.udp(data), func(f []byte) { f[0] |= 1 }), Filtered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStation(t)
			s.receive(tt.frame)
			s.run()
			require.Empty(t, s.take())
			require.Empty(t, s.delivered())
			want := [NumCounters]uint32{Good: 1}
			if tt.counter == Filtered {
				want[Good] = 0
			}
			want[tt.counter] = 1
			require.Equal(t, want, s.counts())
			s.exchange(alice.udp([]byte("next")), false, alice.udpSent)
		})
	}
}

// TestAccepted has frames at the border of those that are dropped.
func TestAccepted(t *testing.T) {
	data := bytes(44, 5)
	for _, tt := range []struct {
		name   string
		frame  []byte
		change func(f []byte)
		data   []byte
	}{
		{"do not fragment", alice.udp(data), func(f []byte) { f[20] = 0x40 }, data},
		{"a type of service", alice.udp(data), func(f []byte) { f[15] = 0xfc }, data},
		{"the last hop", alice.udp(data), func(f []byte) { f[22] = 1 }, data},
		{"no checksum of UDP", alice.udp(data), func(f []byte) { f[40], f[41] = 0, 0 }, data},
		{"a raw frame that is full", alice.raw(data), func(f []byte) {}, data},
		{"one byte", alice.udp(data[:1]), func(f []byte) {}, data[:1]},
		{"the largest datagram", alice.udp(bytes(1472, 3)), func(f []byte) {}, bytes(1472, 3)},
		{"the largest raw frame", alice.raw(bytes(1498, 3)), func(f []byte) {}, bytes(1498, 3)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.change(tt.frame)
			if tt.frame[12] == 8 {
				ipChecksum(tt.frame)
			}
			s := newStation(t)
			s.receive(tt.frame)
			s.run()
			require.Equal(t, []datagram{{tt.data, false}}, s.delivered())
		})
	}
	s := newStation(t)
	f := alice.arp(board.IP[:])
	copy(f, board.MAC[:]) // to this station only
	s.receive(f)
	probe := alice
	probe.ip = []byte{0, 0, 0, 0} // RFC 5227
	s.receive(probe.arp(board.IP[:]))
	s.run()
	require.Equal(t, [][]byte{alice.arpAnswer(), probe.arpAnswer()}, s.take())
}

// TestSums has addresses whose sum is 0 in one's complement, and one less and more, with the
// identifications for which the other words have a carry at each place.
func TestSums(t *testing.T) {
	s := newStation(t)
	for last := range 3 {
		p := alice
		p.ip = []byte{192, 168, 53, byte(84 + last)}
		require.Equal(t, last == 1, sum16(p.ip, board.IP[:]) == 0xffff)
		var want []datagram
		for id := 0; id < 0x10000; id += 0x101 {
			f := p.udp([]byte{byte(id)})
			f[18], f[19] = byte(id>>8), byte(id)
			ipChecksum(f)
			s.receive(f)
			want = append(want, datagram{[]byte{byte(id)}, false})
		}
		s.run()
		require.Equal(t, want, s.delivered())
		s.answers(p.udpSent)
	}
}
