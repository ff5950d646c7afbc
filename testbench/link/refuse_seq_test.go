package link

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// with returns a packet with n bytes of data.
func with(header string, n int) []byte {
	return append(unhex(header), bytes.Repeat([]byte{0x11}, n)...)
}

// TestSequencerRefusesWrites: a write that is illegal (PCIe 3.0 §2.2.5, §2.2.7, §2.7.2.2) does not
// reach the target port and has no completion. It is counted, and the next write arrives.
func TestSequencerRefusesWrites(t *testing.T) {
	for _, tt := range []struct {
		name   string
		packet []byte
	}{
		{"no first enables", with("40000003000000f0"+"00001000", 12)},
		{"no last enables", with("400000030000000f"+"00001000", 12)},
		{"no enables", with("4000000300000000"+"00001000", 12)},
		{"no first enables of two dwords", with("40000002000000f0"+"00001000", 8)},
		{"no last enables of two dwords", with("400000020000000f"+"00001000", 8)},
		{"last enables of one dword", with("400000010000001f"+"00001000", 4)},
		{"a gap in the first enables", with("40000003000000f5"+"00001000", 12)},
		{"first enables away from the second dword", with("40000003000000f7"+"00001000", 12)},
		{"a gap in the last enables", with("400000030000005f"+"00001000", 12)},
		{"last enables away from the dword before", with("40000003000000ef"+"00001000", 12)},
		{"a gap in two dwords across a quadword", with("40000002000000f5"+"00001004", 8)},
		{"a gap at the end of two dwords across a quadword", with("40000002000000af"+"00001004", 8)},
		{"the bit of a digest", with("400080010000000f"+"00001000", 4)},
		{"a digest", with("400080010000000f"+"00001000", 8)},
		{"poisoned", with("400040010000000f"+"00001000", 4)},
		{"hints", with("400100010000000f"+"00001000", 4)},
		{"a reserved bit", with("400200010000000f"+"00001000", 4)},
		{"an address type of 1", with("400004010000000f"+"00001000", 4)},
		{"an address type of 2", with("400008010000000f"+"00001000", 4)},
		{"across 4 KiB", with("40000002000000ff"+"00001ffc", 8)},
		{"across 4 KiB, far", with("40000020000000ff"+"00001f84", 128)},
		{"no data", with("400000010000000f"+"00001000", 0)},
		{"half a dword", with("400000010000000f"+"00001000", 2)},
		{"too much data", with("400000010000000f"+"00001000", 8)},
		{"a long header of 12 bytes", with("600000010000000f"+"00000001", 0)},
		{"a long header of 12 bytes and 63 dwords", with("6000003f000000ff"+"00000001", 0)},
		{"a long header of 8 bytes and 62 dwords", with("6000003e000000ff", 0)},
		{"a long header of 4 bytes and 61 dwords", with("6000003d", 0)},
		{"a header of 8 bytes and 63 dwords", with("4000003f000000ff", 0)},
		{"a header of 4 bytes and 62 dwords", with("4000003e", 0)},
		{"no header", nil},
		{"a length of 0", with("40000000000000ff"+"00001000", 0)},
		{"a length of 65 with a dword", with("40000041000000ff"+"00001000", 4)},
		{"a length of 257 with a dword", with("40000101000000ff"+"00001000", 4)},
		{"two dwords of configuration", with("44000002000000ff"+"01000010", 8)},
		{"configuration with last enables", with("440000010000001f"+"01000010", 4)},
		{"configuration with a class", with("441000010000000f"+"01000010", 4)},
		{"configuration with an attribute", with("440020010000000f"+"01000010", 4)},
		{"configuration with an address type", with("440008010000000f"+"01000010", 4)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.count = counts{}
			c.data(0, tt.packet...)
			assert.Empty(t, c.reqs)
			assert.Empty(t, c.beats)
			assert.Empty(t, c.sent())
			assert.Equal(t, counts{packets: 1}, c.count)
			c.data(0, write...)
			require.Len(t, c.reqs, 1)
			assert.Equal(t, port.Request{Kind: port.MemWrite, Len: 1, Addr: 0x1000}, c.reqs[0])
		})
	}
}

// TestSequencerTakesWrites: writes next to the illegal ones arrive.
func TestSequencerTakesWrites(t *testing.T) {
	for _, tt := range []struct {
		name     string
		packet   []byte
		requests int
	}{
		{"no enables of one dword", with("4000000100000000"+"00001000", 4), 0},
		{"a gap in one dword", with("4000000100000005"+"00001000", 4), 2},
		{"gaps in an aligned quadword", with("40000002000000a5"+"00001000", 8), 4},
		{"two dwords across a quadword", with("400000020000001e"+"00001004", 8), 1},
		{"the last dwords of 4 KiB", with("40000002000000ff"+"00001ff8", 8), 1},
		{"128 bytes at the end of 4 KiB", with("40000020000000ff"+"00001f80", 128), 1},
		{"across 256 bytes", with("40000002000000ff"+"00001efc", 8), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.count = counts{}
			c.data(0, tt.packet...)
			assert.Len(t, c.reqs, tt.requests)
			assert.Zero(t, c.count)
		})
	}
}

// TestSequencerRefusesReads: a read that is poisoned, although it has no data, has no completion. One
// with hints or an address type is not supported, and its completion has the byte count and the
// address of the read (PCIe 3.0 §2.2.9), whatever else is wrong.
func TestSequencerRefusesReads(t *testing.T) {
	for _, tt := range []struct {
		name   string
		packet string
		want   string // the end of the completion: status and byte count, requester, tag, lower address
	}{
		{"poisoned", "000040017e7e010f" + "00001000", ""},
		{"poisoned with an address type", "20004814 7e7e01cc 00000005 00000ab4", "204e" + "7e7e" + "01" + "36"},
		{"an address type", "00000c01 7e7e010f 00001004", "2004" + "7e7e" + "01" + "04"},
		{"hints", "00010002 7e7e01ff 00001008", "2008" + "7e7e" + "01" + "08"},
		{"a dword, some bytes", "00000401 7e7e0106 00001004", "2002" + "7e7e" + "01" + "05"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.place("0100", 0)
			c.count, c.reqs = counts{}, nil
			c.data(0, unhex(stripped(tt.packet))...)
			var want [][]byte
			if tt.want != "" {
				p := unhex(tt.packet[:8])
				p[0], p[1], p[2], p[3] = 0x0a, p[1]&0xfc, p[2]&0x30, 0
				head := append(number(0xc, 1), number(0, c.next)...)
				want = [][]byte{checked(append(append(append(head, p...), 1, 0), unhex(tt.want)...), c.epoch)}
			}
			assert.Equal(t, want, c.sent())
			assert.Empty(t, c.reqs)
			assert.Equal(t, counts{packets: 1}, c.count)
		})
	}
}

// stripped returns a text without blanks.
func stripped(s string) string { return string(bytes.ReplaceAll([]byte(s), []byte(" "), nil)) }
