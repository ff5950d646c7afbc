package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
)

func TestCost(t *testing.T) {
	for size, want := range map[int]uint16{1: 0, 12: 0, 16: 0, 17: 1, 32: 1, 33: 2, 272: 16, 280: 17} {
		assert.Equal(t, Credit{1, want}, cost(size), "%d bytes", size)
	}
}

var read = unhex("00000001 0000050f fe001010")

// A packet without credits waits, and so do packets that may not pass it. A
// posted packet passes reads and completions (PCIe 3.0 §2.4.1).
func TestBlockedClasses(t *testing.T) {
	bulk := append(unhex("60000010 000000ff 00000001 00000000"), make([]byte, 64)...)
	for _, tt := range []struct {
		name    string
		credits Credits
		send    [][]byte
		want    [][]byte // sent before credits are returned
	}{
		{"infinite", Credits{}, [][]byte{read, write, bulk, replyPacket}, [][]byte{read, write, bulk, replyPacket}},
		{"a write passes a read", Credits{{}, {1, 0}}, [][]byte{read, read, write}, [][]byte{read, write}},
		{"a completion passes a read", Credits{{}, {1, 0}}, [][]byte{read, read, replyPacket}, [][]byte{read, replyPacket}},
		{"a write passes a completion", Credits{{}, {}, {1, 0}}, [][]byte{replyPacket, replyPacket, write}, [][]byte{replyPacket, write}},
		{"nothing passes a write", Credits{{1, 0}}, [][]byte{write, write, read, replyPacket}, [][]byte{write}},
		{"packets before a blocked write are sent", Credits{{1, 0}}, [][]byte{write, read, write, read}, [][]byte{write, read}},
		{"data credits", Credits{{0, 17}}, [][]byte{bulk, bulk, bulk, bulk, bulk, write}, [][]byte{bulk, bulk, bulk, bulk}},
		{"headers without data", Credits{{4, 17}}, [][]byte{write, write, write, write, write}, [][]byte{write, write, write, write}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, got := start(t, Config{}, Config{Credits: tt.credits})
			for _, p := range tt.send {
				require.NoError(t, s.send(0, p))
			}
			s.run(time.Second)
			require.Equal(t, tt.want, got[1])
			for n := 0; n < len(got[1]); n++ {
				s.release(1, got[1][n])
				s.run(150 * time.Millisecond)
			}
			assert.ElementsMatch(t, tt.send, got[1])
			assert.NoError(t, s.links[0].Err())
		})
	}
}

// L8: a peer that returns no credits leaves a bounded queue and a link that is
// up.
func TestQueueIsBounded(t *testing.T) {
	s, got := start(t, Config{Queue: 8}, Config{Credits: Credits{{2, 0}}})
	n := 0
	for ; n < 100; n++ {
		if err := s.send(0, write); err != nil {
			require.ErrorIs(t, err, ErrFull)
			break
		}
	}
	assert.Equal(t, 10, n)
	assert.NoError(t, s.send(0, read), "another class has its own queue")
	s.run(10 * time.Second)
	assert.Equal(t, Up, s.links[0].State())
	assert.Len(t, got[1], 2)
	assert.Equal(t, uint64(1), s.links[0].Stats().CreditStalls)
}

// L3: the next update repairs a lost one, and an overtaken update changes
// nothing.
func TestCreditUpdates(t *testing.T) {
	s, got := start(t, Config{}, Config{Credits: Credits{{1, 0}}})
	var lost [][]byte
	s.wires[1].drop = func(f []byte) bool {
		if isType(f, typeCredit) && len(lost) < 2 {
			lost = append(lost, append([]byte(nil), f...))
			return true
		}
		return false
	}
	require.NoError(t, s.send(0, write))
	require.NoError(t, s.send(0, write))
	s.run(50 * time.Millisecond)
	require.Len(t, got[1], 1)
	s.release(1, got[1][0])
	s.run(50 * time.Millisecond)
	require.Len(t, got[1], 1, "the update is lost")
	s.run(300 * time.Millisecond)
	require.Len(t, got[1], 2)
	require.Len(t, lost, 2)

	s.release(1, got[1][1])
	s.run(50 * time.Millisecond)
	limit := s.links[0].fc.limit
	for _, f := range lost {
		s.receive(0, f)
	}
	assert.Equal(t, limit, s.links[0].fc.limit)
	require.NoError(t, s.send(0, write))
	s.run(50 * time.Millisecond)
	assert.Len(t, got[1], 3)
}

// The counters wrap. The free credits are never negative and never exceed the
// first grant.
func TestCreditsWrap(t *testing.T) {
	s, _ := start(t, Config{}, Config{Credits: Credits{{3, 40}}})
	packet := make([]byte, 280)
	packet[0] = 0x60
	n := 0
	s.got = func(_ int, p []byte) { n++; s.release(1, p) }
	for n < 5000 { // 85000 units of data
		for s.send(0, packet) == nil {
			f := &s.links[0].fc
			left := Credit{f.limit[tlp.Posted].Headers - f.used[tlp.Posted].Headers, f.limit[tlp.Posted].Data - f.used[tlp.Posted].Data}
			require.LessOrEqual(t, left.Headers, uint16(3))
			require.LessOrEqual(t, left.Data, uint16(40))
		}
		require.True(t, s.step(s.now+time.Second))
		require.NoError(t, s.links[0].Err())
	}
}

// A packet sent without credits ends the session.
func TestCreditsTaken(t *testing.T) {
	for name, packets := range map[string][][]byte{
		"headers": {read, read, read},
		"data":    {append(append([]byte(nil), write...), make([]byte, 264)...), append(append([]byte(nil), write...), 0)},
	} {
		s, got := start(t, Config{}, Config{Credits: Credits{{0, 17}, {2, 0}}})
		for seq, p := range packets {
			s.receive(1, seal(s.links[1].epoch, append([]byte{0x80, byte(seq)}, p...)))
		}
		assert.ErrorIs(t, s.links[1].Err(), ErrProtocol, name)
		assert.Len(t, got[1], len(packets)-1)
	}
}
