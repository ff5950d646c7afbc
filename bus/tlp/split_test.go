package tlp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestByteCount tests one row of each kind from the table "Calculating Byte
// Count from Length and Byte Enables" of PCIe 3.0 §2.3.1.1.
func TestByteCount(t *testing.T) {
	for _, tt := range []struct {
		first, last uint8
		length      int
		want        int
	}{
		{0b1001, 0, 1, 4}, {0b1111, 0, 1, 4}, {0b0101, 0, 1, 3}, {0b0111, 0, 1, 3}, {0b1010, 0, 1, 3}, {0b1110, 0, 1, 3},
		{0b0011, 0, 1, 2}, {0b0110, 0, 1, 2}, {0b1100, 0, 1, 2},
		{0b0001, 0, 1, 1}, {0b0010, 0, 1, 1}, {0b0100, 0, 1, 1}, {0b1000, 0, 1, 1}, {0, 0, 1, 1},
		{0b0001, 0b1000, 10, 40}, {0b1111, 0b0100, 10, 39}, {0b1111, 0b0010, 10, 38}, {0b1111, 0b0001, 10, 37},
		{0b0010, 0b1111, 10, 39}, {0b1110, 0b0111, 10, 38}, {0b1110, 0b0011, 10, 37}, {0b1110, 0b0001, 10, 36},
		{0b1100, 0b1111, 10, 38}, {0b0100, 0b0100, 10, 37}, {0b1100, 0b0011, 10, 36}, {0b1100, 0b0001, 10, 35},
		{0b1000, 0b1111, 10, 37}, {0b1000, 0b0111, 10, 36}, {0b1000, 0b0011, 10, 35}, {0b1000, 0b0001, 10, 34},
		{0b1111, 0b1111, 1024, 4096},
	} {
		assert.Equal(t, tt.want, ByteCount(tt.length, tt.first, tt.last), "%04b %04b %d", tt.first, tt.last, tt.length)
	}
}

func TestLowerAddress(t *testing.T) {
	for first, low := range []uint8{0, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0} {
		assert.Equal(t, 0x3c|low, LowerAddress(0x1_0000_12bc, uint8(first)), "%04b", first)
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name        string
		addr        uint64
		length      int
		first, last uint8
		rcb, max    int
		want        []Part
	}{
		{"one dword", 0x1010, 1, 0xf, 0, 64, 128, []Part{{0, 1, 4, 0x10}}},
		{"zero length", 0x1014, 1, 0, 0, 64, 128, []Part{{0, 1, 1, 0x14}}},
		{"fits one completion across a boundary", 0x1030, 8, 0xf, 0xf, 64, 128, []Part{{0, 8, 32, 0x30}}},
		{"the first ends at the boundary", 0x1004, 64, 0xf, 0xf, 64, 128,
			[]Part{{0, 31, 256, 0x04}, {124, 32, 132, 0}, {252, 1, 4, 0}}},
		{"smallest payload", 0x103c, 33, 0xe, 0x3, 64, 64,
			[]Part{{0, 1, 129, 0x3d}, {4, 16, 126, 0x40}, {68, 16, 62, 0}}},
		{"boundary of 128", 0x1044, 48, 0xf, 0xf, 128, 128,
			[]Part{{0, 15, 192, 0x44}, {60, 32, 132, 0}, {188, 1, 4, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Split(nil, tt.addr, tt.length, tt.first, tt.last, tt.rcb, tt.max))
		})
	}
	assert.Panics(t, func() { Split(nil, 0, 1, 15, 0, 32, 128) })
	assert.Panics(t, func() { Split(nil, 0, 1, 15, 0, 128, 64) })
}

// drawRequest returns a random legal memory read.
func drawRequest(t *rapid.T) Packet {
	p := Packet{
		Kind: MRd32, Len: rapid.IntRange(1, MaxLen).Draw(t, "len"),
		TC: rapid.Uint8Range(0, 7).Draw(t, "tc"), Attr: Attr(rapid.Uint8Range(0, 7).Draw(t, "attr")),
		Requester: ID(rapid.Uint16().Draw(t, "requester")), Tag: rapid.Uint16Range(0, 0x3ff).Draw(t, "tag"),
	}
	page := rapid.Uint64Range(0, 1<<52-1).Draw(t, "page")
	if rapid.Bool().Draw(t, "low") {
		page &= 1<<20 - 1
	}
	p.Addr = page<<12 | uint64(rapid.IntRange(0, MaxLen-p.Len).Draw(t, "dword"))*4
	if p.Addr>>32 != 0 {
		p.Kind = MRd64
	}
	p.First = 15 << rapid.IntRange(0, 3).Draw(t, "first") & 15
	p.Last = 15 >> rapid.IntRange(0, 3).Draw(t, "last")
	if p.Len == 1 {
		p.First, p.Last = rapid.Uint8Range(0, 15).Draw(t, "enables"), 0
	}
	return p
}

// The completions of any legal read are legal and contiguous, end at the
// boundary, count down to zero, and survive encoding and decoding.
func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRequest(t)
		require.NoError(t, p.Check())
		rcb := rapid.SampledFrom([]int{64, 128}).Draw(t, "rcb")
		max := rapid.SampledFrom([]int{128, 256, 512, 4096}).Draw(t, "payload")
		data := rapid.SliceOfN(rapid.Byte(), 4*p.Len, 4*p.Len).Draw(t, "data")
		parts := Split(nil, p.Addr, p.Len, p.First, p.Last, rcb, max)
		var got []byte
		bytes := ByteCount(p.Len, p.First, p.Last)
		for i, part := range parts {
			sent := p.ReplyData(0x100, part, data)
			raw, err := sent.Append(nil)
			require.NoError(t, err)
			var c Packet
			require.NoError(t, c.Decode(raw))
			require.Equal(t, len(got), part.Off)
			require.LessOrEqual(t, 4*c.Len, max)
			require.Equal(t, bytes, c.ByteCount)
			if i > 0 {
				require.Equal(t, uint8(p.Addr+uint64(part.Off))&0x7f, c.Lower)
			}
			n, last := c.Carries()
			bytes -= n
			require.Equal(t, i == len(parts)-1, last)
			got = append(got, c.Data...)
			if !last {
				require.Zero(t, (p.Addr+uint64(len(got)))%uint64(rcb))
			}
		}
		require.Zero(t, bytes)
		require.Equal(t, data, got)
	})
}
