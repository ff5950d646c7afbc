package endpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestDeviceWrites sweeps address and length: the packet enables the bytes of
// the write, with the shortest possible header.
func TestDeviceWrites(t *testing.T) {
	b := plain(t)
	for _, base := range []uint64{0x1000, 0xffff_ff80, 0x7_0000_0000} {
		for off := range uint64(12) {
			for n := 1; n <= 128-int(off); n++ {
				addr := base + off
				data := fill(make([]byte, n), n)
				b.dev.sendWrite(addr, data)
				got := b.packets()
				require.Len(t, got, 1)
				p := got[0]
				want := tlp.MWr32
				if base>>32 != 0 {
					want = tlp.MWr64
				}
				require.Equal(t, []any{want, addr &^ 3, boardID}, []any{p.Kind, p.Addr, p.Requester})
				enabled, from, to := span(&p)
				require.Equal(t, []int{int(addr % 4), n}, []int{from, to - from})
				require.Less(t, 4*p.Len-to, 4)
				require.Equal(t, data, p.Data[from:to])
				for _, on := range enabled[from:to] {
					require.True(t, on)
				}
			}
		}
	}
}

// TestWriteWithEmptyEnds: enough bytes may be disabled at the ends that complete
// dwords are disabled, which a header cannot express (PCIe 3.0 §2.2.5).
func TestWriteWithEmptyEnds(t *testing.T) {
	b := plain(t)
	beat := func(last bool, enable uint8) port.Beat {
		return port.Beat{Valid: true, Last: last, Enable: enable, Data: 0x8877665544332211}
	}
	b.dev.script = []step{
		{port.Request{Kind: port.MemWrite, Len: 6, Addr: 0x1000}, []port.Beat{beat(false, 0xc0), beat(false, 0xff), beat(true, 0x01)}},
		{port.Request{Kind: port.MemWrite, Len: 4, Addr: 0x1000}, []port.Beat{beat(false, 0x06), beat(true, 0x00)}},
		{port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x1000}, []port.Beat{beat(true, 0x00)}},
	}
	got := b.packets()
	require.Len(t, got, 2)
	assert.Equal(t, []any{uint64(0x1004), 4, uint8(0xc), uint8(0x1)}, []any{got[0].Addr, got[0].Len, got[0].First, got[0].Last})
	assert.Equal(t, []any{uint64(0x1000), 1, uint8(0x6), uint8(0)}, []any{got[1].Addr, got[1].Len, got[1].First, got[1].Last})
}

// reply completes a read of the device with the given dwords, from off bytes
// on.
func reply(read tlp.Packet, off, dwords int) tlp.Packet {
	p := tlp.Packet{Kind: tlp.CplD, Requester: read.Requester, Tag: read.Tag, Len: dwords,
		ByteCount: 4*read.Len - off, Lower: uint8(read.Addr+uint64(off)) & 0x7f}
	for i := range 4 * dwords {
		p.Data = append(p.Data, byte(read.Addr)+byte(off+i))
	}
	return p
}

func TestDeviceRead(t *testing.T) {
	b := plain(t)
	b.dev.sendRead(7, 0x103c, 4)
	got := b.packets()
	require.Len(t, got, 1)
	r := got[0]
	assert.Equal(t, tlp.Packet{Kind: tlp.MRd32, Requester: boardID, Addr: 0x103c, Len: 4, First: 0xf, Last: 0xf}, r)
	assert.Equal(t, 1, b.end.Reads())
	b.send(reply(r, 0, 1))
	b.send(reply(r, 4, 3))
	assert.Zero(t, b.end.Reads())
	assert.Empty(t, b.packets())
	assert.Equal(t, []port.Completion{
		success(7, false, 0x3f3e3d3c_00000000),
		success(7, false, 0x47464544_43424140),
		success(7, true, 0x4b4a4948),
	}, b.dev.cpls)
}

