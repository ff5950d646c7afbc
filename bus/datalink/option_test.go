package datalink

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The proof comes from another HMAC, Python's hmac and hashlib.
func TestProof(t *testing.T) {
	var challenge [16]byte
	for i := range challenge {
		challenge[i] = byte(i)
	}
	want := unhex("348647b52bc687717ee6c00410c7fdd5")
	assert.Equal(t, want, proof([]byte("secret"), challenge[:], 7, 9))
	for i, p := range [][]byte{
		proof([]byte("Secret"), challenge[:], 7, 9), proof([]byte("secret"), challenge[1:], 7, 9),
		proof([]byte("secret"), challenge[:], 8, 9), proof([]byte("secret"), challenge[:], 7, 8),
	} {
		assert.NotEqual(t, want, p, i)
	}
}

// Options of a later version, and longer fixed fields, change nothing. Options that
// are cut off make the hello invalid.
func TestLaterHello(t *testing.T) {
	const fixed = "0118 0040 003f 0080 0000 000003e8 cafe0001 00000007 00000000 0018 0198 000c 00cc 0000 0000"
	for options, ok := range map[string]bool{
		"":                                       true,
		"0100":                                   true,
		"ff03 010203 0100":                       true,
		"80 00":                                  true,
		"ff":                                     false,
		"ff04 010203":                            false,
		"0101 00":                                false,
		"0502 0400":                              true,
		"0501 04":                                false,
		"0503 040000":                            false,
		"020f 000102030405060708090a0b0c0d0e":    false,
		"0310 000102030405060708090a0b0c0d0e0f":  true,
		"0210 000102030405060708090a0b0c0d0e0f ": true,
	} {
		h, valid := parseHello(unhex("28 00 " + fixed + options))
		assert.Equal(t, ok, valid, options)
		if ok {
			assert.Equal(t, 0x80, h.maxRead, options)
			assert.Equal(t, time.Millisecond, h.ackDelay)
			assert.Equal(t, uint32(7), h.host)
		}
		h, valid = parseHello(unhex("2c 00 " + fixed + "deadbeef" + options))
		assert.Equal(t, ok, valid, "longer fixed fields, "+options)
		assert.Equal(t, ok && (options == "0100" || options == "ff03 010203 0100"), ok && h.options.long, options)
	}
	for _, bad := range []string{"27 00 " + fixed, "41 00 " + fixed, "2c 00 " + fixed, "28"} {
		_, valid := parseHello(unhex(bad))
		assert.False(t, valid, bad)
	}
}

func unhexChallenge() (c [16]byte) {
	copy(c[:], unhex("00112233445566778899aabbccddeeff"))
	return c
}

// TestToken: a session needs the same token at both ends, if the board has one.
// Neither the token nor a part of it is sent.
func TestToken(t *testing.T) {
	for _, tt := range []struct {
		host, board string
		why         string
	}{
		{"", "", ""}, {"sesame", "", ""}, {"sesame", "sesame", ""},
		{"", "sesame", noToken}, {"sesamE", "sesame", wrongToken}, {"sesame ", "sesame", wrongToken},
	} {
		t.Run(fmt.Sprintf("%q %q", tt.host, tt.board), func(t *testing.T) {
			s := newSim(t, 1, faults{}, Config{Token: []byte(tt.host)}, Config{Token: []byte(tt.board), Challenge: unhexChallenge()})
			for i := range s.wires {
				s.wires[i].drop = func(f []byte) bool {
					assert.NotContains(t, string(f), "sesam")
					return false
				}
			}
			s.open(9)
			s.run(300 * time.Millisecond)
			if tt.why == "" {
				require.Equal(t, Up, s.links[0].State(), s.links[0].Err())
				require.Equal(t, Up, s.links[1].State())
				return
			}
			require.ErrorIs(t, s.links[0].Err(), ErrToken)
			assert.ErrorContains(t, s.links[0].Err(), tt.why)
			assert.Equal(t, Opening, s.links[1].State())
			assert.False(t, s.links[1].Offering(s.now), "nothing is offered")
			assert.Equal(t, uint64(1), s.links[1].Stats().Refused)
		})
	}
}

// A proof is good for one session only: repeated with the next nonce of the board it
// is refused.
func TestProofIsNotRepeated(t *testing.T) {
	c := Config{Token: []byte("sesame"), Challenge: unhexChallenge()}
	s := newSim(t, 1, faults{}, c, c)
	var recorded []byte
	s.wires[0].drop = func(f []byte) bool {
		if isType(f, typeHello) {
			recorded = append([]byte(nil), f...)
		}
		return false
	}
	s.open(9)
	s.up()
	s.do(1, func(l *Link, out *Output) { l.Close(out); l.Open(10, s.now, out) })
	b := s.links[1]
	var out Output
	b.Receive(recorded, s.now, &out)
	assert.False(t, b.Offering(s.now))
	require.Equal(t, 1, out.Frames.Len())
	h, ok := parseHello(out.Frames.At(0)[2 : len(out.Frames.At(0))-checkLen])
	require.True(t, ok)
	assert.Equal(t, uint8(flagAgain), h.flags, "another Hello, with the new nonce")
}

