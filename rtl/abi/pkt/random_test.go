package pkt_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// packets draws legal packets of every type.
func packets() *rapid.Generator[pkt.Packet] {
	addr := rapid.Uint64()
	u32 := rapid.Uint32()
	co := rapid.Uint16Range(0, pkt.MaxCoord)
	return rapid.Custom(func(t *rapid.T) pkt.Packet {
		u := func(g *rapid.Generator[uint64], mask uint64) uint64 { return g.Draw(t, "addr") &^ mask }
		c := func() uint16 { return co.Draw(t, "coord") }
		switch rapid.IntRange(0, 14).Draw(t, "type") {
		case 0:
			return pkt.NOP{Skip: rapid.Uint16Range(0, 40).Draw(t, "skip")}
		case 1:
			return pkt.Indirect{Addr: u(addr, 3), Dwords: rapid.Uint32Range(0, pkt.MaxIndirect).Draw(t, "dwords"), Resume: rapid.Bool().Draw(t, "resume")}
		case 2:
			return pkt.SetState{
				Surface: pkt.Surface(rapid.Uint8Range(0, 1).Draw(t, "surface")),
				Base:    u(addr, 0),
				Pitch:   rapid.Uint32Range(0, pkt.MaxPitch).Draw(t, "pitch"),
				Format:  pkt.Format(rapid.Uint8Range(0, 4).Draw(t, "format")),
				X0:      c(), Y0: c(), X1: c(), Y1: c(),
			}
		case 3:
			return pkt.Copy{Src: u(addr, 0), Dst: u(addr, 0), Bytes: u32.Draw(t, "bytes")}
		case 4:
			return pkt.Copy2D{SrcX: c(), SrcY: c(), DstX: c(), DstY: c(), W: c(), H: c()}
		case 5:
			return pkt.Fill{Dst: u(addr, 0), Bytes: u32.Draw(t, "bytes"), Value: u(addr, 0)}
		case 6:
			return pkt.Fill2D{X: c(), Y: c(), W: c(), H: c(), Value: u(addr, 0)}
		case 7:
			return pkt.WriteReg{Off: u32.Draw(t, "off") & 0xfffc, Value: u32.Draw(t, "value")}
		case 8:
			if rapid.Bool().Draw(t, "signal") {
				return pkt.Signal{Addr: u(addr, 7), Value: u(addr, 0), IRQ: rapid.Bool().Draw(t, "irq")}
			}
			return pkt.Timestamp{Addr: u(addr, 7)}
		case 9:
			return pkt.Predicate{Addr: u(addr, 7), Dwords: rapid.Uint16().Draw(t, "dwords"), NonZero: rapid.Bool().Draw(t, "nonzero")}
		case 10:
			return pkt.SetWindow{
				Index: rapid.Uint8Range(0, 3).Draw(t, "index"), Writable: rapid.Bool().Draw(t, "writable"),
				Base: u(addr, 0), Size: u(addr, 0),
			}
		case 11:
			return pkt.WaitFence{Node: rapid.Uint8Range(0, 1).Draw(t, "node"), Value: u(addr, 0)}
		case 12:
			return pkt.SaveState{Addr: u(addr, 127)}
		case 13:
			return pkt.RestoreState{Addr: u(addr, 127)}
		default:
			return pkt.Fence{Addr: u(addr, 7), ID: u32.Draw(t, "id"), IRQ: rapid.Bool().Draw(t, "irq")}
		}
	})
}

// TestRoundTrip encodes streams of packets and decodes them.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(packets(), 0, 8).Draw(t, "packets")
		var b []byte
		var err error
		for _, p := range want {
			b, err = p.Append(b)
			require.NoError(t, err)
		}
		assert.Len(t, pkt.Disassemble(b, 0), len(want))
		for _, w := range want {
			var got pkt.Packet
			got, b, err = pkt.Decode(b)
			require.NoError(t, err)
			assert.Equal(t, w, got)
		}
		assert.Empty(t, b)
	})
}

// TestAnyBitFlipIsSeen flips each bit of each golden packet. The result must be
// refused or decode to another packet. A NOP's body is not checked.
func TestAnyBitFlipIsSeen(t *testing.T) {
	for _, tt := range golden {
		n := len(tt.b)
		if tt.p.Op() == pkt.OpNOP {
			n = 4
		}
		for bit := range 8 * n {
			b := bytes.Clone(tt.b)
			b[bit/8] ^= 1 << (bit % 8)
			p, rest, err := pkt.Decode(b)
			if err != nil {
				assert.Nil(t, p)
				assert.Equal(t, b, rest)
				continue
			}
			assert.NotEqual(t, tt.p, p, "%s bit %d", tt.name, bit)
		}
	}
}

// FuzzDecode checks that decoded packets encode to the same bytes, and that
// disassembly accepts any bytes, covers all of them, and shows an error where
// Decode fails.
func FuzzDecode(f *testing.F) {
	for _, tt := range golden {
		f.Add(tt.b)
		f.Add(tt.b[:len(tt.b)-1])
	}
	f.Add(words(0, 0x01000003, 0xffffffff))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := pkt.Disassemble(b, pkt.Host)
		assert.Equal(t, len(b) == 0, len(lines) == 0)
		p, rest, err := pkt.Decode(b)
		if err != nil {
			assert.Nil(t, p)
			assert.True(t, bytes.Equal(b, rest))
			if len(b) >= 4 {
				assert.True(t, strings.HasSuffix(lines[0], " ; "+err.Error()), lines[0])
			}
			return
		}
		assert.NotContains(t, lines[0], ";")
		got, err := p.Append(nil)
		require.NoError(t, err)
		want := bytes.Clone(b[:len(b)-len(rest)])
		if p.Op() == pkt.OpNOP {
			clear(want[4:])
		}
		assert.Equal(t, want, got)
		assert.Equal(t, binary.LittleEndian.Uint32(b)&pkt.HeaderBody, uint32(len(got)/4-1))
	})
}