// TestBadCompletions: a completion that does not match leaves the read waiting,
// and the correct one is still accepted.
func TestBadCompletions(t *testing.T) {
	for _, tt := range []struct {
		name string
		lie  func(p *tlp.Packet)
		err  error
	}{
		{"foreign tag", func(p *tlp.Packet) { p.Tag++ }, endpoint.ErrUnexpected},
		{"tag of ten bits", func(p *tlp.Packet) { p.Tag |= 0x100 }, endpoint.ErrUnexpected},
		{"foreign requester", func(p *tlp.Packet) { p.Requester++ }, endpoint.ErrUnexpected},
		{"byte count too small", func(p *tlp.Packet) { p.ByteCount -= 4; p.Len--; p.Data = p.Data[4:] }, tlp.ErrMalformed},
		{"byte count too large", func(p *tlp.Packet) { p.ByteCount++ }, tlp.ErrMalformed},
		{"lower address", func(p *tlp.Packet) { p.Lower ^= 4 }, tlp.ErrMalformed},
		{"short of the boundary", func(p *tlp.Packet) { p.Len--; p.Data = p.Data[4:] }, tlp.ErrMalformed},
		{"class", func(p *tlp.Packet) { p.TC = 1 }, tlp.ErrMalformed},
		{"attributes", func(p *tlp.Packet) { p.Attr = tlp.NoSnoop }, tlp.ErrMalformed},
		{"success without data", func(p *tlp.Packet) { p.Kind, p.Len, p.Data = tlp.Cpl, 0, nil }, tlp.ErrMalformed},
		{"retry", func(p *tlp.Packet) { p.Kind, p.Len, p.Data, p.Status = tlp.Cpl, 0, nil, tlp.CRS }, tlp.ErrMalformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plain(t)
			b.dev.sendRead(7, 0x1020, 4)
			r := b.packets()[0]
			lie := reply(r, 0, 4)
			tt.lie(&lie)
			assert.ErrorIs(t, b.end.Receive(encode(t, lie)), tt.err)
			b.packets()
			assert.Empty(t, b.dev.cpls)
			b.send(reply(r, 0, 4))
			b.packets()
			assert.Equal(t, []port.Completion{success(7, false, 0x2726252423222120), success(7, true, 0x2f2e2d2c2b2a2928)}, b.dev.cpls)
			assert.ErrorIs(t, b.end.Receive(encode(t, reply(r, 0, 4))), endpoint.ErrUnexpected, "twice")
		})
	}
}

// TestFailedDeviceRead: an unsuccessful completion ends a read.
func TestFailedDeviceRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status tlp.Status
		want   port.Status
	}{
		{"unsupported", tlp.UR, port.CplUnsupported},
		{"abort", tlp.CA, port.CplAbort},
		{"reserved is unsupported", 7, port.CplUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plain(t)
			b.dev.sendRead(7, 0x1000, 32)
			r := b.packets()[0]
			b.send(reply(r, 0, 16))
			b.send(tlp.Packet{Kind: tlp.Cpl, Status: tt.status, Requester: r.Requester, Tag: r.Tag, ByteCount: 64})
			b.packets()
			require.Len(t, b.dev.cpls, 9)
			assert.Equal(t, port.Completion{Tag: 7, Status: tt.want, Last: true}, b.dev.cpls[8])
			assert.Zero(t, b.end.Reads())
		})
	}
}

// TestPoisonedAnswer: poisoned data does not reach the device, and the
// remaining completions are dropped before the tag is reused.
func TestPoisonedAnswer(t *testing.T) {
	b := plain(t)
	b.dev.sendRead(7, 0x1000, 32)
	r := b.packets()[0]
	p := reply(r, 0, 16)
	p.EP = true
	assert.ErrorIs(t, b.end.Receive(encode(t, p)), endpoint.ErrPoisoned)
	b.dev.sendRead(8, 0x2000, 1)
	again := b.packets()
	require.Len(t, again, 1)
	assert.NotEqual(t, r.Tag, again[0].Tag)
	assert.Equal(t, []port.Completion{{Tag: 7, Status: port.CplAbort, Last: true}}, b.dev.cpls)
	assert.ErrorIs(t, b.end.Receive(encode(t, reply(r, 64, 16))), endpoint.ErrUnexpected)
	b.dev.sendRead(9, 0x2000, 1)
	assert.Equal(t, r.Tag, b.packets()[0].Tag)
}

// TestTimeout: a read without completion ends after exactly Timeout clocks, and
// its tag stays reserved for the late completion.
func TestTimeout(t *testing.T) {
	b := newBench(t, &testDevice{}, endpoint.Options{Timeout: 1000})
	b.dev.sendRead(7, 0x1000, 32)
	r, ok := b.next()
	require.True(t, ok)
	sent := b.end.Now() - 1
	assert.Equal(t, sent+1000-b.end.Now(), b.end.Idle())
	b.end.Run(sent + 1000 - b.end.Now())
	assert.Empty(t, b.dev.cpls)
	b.end.Run(1)
	assert.Equal(t, []port.Completion{{Tag: 7, Status: port.CplAbort, Last: true}}, b.dev.cpls)
	assert.Equal(t, []uint64{sent + 1000}, b.dev.cplAt)
	assert.Equal(t, uint64(1), b.end.Stats().Timeouts)

	b.dev.sendRead(7, 0x1000, 2)
	next, ok := b.next()
	require.True(t, ok)
	assert.NotEqual(t, r.Tag, next.Tag)
	assert.ErrorIs(t, b.end.Receive(encode(t, reply(r, 0, 16))), endpoint.ErrUnexpected)
	b.dev.sendRead(8, 0x1000, 1)
	third, ok := b.next()
	require.True(t, ok)
	assert.NotEqual(t, r.Tag, third.Tag, "half of the late completion is outstanding")
	assert.ErrorIs(t, b.end.Receive(encode(t, reply(r, 64, 16))), endpoint.ErrUnexpected)
	b.dev.sendRead(9, 0x1000, 1)
	fourth, ok := b.next()
	require.True(t, ok)
	assert.Equal(t, r.Tag, fourth.Tag)
	b.end.Run(10)
	assert.Len(t, b.dev.cpls, 1, "the late completion is dropped")
	b.send(reply(next, 0, 2))
	b.end.Run(10)
	assert.Equal(t, success(7, true, 0x0706050403020100), b.dev.cpls[1])

	before := b.end.Now()
	b.end.Run(1 << 20) // past the deadline of the others
	assert.Less(t, b.dev.cplAt[3], before+1000)
}

