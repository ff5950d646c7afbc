package gdbserver

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// messages returns all messages of a stream.
func messages(t *testing.T, stream string) []message {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(stream))
	var all []message
	for {
		m, err := next(r)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return all
		}
		all = append(all, m)
	}
}

// The checksum is the sum of the characters between $ and #, modulo 256; } escapes a character,
// XORed with 0x20 (Debugging with GDB, appendix E.1).
func TestNext(t *testing.T) {
	g := message{request, "g"}
	for _, tt := range []struct {
		name, stream string
		want         []message
	}{
		{"a packet", "$g#67", []message{g}},
		{"after its acknowledgment", "+$g#67+", []message{g}},
		{"an empty packet", "$#00", []message{{request, ""}}},
		{"a longer one", "$QStartNoAckMode#b0", []message{{request, "QStartNoAckMode"}}},
		{"digits of both cases", "$OK#9a$OK#9A", []message{{request, "OK"}, {request, "OK"}}},
		{"two at once", "$g#67$?#3f", []message{g, {request, "?"}}},
		{"a wrong checksum", "$g#68", []message{{kind: broken}}},
		{"no checksum", "$g#zz", []message{{kind: broken}}},
		{"ctrl-C", "\x03", []message{{kind: interrupt}}},
		{"not acknowledged", "-", []message{{kind: nack}}},
		{"bytes between packets", "abc#\x00\xff$g#67xyz", []message{g}},
		{"a packet that starts again", "$m0,$g#67", []message{g}},
		{"an escaped }", "$X0,1:}]#f9", []message{{request, "X0,1:}"}}},
		{"an escaped #", "$}\x03#80", []message{{request, "#"}}},
		{"an escaped $", "$}\x04#81", []message{{request, "$"}}},
		{"a 3 within a packet is data", "$a\x03b#c6", []message{{request, "a\x03b"}}},
		{"an escape without a character", "$a}#de", []message{{kind: broken}}},
		{"an end in a packet", "$g#67$m0", []message{g}},
		{"an end in a checksum", "$g#6", nil},
	} {
		assert.Equal(t, tt.want, messages(t, tt.stream), tt.name)
	}
}

func TestLongPackets(t *testing.T) {
	for n, want := range map[int]kind{maxPacket: request, maxPacket + 1: broken, 10 * maxPacket: broken} {
		got := messages(t, string(packet(strings.Repeat("a", n)))+"$g#67")
		require.Len(t, got, 2)
		assert.Equal(t, want, got[0].kind, n)
		assert.Equal(t, message{request, "g"}, got[1], n)
	}
}

func TestPacket(t *testing.T) {
	for data, want := range map[string]string{
		"": "$#00", "OK": "$OK#9a", "E01": "$E01#a6", "}": "$}]#da", "#": "$}\x03#80", "$": "$}\x04#81", "*": "$}\x0a#87",
	} {
		assert.Equal(t, want, string(packet(data)))
	}
}

// The decoder reads every packet that it can write, ends at every stream, and finds the next
// packet after any bytes.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{"", "$g#67", "+$m0,4#fd", "$X0,2:}]}\x03#00", "$a$b#62", "\x03-", "$vCont;c#a8$", "$#", "$a#6"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all := messages(t, string(data)+"#00#00$g#67")
		require.NotEmpty(t, all)
		assert.Equal(t, message{request, "g"}, all[len(all)-1])
		for _, m := range all {
			assert.LessOrEqual(t, len(m.data), maxPacket)
		}
		if b := packet(string(data)); len(b) <= maxPacket+4 {
			assert.Equal(t, []message{{request, string(data)}}, messages(t, string(b)))
			assert.NotContains(t, string(b[1:]), "$")
		}
	})
}
