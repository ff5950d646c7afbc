package eth

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// bulk returns datagrams of the greatest size.
func bulk(n int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, bytes(ip.MaxData, i))
	}
	return all
}

func gaps(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = mac.GapBytes
	}
	return all
}

// TestBulk sends and receives datagrams of the greatest size at once. Between the frames of
// the board is nothing but the gap.
func TestBulk(t *testing.T) {
	const n = 40
	for _, tt := range []struct {
		name string
		in   func(data []byte) []byte
		out  func(data []byte) []byte
		size int // of a frame, with its FCS
	}{{"udp", alice.udp, alice.udpSent, 1518}, {"raw", alice.raw, alice.rawSent, 14 + 2 + 1472 + 4}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStation(t)
			s.receive(tt.in([]byte("begin")))
			s.run()
			s.delivered()
			data := bulk(n)
			for _, d := range data {
				s.receive(tt.in(d))
				s.send = append(s.send, d)
			}
			s.run()
			got := s.delivered()
			require.Len(t, got, n)
			for i := range data {
				require.Equal(t, data[i], got[i].data)
				require.Equal(t, tt.out(data[i]), s.frames[i])
			}
			require.Len(t, s.frames, n)
			require.Equal(t, gaps(n-1), s.gaps[1:])
			require.Equal(t, make([]int, n-1), s.idles[1:], "clocks without a symbol")
			busy := mac.PreambleBytes + tt.size
			t.Logf("transmitter idle in %d of %d clocks: %.2f %%", mac.GapBytes, busy+mac.GapBytes, 100*float64(mac.GapBytes)/float64(busy+mac.GapBytes))
			assert.Equal(t, [NumCounters]uint32{Good: n + 1}, s.counts())
		})
	}
}

// TestLatency counts the clocks of an idle station that Module's comment promises.
func TestLatency(t *testing.T) {
	for _, tt := range []struct {
		name         string
		frame        []byte
		in, out      int // clocks of a datagram, from its end to its first byte, and from its last byte to the preamble
		answer       []byte
		answerClocks int // from the end of a request to the preamble
	}{
		{"udp", alice.udp([]byte("begin")), 17, 16, alice.echo(1, 2, bytes(8, 1)), 20},
		{"raw", alice.raw([]byte("begin")), 11, 7, alice.arp(board.IP[:]), 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStation(t)
			until := func(done func() bool) int {
				for n := 0; ; n++ {
					if done() {
						return n
					}
					s.clock()
				}
			}
			symbol := func() bool { valid, _ := s.m.Symbol(); return valid }
			given := func() bool { return s.m.Datagram().Valid }
			feed := func(f []byte) {
				s.in = carrier(sealed(f), 1)
				for len(s.in) > 1 {
					s.clock()
				}
			}
			feed(tt.frame)
			require.Equal(t, tt.in, until(given))
			s.run()
			s.send = [][]byte{{1, 2}}
			for len(s.send) > 0 {
				s.clock()
			}
			require.Equal(t, tt.out, 1+until(symbol))
			s.run()
			feed(tt.answer)
			require.Equal(t, tt.answerClocks, until(symbol))
		})
	}
}

// TestSmallest receives frames of the least size one after another, with gaps of 12 and of 5
// bytes, and delivers them all.
func TestSmallest(t *testing.T) {
	for _, gap := range []int{12, 5} {
		s := newStation(t)
		var want []datagram
		for i := range 300 {
			data := bytes(1+i%18, i)
			f := alice.udp(data)
			if i%2 == 0 {
				f = bob.raw(data)
			}
			s.in = append(s.in, carrier(sealed(f), gap)...)
			want = append(want, datagram{data, false})
		}
		s.run()
		require.Equal(t, want, s.delivered())
		require.Equal(t, [NumCounters]uint32{Good: 300}, s.counts())
	}
}