// TestReset: a new session ends the device's reads, sends the host nothing, and
// neither sends nor delivers anything of the old session.
func TestReset(t *testing.T) {
	b := plain(t)
	b.dev.noCpls = true
	b.dev.sendRead(7, 0x1000, 32)
	r := b.packets()[0]
	b.send(reply(r, 0, 16))
	b.send(memory(false, 0, 16, 0xf, 0xf))
	b.end.Run(100)
	b.dev.noRequests = true
	b.dev.takes = false
	w := memory(true, 0x100, 64, 0xf, 0xf)
	fill(w.Data, 1)
	b.send(w)
	b.end.Run(5) // its first header is at the port
	b.end.Reset()
	b.dev.noCpls, b.dev.noRequests = false, false
	b.dev.roll()
	b.end.Run(1)
	assert.Empty(t, b.packets())
	assert.Equal(t, port.Completion{Tag: 7, Status: port.CplAbort, Last: true}, b.dev.cpls[len(b.dev.cpls)-1])
	assert.Zero(t, b.end.Reads())
	assert.Equal(t, w.Data[:128], b.dev.ram[0x100:0x180], "the write at the port completes")
	assert.Equal(t, make([]byte, 128), b.dev.ram[0x180:0x200], "the rest of it has not begun")
	assert.ErrorIs(t, b.end.Receive(encode(t, reply(r, 64, 16))), endpoint.ErrUnexpected)
	b.send(memory(false, 0x100, 1, 0xf, 0))
	assert.Equal(t, []summary{{tlp.CplD, tlp.SC, 1, 4, 0}}, summaries(b.packets()))
	b.dev.sendRead(9, 0x1000, 2)
	b.send(reply(b.packets()[0], 0, 2))
	b.packets()
	assert.Equal(t, success(9, true, 0x0706050403020100), b.dev.cpls[len(b.dev.cpls)-1])
}

// TestBrokenDevice covers each port rule that a device can break.
func TestBrokenDevice(t *testing.T) {
	beat := port.Beat{Valid: true, Last: true, Enable: 0xff}
	open := beat
	open.Last = false
	gap := beat
	gap.Enable = 0x5
	for _, tt := range []struct {
		name   string
		script []step
		answer []port.Completion
	}{
		{"request over a boundary", []step{{port.Request{Kind: port.MemRead, Len: 2, Addr: 0x7c}, nil}}, nil},
		{"request of 0 dwords", []step{{port.Request{Kind: port.MemRead, Addr: 0x7c}, nil}}, nil},
		{"configuration request", []step{{port.Request{Kind: port.CfgRead, Len: 1}, nil}}, nil},
		{"unaligned request", []step{{port.Request{Kind: port.MemRead, Len: 1, Addr: 2}, nil}}, nil},
		{"last beat that is not", []step{{port.Request{Kind: port.MemWrite, Len: 2}, []port.Beat{open}}}, nil},
		{"beat after the last", []step{{port.Request{Kind: port.MemWrite, Len: 4}, []port.Beat{beat}}}, nil},
		{"gap in a beat", []step{{port.Request{Kind: port.MemWrite, Len: 2}, []port.Beat{gap}}}, nil},
		{"bytes outside", []step{{port.Request{Kind: port.MemWrite, Len: 1}, []port.Beat{beat}}}, nil},
		{"bytes off in the middle", []step{{port.Request{Kind: port.MemWrite, Len: 6},
			[]port.Beat{open, {Valid: true, Enable: 0x7f}, beat}}}, nil},
		{"unexpected completion", nil, []port.Completion{success(99, true, 0)}},
		{"unknown status", nil, []port.Completion{{Tag: 1, Status: 9, Last: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dev := &testDevice{}
			e, err := endpoint.New(dev, endpoint.Options{})
			require.NoError(t, err)
			dev.script = tt.script
			if tt.answer != nil {
				dev.answers = [][]port.Completion{tt.answer}
			}
			e.Run(100)
			require.ErrorIs(t, e.Err(), endpoint.ErrProtocol)
			now := e.Now()
			assert.Zero(t, e.Run(100))
			assert.Equal(t, now, e.Now())
		})
	}
}