// TestEcho: a board that wants its nonce back offers nothing to a host that has not
// received it.
func TestEcho(t *testing.T) {
	s := newSim(t, 1, faults{}, Config{}, Config{Echo: true})
	s.open(9)
	b := s.links[1]
	for nonce := range uint32(100) {
		s.receive(1, helloFrame(s.links[0], 1000+nonce, 0))
		s.receive(1, helloFrame(s.links[0], 1000+nonce, 77))
	}
	assert.False(t, b.Offering(s.now))
	assert.Zero(t, b.npend)
	s.up()
	assert.Equal(t, uint64(1), b.Stats().Sessions)
}

// TestRefuse: the board's reason reaches the host as printable text, and the next host
// gets a session.
func TestRefuse(t *testing.T) {
	why := "held by 10.0.0.2:4000\x1b[2J, and a text that is far too long for one frame of a hello"
	s := newSim(t, 1, faults{}, Config{}, Config{Admit: func() (string, bool) { return why, why == "later" }})
	s.open(9)
	s.run(100 * time.Millisecond)
	require.NotErrorIs(t, s.links[0].Err(), ErrToken)
	assert.EqualError(t, s.links[0].Err(), "datalink: refused by the board: held by 10.0.0.2:4000?[2J, and a text that is far too long for o")
	why = "later"
	s.do(0, func(l *Link, out *Output) { l.Open(10, s.now, out) })
	s.run(300 * time.Millisecond)
	assert.Equal(t, Opening, s.links[0].State(), "the host asks again")
	why = ""
	s.up()
}

// TestLongSequence: over more than 4096 frames, a frame that is exactly 4096 frames
// late, and one 10,000 late, fail the check. With short numbers the first one would be
// taken for a new frame.
func TestLongSequence(t *testing.T) {
	for _, short := range []bool{false, true} {
		t.Run(fmt.Sprintf("short %v", short), func(t *testing.T) {
			s, got := start(t, Config{}, Config{ShortSequence: short})
			var frames [][]byte
			s.wires[0].drop = func(f []byte) bool {
				if isData(f) {
					frames = append(frames, append([]byte(nil), f...))
				}
				return false
			}
			for n := 0; len(got[1]) < 10_100; n++ {
				for s.send(0, write) == nil {
				}
				s.run(10 * time.Millisecond)
				require.Equal(t, Up, s.links[0].State())
			}
			s.run(100 * time.Millisecond)
			l, n := s.links[1], len(got[1])
			before := l.Stats()
			s.receive(1, frames[n-4096])
			if short {
				assert.Len(t, got[1], n+1, "nothing tells the frame from a new one")
				return
			}
			s.receive(1, frames[n-10_000])
			assert.Len(t, got[1], n)
			assert.Equal(t, before.BadCheck+2, l.Stats().BadCheck)
			assert.Equal(t, before.FramesReceived, l.Stats().FramesReceived)
			s.receive(1, frames[n-1])
			assert.Equal(t, before.Duplicates+1, l.Stats().Duplicates)
		})
	}
}

// TestInOrder: an end that keeps no frame out of order gets all frames after a lost one
// again, with one Nak a round trip, in both directions and with faults.
func TestInOrder(t *testing.T) {
	s, got := start(t, Config{}, Config{InOrder: true})
	lost := 0
	s.wires[0].drop = func(f []byte) bool {
		if isData(f) {
			lost++
		}
		return isData(f) && lost == 2
	}
	for range 12 {
		require.NoError(t, s.send(0, write))
	}
	s.run(100 * time.Millisecond)
	assert.Len(t, got[1], 12)
	assert.Equal(t, uint64(1), s.links[1].Stats().NaksSent)
	assert.Equal(t, uint64(11), s.links[0].Stats().Replays, "frames 1 to 11")
	assert.Zero(t, s.links[0].Stats().ReplayTimeouts)

	for seed := range uint64(20) {
		s := newSim(t, seed, faults{loss: 0.05, dup: 0.03, flip: 0.02, truncate: 0.01, reorder: 0.02}, Config{InOrder: true}, Config{InOrder: true})
		n := [2]int{}
		s.got = func(end int, p []byte) {
			require.Equal(t, byte(n[end]), p[12])
			n[end]++
		}
		s.open(uint32(seed + 1))
		s.up()
		for sent := [2]int{}; n[0] < 300 || n[1] < 300; {
			for end := range 2 {
				p := append([]byte(nil), write...)
				p[12] = byte(sent[end])
				for sent[end] < 300 && s.send(end, p) == nil {
					sent[end]++
					p[12] = byte(sent[end])
				}
			}
			s.run(10 * time.Millisecond)
			require.Equal(t, Up, s.links[0].State(), s.links[0].Err())
		}
	}
}

// TestDatagramSize: the smaller one of the two ends applies to both.
func TestDatagramSize(t *testing.T) {
	s, _ := start(t, Config{Datagram: 8998}, Config{Datagram: 1498})
	assert.Equal(t, []int{1498, 1498}, []int{s.links[0].Datagram(), s.links[1].Datagram()})
	s, _ = start(t, Config{}, Config{})
	assert.Zero(t, s.links[0].Datagram())
	_, err := New(Config{Datagram: 65536})
	assert.EqualError(t, err, "datalink: Datagram 65536 bytes, want 0 to 65535")
}