// TestEchoSizes answers pings of all sizes around the limits with their data.
func TestEchoSizes(t *testing.T) {
	s := newStation(t)
	for _, n := range []int{0, 1, 2, 17, 18, 19, 255, 256, 1470, 1471, 1472} {
		f := alice.echo(uint16(n), 0xffff, bytes(n, n))
		s.receive(f)
		s.run()
		require.Equal(t, [][]byte{alice.echoAnswer(uint16(n), 0xffff, bytes(n, n))}, s.take(), "%d bytes", n)
	}
	assert.Equal(t, [NumCounters]uint32{Good: 11}, s.counts())
}

// TestEchoSums has the checksums at which the carry of an answer goes around.
func TestEchoSums(t *testing.T) {
	s := newStation(t)
	for sum := 0; sum < 0x10000; sum += 0x00ff {
		data := []byte{byte(^sum >> 8), byte(^sum)} // the other words of the request are 0x0800 and 0
		f := alice.echo(0, 0, data)
		s.receive(f)
		s.run()
		require.Equal(t, [][]byte{alice.echoAnswer(0, 0, data)}, s.take(), "%04x", sum)
	}
}

// TestBusyAnswers pings a board that sends and receives datagrams all the time. Both go on.
func TestBusyAnswers(t *testing.T) {
	s := newStation(t)
	s.receive(alice.udp([]byte("begin")))
	s.run()
	s.delivered()
	s.send = bulk(20)
	for i, d := range bulk(10) {
		s.receive(alice.udp(d))
		s.receive(bob.echo(1, uint16(i), bytes(56, i)))
		s.receive(bob.arp(board.IP[:]))
	}
	s.run()
	require.Len(t, s.delivered(), 10)
	require.Len(t, s.frames, 40)
	for i, g := range s.gaps[1:] {
		require.LessOrEqual(t, g, mac.GapBytes+2, "gap %d", i)
	}
	require.Equal(t, [NumCounters]uint32{Good: 31}, s.counts())
}

// TestSlowLink: a link that takes nothing makes the board drop frames, which are counted, and
// then it gets those that are stored, in order.
func TestSlowLink(t *testing.T) {
	s := newStation(t)
	blocked := true
	s.stall = func() bool { return blocked }
	data := bulk(5)
	for _, d := range data {
		s.receive(alice.udp(d))
	}
	s.run()
	require.Empty(t, s.delivered())
	blocked = false
	s.run()
	got := s.delivered()
	require.Len(t, got, 2, "two of 1484 bytes fit into 4096")
	require.Equal(t, data[0], got[0].data)
	require.Equal(t, data[1], got[1].data)
	require.Equal(t, [NumCounters]uint32{Good: 5, NoRoom: 3}, s.counts())

	blocked = true
	for i := range 40 {
		s.receive(alice.raw([]byte{byte(i)}))
	}
	s.run()
	blocked = false
	s.run()
	got = s.delivered()
	require.Len(t, got, 16, "the queue has 16 frames")
	for i, d := range got {
		require.Equal(t, []byte{byte(i)}, d.data)
	}
	require.Equal(t, uint32(3+40-16), s.counts()[NoRoom])
}

// TestHalfSpeed has a PHY and a link at half the rate, and a link with pauses.
func TestHalfSpeed(t *testing.T) {
	s := newStation(t)
	s.slow = func() bool { return s.clocks%2 == 0 }
	s.stall = func() bool { return s.clocks%3 == 0 }
	s.pause = func() bool { return s.clocks%5 != 0 }
	s.receive(alice.udp([]byte("begin")))
	s.run()
	s.delivered()
	s.send = bulk(4)
	for i := range 30 {
		s.in = append(s.in, carrier(sealed(alice.udp(bytes(100+i, i))), 200)...)
	}
	s.run()
	require.Len(t, s.delivered(), 30)
	sent := s.take()
	require.Len(t, sent, 4)
	for i, f := range sent {
		require.Equal(t, alice.udpSent(bytes(ip.MaxData, i)), f)
	}
}

