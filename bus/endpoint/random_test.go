package endpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// An expected is a completion computed byte by byte.
type expected struct {
	status tlp.Status
	cpl    tlp.Kind // Cpl or CplD
	addr   uint64   // of the first dword
	data   []byte   // complete dwords
	from   int      // first enabled byte
	to     int      // one past the last enabled byte
	got    int      // dwords received
}

// reference is the reference model: the memory contents and the due
// completions.
type reference struct {
	ram    [ramBytes]byte
	config [4096]byte
	due    map[uint16]*expected
}

// span returns the enabled bytes of a request. A read without enabled bytes
// counts as one of its first byte.
func span(p *tlp.Packet) (enabled []bool, from, to int) {
	enabled = make([]bool, 4*p.Len)
	for i := range enabled {
		bits := uint8(0xf)
		if i >= 4*p.Len-4 && p.Len > 1 {
			bits = p.Last
		}
		if i < 4 {
			bits = p.First
		}
		enabled[i] = bits>>(i%4)&1 != 0
	}
	from, to = -1, 0
	for i, on := range enabled {
		if on {
			to = i + 1
		}
		if on && from < 0 {
			from = i
		}
	}
	if from < 0 {
		return enabled, 0, 1
	}
	return enabled, from, to
}

// do performs p.
func (s *reference) do(p *tlp.Packet) {
	enabled, from, to := span(p)
	mem := s.ram[:]
	e := &expected{cpl: tlp.CplD, addr: p.Addr, from: from, to: to}
	if p.IsConfig() {
		mem = s.config[:]
		e.from, e.to = 0, 4
		e.addr = 0
	}
	if p.Kind.HasData() {
		for i, on := range enabled {
			if on && p.Addr+uint64(i) < uint64(len(mem)) {
				mem[p.Addr+uint64(i)] = p.Data[i]
			}
		}
		e.cpl = tlp.Cpl
	}
	flush := p.IsMemory() && p.Len == 1 && p.First == 0
	switch {
	case p.IsMemory() && p.Kind.HasData():
		return
	case flush:
		e.data = make([]byte, 4)
	case p.IsMemory() && p.Addr >= abortAt:
		e.status, e.cpl = tlp.CA, tlp.Cpl
	case p.IsMemory() && p.Addr >= holeAt:
		e.status, e.cpl = tlp.UR, tlp.Cpl
	default:
		e.data = append(e.data, mem[p.Addr:p.Addr+uint64(4*p.Len)]...)
	}
	s.due[p.Tag] = e
}

// answer checks a completion against the due ones (PCIe 3.0 §2.2.9, §2.3.1.1).
func (s *reference) answer(t tester, p *tlp.Packet, maxPayload int) {
	e := s.due[p.Tag]
	require.NotNil(t, e, "unexpected completion %v", p)
	require.Equal(t, e.cpl, p.Kind)
	require.Equal(t, e.status, p.Status)
	require.Equal(t, boardID, p.Completer)
	at := max(e.from, 4*e.got)
	require.Equal(t, e.to-at, p.ByteCount, "%v", p)
	require.Equal(t, uint8(e.addr+uint64(at))&0x7f, p.Lower, "%v", p)
	if p.Kind == tlp.Cpl {
		delete(s.due, p.Tag)
		return
	}
	require.LessOrEqual(t, 4*p.Len, maxPayload)
	require.Equal(t, e.data[4*e.got:4*(e.got+p.Len)], p.Data, "%v", p)
	e.got += p.Len
	if 4*e.got == len(e.data) {
		delete(s.due, p.Tag)
		return
	}
	require.Zero(t, (e.addr+uint64(4*e.got))%128, "%v ends off the boundary", p)
}

func drawEnables(t *rapid.T, addr uint64, n int) (first, last uint8) {
	any := rapid.Uint8Range(1, 15)
	switch {
	case n == 1:
		return rapid.Uint8Range(0, 15).Draw(t, "first"), 0
	case n == 2 && addr%8 == 0:
		return any.Draw(t, "first"), any.Draw(t, "last")
	}
	return rapid.SampledFrom([]uint8{0xf, 0xe, 0xc, 8}).Draw(t, "first"), rapid.SampledFrom([]uint8{0xf, 7, 3, 1}).Draw(t, "last")
}

// drawRequest returns a random valid request.
func drawRequest(t *rapid.T, tag uint16) tlp.Packet {
	p := tlp.Packet{Requester: 0x0018, Tag: tag, TC: 0, Attr: tlp.Attr(rapid.IntRange(0, 3).Draw(t, "attr"))}
	kind := rapid.SampledFrom([]tlp.Kind{tlp.MRd32, tlp.MWr32, tlp.MRd32, tlp.MWr32, tlp.MWr32, tlp.CfgRd0, tlp.CfgWr0}).Draw(t, "kind")
	p.Kind = kind
	if p.IsConfig() {
		p.Attr, p.Completer, p.Len = 0, boardID, 1
		p.Addr = 4 * uint64(rapid.IntRange(2, 1023).Draw(t, "offset")) // not the command register
		p.First = uint8(rapid.IntRange(0, 15).Draw(t, "first"))
	} else {
		page := rapid.SampledFrom([]uint64{0, 0, 0x1000, 0x3000, holeAt, abortAt}).Draw(t, "page")
		p.Addr = page + 4*uint64(rapid.IntRange(0, 1023).Draw(t, "dword"))
		p.Len = rapid.IntRange(1, min(200, int(0x1000-p.Addr%0x1000)/4)).Draw(t, "len")
		if rapid.Bool().Draw(t, "short") {
			p.Len = min(p.Len, 3)
		}
		p.First, p.Last = drawEnables(t, p.Addr, p.Len)
	}
	if kind.HasData() {
		p.Data = fill(make([]byte, 4*p.Len), rapid.IntRange(0, 255).Draw(t, "from"))
	}
	return p
}

// TestRandomRequests: the host gets the data of a memory that serves one
// request after another, in completions that obey the specification.
func TestRandomRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev := &testDevice{}
		if seed := rapid.Uint64().Draw(t, "seed"); seed%4 != 0 {
			dev.rng = rand.New(rand.NewPCG(seed, 1))
		}
		opt := endpoint.Options{
			MaxPayload: rapid.SampledFrom([]int{0, 128, 256, 4096}).Draw(t, "payload"),
			Queue:      rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "queue"),
			Reads:      rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "reads"),
		}
		b := newBench(t, dev, opt)
		if opt.MaxPayload == 0 {
			opt.MaxPayload = 128
		}
		s := &reference{config: dev.config, due: map[uint16]*expected{}}
		for i := range rapid.IntRange(1, 25).Draw(t, "requests") {
			p := drawRequest(t, uint16(i))
			s.do(&p)
			b.send(p)
			if rapid.Bool().Draw(t, "wait") {
				for _, c := range b.packets() {
					s.answer(t, &c, opt.MaxPayload)
				}
			}
		}
		for _, c := range b.packets() {
			s.answer(t, &c, opt.MaxPayload)
		}
		require.Empty(t, s.due)
		require.Equal(t, s.ram, dev.ram)
		require.Equal(t, s.config, dev.config)
	})
}
