package nettlp

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unhex returns the bytes of text, which may have spaces.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

// The bytes were written by hand from the figures of PCIe 3.0 §2.2 and the layout of the
// header: number and time stamp, both big-endian.
func TestGoldenFrame(t *testing.T) {
	packet := unhex(t, "00000002 0000300f f7f00010")
	want := unhex(t, "0102 00000003 00000002 0000300f f7f00010")
	assert.Equal(t, want, Append(nil, 0x0102, 15*time.Nanosecond, packet), "3 ticks of 4 ns")
	got, err := Cut(want)
	require.NoError(t, err)
	assert.Equal(t, packet, got)
}

// TestCut: what libtlp sends is accepted where it has one meaning, and refused where the
// data would be wrong.
func TestCut(t *testing.T) {
	const head = "0000 00000000 "
	k4 := strings.Repeat("a5", 4096)
	for _, tt := range []struct{ name, datagram, want, err string }{
		{"read of 8 bytes", head + "00000002 010007ff 00100000", "00000002 010007ff 00100000", ""},
		{"read at a 64-bit address", head + "20000001 0100070f 00000001 00100000", "20000001 0100070f 00000001 00100000", ""},
		{"write", head + "40000001 0100070f 00100000 11223344", "40000001 0100070f 00100000 11223344", ""},
		{"completion without data", head + "0a000000 01008004 00000700", "0a000000 01008004 00000700", ""},
		{"completion", head + "4a000001 01000004 00000700 11223344", "4a000001 01000004 00000700 11223344", ""},

		{"a number and a time stamp are not checked", "ffff 12345678 00000002 010007ff 00100000", "00000002 010007ff 00100000", ""},
		{"1 byte of 4", head + "40000001 01000701 00100000 11", "40000001 01000701 00100000 11000000", ""},
		{"bytes 1 and 2 of 4", head + "40000001 01000706 00100000 002233", "40000001 01000706 00100000 00223300", ""},
		{"5 bytes of 8", head + "40000002 0100071f 00100000 1122334455", "40000002 0100071f 00100000 1122334455000000", ""},
		{"7 bytes of 8 at a 64-bit address", head + "60000002 0100077f 00000001 00100000 11223344556677", "60000002 0100077f 00000001 00100000 1122334455667700", ""},
		{"read of 1024 dwords as 0x400", head + "00000400 010007ff 00100000", "00000000 010007ff 00100000", ""},
		{"write of 1024 dwords as 0x400", head + "40000400 010007ff 00100000" + k4, "40000000 010007ff 00100000" + k4, ""},
		{"completion with the format of a read at a 64-bit address", head + "6a000001 01000004 00000700 11223344", "4a000001 01000004 00000700 11223344", ""},

		{"3 bytes for the first, where libtlp puts it third", head + "40000001 01000701 00100000 000011", "", "lacks 1 bytes"},
		{"1 byte for the first two", head + "40000001 01000703 00100000 11", "", "lacks 3 bytes"},
		{"5 bytes for 6", head + "40000002 0100073f 00100000 1122334455", "", "lacks 3 bytes"},
		{"a message", head + "34000000 01000020 00000000 00000000", "", "want a memory request or a completion"},
		{"a configuration read", head + "04000001 0100000f 01000000", "", "want a memory request or a completion"},
		{"a reserved type", head + "5f000001 0100000f 01000000", "", "want a memory request or a completion"},
		{"no packet", head + "00000002 010007ff 001000", "", "17 bytes"},
		{"nothing", "", "", "0 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Cut(unhex(t, tt.datagram))
			if tt.err != "" {
				require.ErrorIs(t, err, ErrFrame)
				assert.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, unhex(t, tt.want), got)
		})
	}
}

// FuzzCut: no datagram makes Cut fail otherwise, and what it returns has the bytes of the
// datagram, but for the habits that it replaces.
func FuzzCut(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x40\x00\x00\x01\x01\x00\x07\x01\x00\x10\x00\x00\x11"))
	f.Fuzz(func(t *testing.T, d []byte) {
		was := bytes.Clone(d)
		p, err := Cut(d)
		if err != nil {
			require.ErrorIs(t, err, ErrFrame)
			return
		}
		body := was[headerLen:]
		assert.Equal(t, body[3:], p[3:len(body)])
		assert.LessOrEqual(t, len(p)-len(body), 3)
		assert.Equal(t, make([]byte, len(p)-len(body)), p[len(body):])
	})
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		first int
		tag   uint16
		want  int
	}{
		{DevicePorts, 0, 0x3000}, {DevicePorts, 0x2a, 0x302a}, {DevicePorts, 255, 0x30ff},
		{HostPorts, 0, 0x4000}, {HostPorts, 15, 0x400f}, {HostPorts, 16, 0x4000}, {HostPorts, 0xf3, 0x4003},
	} {
		assert.Equal(t, tt.want, portOf(tt.first, tt.tag), "%#x + %#x", tt.first, tt.tag)
	}
}

// The integers of the messages are little-endian.
func TestMessages(t *testing.T) {
	f := Facts{Window: 0x60_1000_0000, ID: 0x0308}
	f.Vectors[0], f.Vectors[15] = Vector{0xfee01004, 0x4021}, Vector{1<<32 + 2, 3}
	assert.Equal(t, unhex(t, "01000000"), appendQuestion(nil, AskWindow))
	window, id, table := f.answer(unhex(t, "01000000")), f.answer(unhex(t, "02000000")), f.answer(unhex(t, "03000000"))
	assert.Equal(t, unhex(t, "0000001060000000"), window)
	assert.Equal(t, unhex(t, "0803"), id)
	require.Len(t, table, 192)
	assert.Equal(t, unhex(t, "0410e0fe00000000 21400000"), table[:12])
	assert.Equal(t, unhex(t, "0200000001000000 03000000"), table[180:])
	for _, bad := range []string{"", "010000", "04000000", "00000001", "0100000000"} {
		assert.Nil(t, f.answer(unhex(t, bad)), bad)
	}
	var g Facts
	assert.Equal(t, []Question{AskWindow, AskID, AskVectors}, []Question{g.learn(window), g.learn(id), g.learn(table)})
	assert.Equal(t, f, g)
	assert.Zero(t, g.learn(make([]byte, 9)))
}