// TestGapAtTheLine: a PHY that is slower than the clock also gets twelve symbols between two
// frames.
func TestGapAtTheLine(t *testing.T) {
	s := newStation(t)
	s.slow = func() bool { return s.clocks%10 != 0 }
	s.receive(alice.udp([]byte("begin")))
	s.run()
	s.send = bulk(3)
	s.run()
	require.Equal(t, gaps(2), s.gaps[1:])
	require.Equal(t, []int{0, 0}, s.idles[1:])
}

// TestBlockedPHY: without a carrier nothing is sent. The board gets frames until its buffer is
// full, and answers later.
func TestBlockedPHY(t *testing.T) {
	s := newStation(t)
	blocked := true
	s.slow = func() bool { return blocked }
	for i := range 30 {
		s.receive(alice.echo(1, uint16(i), bytes(56, i)))
	}
	s.run()
	require.Empty(t, s.frames)
	blocked = false
	s.run()
	sent := s.take()
	require.Len(t, sent, 16)
	for i, f := range sent {
		require.Equal(t, alice.echoAnswer(1, uint16(i), bytes(56, i)), f)
	}
	require.Equal(t, uint32(14), s.counts()[NoRoom])
}

// TestBlockedDatagrams: while nothing is sent, the link is stopped when the buffer or the queue
// is full, and nothing is lost.
func TestBlockedDatagrams(t *testing.T) {
	for _, size := range []int{1, 3, 4, 5, 20, 1000, ip.MaxData} {
		s := newStation(t)
		s.receive(alice.udp([]byte("begin")))
		s.run()
		s.delivered()
		blocked := true
		s.slow = func() bool { return blocked }
		for i := range 30 {
			s.send = append(s.send, bytes(size, i))
		}
		for range 10_000 {
			s.clock()
		}
		require.Greater(t, len(s.send), 20, "%d bytes", size)
		blocked = false
		s.run()
		sent := s.take()
		require.Len(t, sent, 30)
		for i, f := range sent {
			require.Equal(t, alice.udpSent(bytes(size, i)), f, "%d bytes", size)
		}
	}
}

// TestCarriersOfOneByte has a carrier in every second clock, after frames with two events.
// All are counted.
func TestCarriersOfOneByte(t *testing.T) {
	s := newStation(t)
	want := [NumCounters]uint32{}
	for i := range 50 {
		s.in = append(s.in, carrier(sealed(alice.arp(bob.ip)), 1+i%3)...)
		for range 20 + i {
			s.in = append(s.in, mac.Byte{Valid: true, Data: 0x55}, mac.Byte{Valid: true, End: true})
			want[Runts]++
		}
		want[Good]++
		want[Ignored]++
	}
	s.run()
	require.Equal(t, want, s.counts())
}

// TestReset in any clock of a request, an answer and datagrams both ways: the board then
// answers again.
func TestReset(t *testing.T) {
	for clock := 0; clock < 420; clock += 3 {
		s := newStation(t)
		s.receive(alice.udp([]byte("begin")))
		s.run()
		s.send = [][]byte{bytes(60, 1), bytes(60, 2)}
		s.receive(alice.udp(bytes(30, 1)))
		s.receive(alice.echo(1, 2, bytes(30, 1)))
		for range clock {
			s.clock()
		}
		s.m.Reset()
		valid, _ := s.m.Symbol()
		require.False(t, valid)
		require.False(t, s.m.Ready())
		s.in, s.send, s.symbol, s.now, s.frames, s.got = nil, nil, nil, nil, nil, nil
		s.in = []mac.Byte{{Valid: true, End: true}} // of the frame in work
		for range 20 {
			s.clock()
		}
		s.receive(alice.arp(board.IP[:]))
		s.receive(bob.udp([]byte("after")))
		s.run()
		require.Equal(t, [][]byte{alice.arpAnswer()}, s.take(), "after %d clocks", clock)
		require.Equal(t, []datagram{{[]byte("after"), false}}, s.delivered())
		require.Equal(t, [NumCounters]uint32{Good: 2, Runts: 1}, s.counts())
		s.send = [][]byte{[]byte("to bob")}
		s.run()
		require.Equal(t, [][]byte{bob.udpSent([]byte("to bob"))}, s.take())
	}
}
