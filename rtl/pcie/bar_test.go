package pcie

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func TestRegisterReads(t *testing.T) {
	for off := range uint64(4) {
		for n := uint64(1); n <= 8; n++ {
			b := mapped(t)
			for i := range uint16(16) {
				b.regs[0x100+4*i] = 0xa0000000 + uint32(i)
			}
			got := b.request(port.Request{Kind: port.MemRead, Tag: 7, Len: uint8(n), Addr: bar0 + 0x100 + off*4})
			require.Len(t, got, int(port.Beats(off*4, uint8(n))))
			for i, c := range got {
				require.Equal(t, port.CplSuccess, c.Status)
				require.Equal(t, uint8(7), c.Tag)
				require.Equal(t, i == len(got)-1, c.Last)
			}
			for i := off; i < off+n; i++ {
				beat := got[i/2-off/2].Data
				require.Equal(t, 0xa0000000+uint32(i), uint32(beat>>(32*(i&1))), "dword %d of %d from %d", i, n, off)
			}
			require.Len(t, b.ops, int(n), "each dword is read once")
			require.Empty(t, b.errs)
		}
	}
}

func TestUnansweredRegisterRead(t *testing.T) {
	b := mapped(t)
	for i := range uint16(8) {
		b.regs[0x200+4*i] = uint32(i)
	}
	delete(b.regs, 0x20c)
	got := b.request(port.Request{Kind: port.MemRead, Tag: 2, Len: 8, Addr: bar0 + 0x200})
	require.Len(t, got, 2)
	assert.Equal(t, port.Completion{Tag: 2, Status: port.CplSuccess, Data: 1 << 32}, got[0])
	got[1].Data = 0
	assert.Equal(t, port.Completion{Tag: 2, Status: port.CplAbort, Last: true}, got[1])
	assert.Len(t, b.ops, 4, "later dwords are not read")
	assert.Equal(t, []ident.Error{{Cause: 1, Addr: bar0 + 0x20c}}, b.errs)
}

func TestRegisterWrites(t *testing.T) {
	full := func(last bool, data uint64) port.Beat {
		return port.Beat{Valid: true, Last: last, Enable: 0xff, Data: data}
	}
	part := func(enable uint8, data uint64) port.Beat {
		return port.Beat{Valid: true, Last: true, Enable: enable, Data: data}
	}
	w := func(off uint16, v uint32) regbus.Req { return regbus.Req{Op: regbus.Write, Off: off, Data: v} }
	e := func(cause uint8, off uint64) ident.Error {
		return ident.Error{Cause: cause, Write: true, Addr: bar0 + off}
	}
	for _, tt := range []struct {
		name  string
		off   uint64
		n     uint8
		beats []port.Beat
		ops   []regbus.Req
		errs  []ident.Error
	}{
		{"lower half", 0x10, 1, []port.Beat{part(0x0f, 5)}, []regbus.Req{w(0x10, 5)}, nil},
		{"upper half", 0x14, 1, []port.Beat{part(0xf0, 5<<32)}, []regbus.Req{w(0x14, 5)}, nil},
		{"both", 0x10, 2, []port.Beat{full(true, 6<<32|5)}, []regbus.Req{w(0x10, 5), w(0x14, 6)}, nil},
		{"four dwords across beats", 0x14, 4, []port.Beat{{Valid: true, Enable: 0xf0, Data: 1 << 32}, full(false, 3<<32|2), part(0x0f, 4)},
			[]regbus.Req{w(0x14, 1), w(0x18, 2), w(0x1c, 3), w(0x20, 4)}, nil},
		{"no byte", 0x10, 1, []port.Beat{part(0, 5)}, nil, nil},
		{"one byte", 0x10, 1, []port.Beat{part(0x01, 5)}, nil, []ident.Error{e(2, 0x10)}},
		{"three bytes of the upper half", 0x14, 1, []port.Beat{part(0xe0, 5)}, nil, []ident.Error{e(2, 0x14)}},
		{"a partial and a complete dword", 0x10, 2, []port.Beat{part(0xfc, 6<<32|5)}, []regbus.Req{w(0x14, 6)}, []ident.Error{e(2, 0x10)}},
		{"unmapped", 0x40, 1, []port.Beat{part(0x0f, 5)}, []regbus.Req{w(0x40, 5)}, []ident.Error{e(1, 0x40)}},
		{"unmapped, then mapped", 0x3c, 2, []port.Beat{{Valid: true, Enable: 0xf0, Data: 1 << 32}, part(0x0f, 2)},
			[]regbus.Req{w(0x3c, 1), w(0x40, 2)}, []ident.Error{e(1, 0x40)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := mapped(t)
			for i := range uint16(16) {
				b.regs[4*i] = 0
			}
			got := b.request(port.Request{Kind: port.MemWrite, Len: tt.n, Addr: bar0 + tt.off}, tt.beats...)
			assert.Empty(t, got, "posted")
			assert.Equal(t, tt.ops, b.ops)
			assert.Equal(t, tt.errs, b.errs)
		})
	}
}

// TestRegisterWriteTime counts the clocks of a write. Two of them are for the
// header.
func TestRegisterWriteTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		off    uint64
		enable uint8
		clocks int
	}{
		{"both halves", 0x10, 0xff, 2 + 4 + 4},
		{"lower half", 0x10, 0x0f, 2 + 4 + 2},
		{"upper half", 0x14, 0xf0, 2 + 4},
		{"a refused half", 0x10, 0xf1, 2 + 2 + 4},
		{"an unmapped register", 0x20, 0x0f, 2 + 4 + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := mapped(t)
			b.regs[0x10], b.regs[0x14] = 0, 0
			before := b.clock
			b.request(port.Request{Kind: port.MemWrite, Len: 1, Addr: bar0 + tt.off}, port.Beat{Valid: true, Last: true, Enable: tt.enable})
			assert.Equal(t, tt.clocks, b.clock-before)
		})
	}
}

