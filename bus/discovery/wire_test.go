package discovery_test

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/discovery"
)

// The checks of these messages were computed with zlib of Python from the table of the
// package comment.
var (
	question = "68696c677075 01 00 01020304" + strings.Repeat("00", 240) + "9e3cee3a"
	answer   = "68696c677075 01 01 01020304 00 01 01 00 0fa0 15a9157e 03 656d75 0d 31302e302e302e313a35303030 5154e9e3"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

func TestGoldenMessages(t *testing.T) {
	q := discovery.AppendQuestion([]byte("x"), 0x01020304)[1:]
	assert.Equal(t, unhex(t, question), q)
	assert.Len(t, q, discovery.QuestionLen)
	nonce, ok := discovery.ParseQuestion(q)
	assert.True(t, ok)
	assert.Equal(t, uint32(0x01020304), nonce)

	b := discovery.Board{Scheme: "udp", Port: 4000, Token: true, MapHash: 0x15a9157e, Name: "emu", Holder: "10.0.0.1:5000"}
	a := discovery.AppendAnswer(nil, nonce, b)
	assert.Equal(t, unhex(t, answer), a)
	got, ok := discovery.ParseAnswer(a, nonce)
	assert.True(t, ok)
	assert.Equal(t, b, got)
}

// TestStrictMessages: nothing but a whole, undamaged message of the right kind counts.
func TestStrictMessages(t *testing.T) {
	q, a := unhex(t, question), unhex(t, answer)
	for i := range q {
		bad := append([]byte(nil), q...)
		bad[i] ^= 1
		_, ok := discovery.ParseQuestion(bad)
		assert.False(t, ok, "question byte %d", i)
	}
	for i := range a {
		bad := append([]byte(nil), a...)
		bad[i] ^= 1
		_, ok := discovery.ParseAnswer(bad, 0x01020304)
		assert.False(t, ok, "answer byte %d", i)
		_, ok = discovery.ParseAnswer(a[:i], 0x01020304)
		assert.False(t, ok, "%d bytes", i)
	}
	_, ok := discovery.ParseAnswer(a, 0x01020305)
	assert.False(t, ok, "another nonce")
	_, ok = discovery.ParseQuestion(a)
	assert.False(t, ok)
	_, ok = discovery.ParseAnswer(q, 0x01020304)
	assert.False(t, ok)
}

// TestTexts: an answer is never longer than a question, and its texts can be printed.
func TestTexts(t *testing.T) {
	long := strings.Repeat("a\x1b[2J", 100)
	a := discovery.AppendAnswer(nil, 1, discovery.Board{Kind: discovery.Gateware, Scheme: "eth", Name: long, Holder: long})
	assert.LessOrEqual(t, len(a), discovery.QuestionLen)
	got, ok := discovery.ParseAnswer(a, 1)
	require.True(t, ok)
	assert.Equal(t, strings.Repeat("a?[2J", 100)[:64], got.Name)
	assert.Equal(t, "gateware", got.Kind.String())
	assert.Equal(t, "unknown", discovery.Kind(7).String())
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(discovery.AppendAnswer(nil, 1, discovery.Board{Scheme: "tcp", Name: "emu"}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if b, ok := discovery.ParseAnswer(p, 1); ok {
			again, ok := discovery.ParseAnswer(discovery.AppendAnswer(nil, 1, b), 1)
			assert.True(t, ok)
			assert.Equal(t, b, again)
		}
	})
}

// TestNoBroadcast: a board that only IPv6 reaches cannot be found, and says so.
func TestNoBroadcast(t *testing.T) {
	for _, at := range []string{"::1", "fe80::1"} {
		_, err := discovery.ListenUDP(netip.MustParseAddr(at))
		assert.ErrorContains(t, err, "boards at an IPv6 address are not found: "+at)
	}
}
