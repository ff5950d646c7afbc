package tlp

import (
	"errors"
	"testing"

	"github.com/google/gopacket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRequest(t)
		if rapid.Bool().Draw(t, "write") {
			p.Kind += MWr32 - MRd32
			p.Data = rapid.SliceOfN(rapid.Byte(), 4*p.Len, 4*p.Len).Draw(t, "data")
			p.EP = rapid.Bool().Draw(t, "poisoned")
		}
		if p.TD = rapid.Bool().Draw(t, "td"); p.TD {
			p.Digest = rapid.Uint32().Draw(t, "digest")
		}
		b, err := p.Append(nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), MaxSize)
		var got Packet
		require.NoError(t, got.Decode(b))
		require.Equal(t, p, got)
	})
}

// Fields that a kind does not have are refused, because encoding would lose
// them.
func TestAppendRefusesForeignFields(t *testing.T) {
	read := Packet{Kind: MRd32, Len: 1, First: 15, Addr: 0x1000}
	for name, change := range map[string]func(*Packet){
		"status":        func(p *Packet) { p.Status = UR },
		"byte count":    func(p *Packet) { p.ByteCount = 4 },
		"lower address": func(p *Packet) { p.Lower = 4 },
		"completer":     func(p *Packet) { p.Completer = 1 },
		"code":          func(p *Packet) { p.Code = AssertINTA },
		"route":         func(p *Packet) { p.Route = Local },
		"data":          func(p *Packet) { p.Data = make([]byte, 4) },
		"digest":        func(p *Packet) { p.Digest = 1 },
		"class":         func(p *Packet) { p.TC = 8 },
		"tag":           func(p *Packet) { p.Tag = 0x400 },
		"enables":       func(p *Packet) { p.First = 16 },
		"length 0":      func(p *Packet) { p.Len = 0 },
		"length 1025":   func(p *Packet) { p.Len = 1025 },
		"kind":          func(p *Packet) { p.Kind = kinds },
	} {
		p := read
		change(&p)
		b, err := p.Append([]byte{1})
		assert.Error(t, err, name)
		assert.Equal(t, []byte{1}, b, name)
	}
	_, err := read.Append(nil)
	assert.NoError(t, err)
}

func TestKinds(t *testing.T) {
	classes := map[Class][]Kind{
		Posted:     {MWr32, MWr64, Msg, MsgD},
		NonPosted:  {MRd32, MRd64, CfgRd0, CfgWr0, IORd, IOWr, FetchAdd32, CAS64, MRdLk32},
		Completion: {Cpl, CplD, CplLk, CplDLk},
	}
	for class, ks := range classes {
		for _, k := range ks {
			assert.Equal(t, class, k.Class(), k.String())
		}
	}
	for b := 0; b < 256; b++ {
		if k := KindOf(byte(b)); k != None && table[k].typ != typeMsg {
			assert.Equal(t, byte(b), table[k].fmt<<5|table[k].typ)
		}
	}
}

func TestINTx(t *testing.T) {
	for _, tt := range []struct {
		code   Code
		wire   int
		assert bool
		ok     bool
	}{{0x1f, 0, false, false}, {0x20, 0, true, true}, {0x23, 3, true, true}, {0x24, 0, false, true}, {0x27, 3, false, true}, {0x28, 0, false, false}} {
		wire, on, ok := tt.code.INTx()
		assert.Equal(t, []any{tt.wire, tt.assert, tt.ok}, []any{wire, on, ok}, "%#x", tt.code)
	}
}

func TestEffective(t *testing.T) {
	want := [8]Status{SC, UR, CRS, UR, CA, UR, UR, UR}
	for s := range want {
		assert.Equal(t, want[s], Status(s).Effective())
	}
}

func TestNoAllocation(t *testing.T) {
	src := unhex("40000002 000000ff 00001000 0011223344556677")
	buf := make([]byte, 0, 64)
	var p Packet
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if p.Decode(src) != nil {
			panic("decode")
		}
		buf, _ = p.Append(buf[:0])
	}))
	assert.Equal(t, src, buf)
}

func TestLayer(t *testing.T) {
	for _, tt := range golden {
		raw := unhex(tt.hex)
		pkt := gopacket.NewPacket(raw, LayerType, gopacket.Default)
		require.Nil(t, pkt.ErrorLayer(), tt.name)
		l := pkt.Layer(LayerType).(*Layer)
		assert.Equal(t, tt.p, l.Packet)
		assert.Equal(t, raw[:tt.p.Kind.HeaderLen()], l.LayerContents())
		if len(tt.p.Data) > 0 {
			assert.Equal(t, tt.p.Data, pkt.ApplicationLayer().LayerContents())
		}

		var parsed Layer
		parser := gopacket.NewDecodingLayerParser(LayerType, &parsed)
		parser.IgnoreUnsupported = true
		var types []gopacket.LayerType
		require.NoError(t, parser.DecodeLayers(raw, &types))
		assert.Equal(t, []gopacket.LayerType{LayerType}, types)

		sent := Layer{Packet: tt.p}
		sent.Data = nil
		buf := gopacket.NewSerializeBuffer()
		require.NoError(t, gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, &sent, gopacket.Payload(tt.p.Data)))
		assert.Equal(t, raw, buf.Bytes(), tt.name)
	}
	bad := gopacket.NewPacket(unhex("1f000001 0000000f 00001000"), LayerType, gopacket.Default)
	assert.ErrorIs(t, bad.ErrorLayer().Error(), ErrMalformed)

	write := Layer{Packet: Packet{Kind: MWr32, Len: 1, First: 15, Data: []byte{1, 2, 3, 4}}}
	err := gopacket.SerializeLayers(gopacket.NewSerializeBuffer(), gopacket.SerializeOptions{}, &write)
	assert.ErrorIs(t, err, ErrMalformed, "the payload is not the data")
}

// FuzzDecode: an accepted packet encodes to the same bytes, and any other input
// fails with one of the two errors.
func FuzzDecode(f *testing.F) {
	for _, tt := range golden {
		f.Add(unhex(tt.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Packet
		if err := p.Decode(b); err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			if p.String() == "" {
				t.Fatal("no text")
			}
			return
		}
		got, err := p.Append(nil)
		if err != nil || string(got) != string(b) {
			t.Fatalf("%x decodes to %v, which encodes to %x, %v", b, &p, got, err)
		}
	})
}