// TestHeld holds the register bus in random clocks. Nothing but the time changes,
// and an access is on the bus until a clock in which the bus is free.
func TestHeld(t *testing.T) {
	full := port.Beat{Valid: true, Enable: 0xff, Data: 6<<32 | 5}
	part := func(enable uint8) port.Beat { return port.Beat{Valid: true, Last: true, Enable: enable, Data: 4} }
	run := func(held int) *bench {
		b := mapped(t)
		b.m.shared = true
		rng := rand.New(rand.NewPCG(uint64(held), 1))
		b.hold = func() bool { return rng.IntN(100) < held }
		for i := range uint16(8) {
			b.regs[4*i] = uint32(i)
		}
		for range 30 {
			b.request(port.Request{Kind: port.MemWrite, Len: 3, Addr: bar0 + 0x10}, full, part(0x0f))
			b.request(port.Request{Kind: port.MemWrite, Len: 2, Addr: bar0 + 0x1c}, port.Beat{Valid: true, Enable: 0xf0}, part(0x07))
			b.request(port.Request{Kind: port.MemRead, Len: 9, Addr: bar0})
			b.request(port.Request{Kind: port.MemRead, Len: 1, Addr: bar0 - 4})
		}
		return b
	}
	want := run(0)
	require.Len(t, want.errs, 90)
	for _, held := range []int{10, 50, 90} {
		got := run(held)
		assert.Equal(t, want.ops, got.ops)
		assert.Equal(t, want.errs, got.errs)
		assert.Equal(t, want.regs, got.regs)
		assert.Greater(t, got.clock, want.clock)
	}
}

// stalls are patterns of back-pressure.
var stalls = map[string]func(clock int) bool{
	"never":      nil,
	"every 2nd":  func(c int) bool { return c%2 == 0 },
	"2 of 3":     func(c int) bool { return c%3 != 0 },
	"long waits": func(c int) bool { return c%23 < 19 },
}

func TestApertureReads(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			b := mapped(t)
			b.stall = stall
			for n := uint64(1); n <= port.MaxLen; n++ {
				for off := uint64(0); off+n <= port.MaxLen; off++ {
					addr := uint64(0x1080) + 4*off
					got := b.request(port.Request{Kind: port.MemRead, Tag: uint8(n), Len: uint8(n), Addr: bar2 + addr})
					require.Len(t, got, int(port.Beats(addr, uint8(n))))
					for i, c := range got {
						want := port.Completion{Tag: uint8(n), Status: port.CplSuccess, Last: i == len(got)-1,
							Data: word(b.vram[addr&^7+uint64(i)*8:])}
						require.Equal(t, want, c)
					}
				}
			}
			require.Empty(t, b.errs)
		})
	}
}

func TestApertureReadRate(t *testing.T) {
	b := mapped(t)
	before := b.clock
	b.request(port.Request{Kind: port.MemRead, Len: 32, Addr: bar2})
	assert.LessOrEqual(t, b.clock-before, 16+b.latency+4)
}

func TestApertureWrites(t *testing.T) {
	for name, stall := range stalls {
		t.Run(name, func(t *testing.T) {
			b := mapped(t)
			b.stall = stall
			for n := 1; n <= 16; n++ {
				var beats []port.Beat
				for i := range n {
					beats = append(beats, port.Beat{Valid: true, Last: i == n-1, Enable: 0xff, Data: uint64(n<<8 | i)})
				}
				beats[0].Enable = 0xf8
				b.writes, b.beats = nil, nil
				b.request(port.Request{Kind: port.MemWrite, Len: uint8(2 * n), Addr: bar2 + 0x400}, beats...)
				want := []port.Request{{Kind: port.MemWrite, Len: uint8(2 * n), Addr: 0x400}}
				require.Equal(t, want, b.writes)
				require.Equal(t, beats, b.beats)
			}
		})
	}
	b := mapped(t)
	var beats []port.Beat
	for i := range 16 {
		beats = append(beats, port.Beat{Valid: true, Last: i == 15, Enable: 0xff})
	}
	before := b.clock
	b.request(port.Request{Kind: port.MemWrite, Len: 32, Addr: bar2}, beats...)
	assert.LessOrEqual(t, b.clock-before, 20, "a beat a clock")
}

func TestRegisterWriteWaitsForAperture(t *testing.T) {
	b := mapped(t)
	b.regs[0x10] = 0
	b.stall = stalls["long waits"]
	reqs := []port.Request{
		{Kind: port.MemWrite, Len: 4, Addr: bar2},
		{Kind: port.MemWrite, Len: 1, Addr: bar0 + 0x10},
		{Kind: port.MemWrite, Len: 2, Addr: bar2 + 8},
	}
	beats := []port.Beat{
		{Valid: true, Enable: 0xff}, {Valid: true, Last: true, Enable: 0xff},
		lanes(0x10, 3, 0xf), {Valid: true, Last: true, Enable: 0xff},
	}
	for len(b.order) < 4 {
		var in Target
		if len(reqs) != 0 {
			in.Req = reqs[0]
		}
		if len(beats) != 0 {
			in.Beat = beats[0]
		}
		_, reqTaken, beatTaken := b.tick(in)
		if reqTaken {
			reqs = reqs[1:]
		}
		if beatTaken {
			beats = beats[1:]
		}
		require.Less(t, b.clock, 1000)
	}
	assert.Equal(t, []string{"vram", "vram", "register", "vram"}, b.order)
}
