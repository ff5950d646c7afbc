package endpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestMaxPayload: a completion obeys the Max_Payload_Size that the host has written, and
// the endpoint's own. A write of other bytes leaves it, and a function-level reset ends it.
func TestMaxPayload(t *testing.T) {
	const whole, cut = 2, 3 // completions
	b := newBench(t, &testDevice{}, endpoint.Options{MaxPayload: 256})
	for i, tt := range []struct {
		first uint8
		data  []byte
		want  int
	}{
		{0xf, []byte{0x20, 0x20, 0, 0}, whole},
		{0xf, []byte{0xa0, 0x20, 0, 0}, whole},
		{0x1, []byte{0x00, 0, 0, 0}, cut},
		{0x2, []byte{0x20, 0x20, 0, 0}, cut},
		{0x1, []byte{0x20, 0, 0, 0}, whole},
		{0xf, []byte{0x20, 0xa0, 0, 0}, cut},
	} {
		b.send(tlp.Packet{Kind: tlp.CfgWr0, Len: 1, First: tt.first, Addr: 0x68, Completer: boardID, Data: tt.data})
		require.Len(t, b.packets(), 1)
		b.send(memory(false, 0x10c, 65, 0xe, 0x3))
		assert.Len(t, b.packets(), tt.want, "step %d", i)
	}
}

// summary is a completion without its data.
type summary struct {
	kind  tlp.Kind
	sta   tlp.Status
	len   int
	bytes int
	lower uint8
}

func summaries(all []tlp.Packet) (out []summary) {
	for _, p := range all {
		out = append(out, summary{p.Kind, p.Status, p.Len, p.ByteCount, p.Lower})
	}
	return out
}

// The expected fields in TestCompletions are computed by hand from PCIe 3.0
// §2.3.1.1, tables 2-37 and 2-38.
func TestCompletions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		read   tlp.Packet
		max    int
		bad    uint64 // reads from this address on abort
		decode byte   // of the command register
		want   []summary
	}{
		{"a dword", memory(false, 0x104, 1, 0xf, 0), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 1, 4, 0x04}}},
		{"its third byte", memory(false, 0x104, 1, 0x4, 0), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 1, 1, 0x06}}},
		{"its outer bytes", memory(false, 0x104, 1, 0x9, 0), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 1, 4, 0x04}}},
		{"its middle bytes", memory(false, 0x104, 1, 0x6, 0), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 1, 2, 0x05}}},
		{"no byte", memory(false, 0x104, 1, 0, 0), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 1, 1, 0x04}}},
		{"no byte, decode off", memory(false, 0x104, 1, 0, 0), 128, 0, 0, []summary{{tlp.Cpl, tlp.UR, 0, 1, 0x04}}},
		{"two dwords with gaps", memory(false, 0x108, 2, 0xa, 0x5), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 2, 6, 0x09}}},
		{"over one boundary, at once", memory(false, 0x17c, 2, 0xf, 0xf), 128, 0, 2, []summary{{tlp.CplD, tlp.SC, 2, 8, 0x7c}}},
		{"unaligned over two boundaries", memory(false, 0x10c, 65, 0xe, 0x3), 128, 0, 2,
			[]summary{{tlp.CplD, tlp.SC, 29, 257, 0x0d}, {tlp.CplD, tlp.SC, 32, 142, 0}, {tlp.CplD, tlp.SC, 4, 14, 0}}},
		{"larger payload that the host has not allowed", memory(false, 0x10c, 65, 0xe, 0x3), 256, 0, 2,
			[]summary{{tlp.CplD, tlp.SC, 29, 257, 0x0d}, {tlp.CplD, tlp.SC, 32, 142, 0}, {tlp.CplD, tlp.SC, 4, 14, 0}}},
		{"all of it fails", memory(false, 0x10c, 65, 0xe, 0x3), 128, 0x10c, 2, []summary{{tlp.Cpl, tlp.CA, 0, 257, 0x0d}}},
		{"the middle fails", memory(false, 0x10c, 65, 0xe, 0x3), 128, 0x1fc, 2,
			[]summary{{tlp.CplD, tlp.SC, 29, 257, 0x0d}, {tlp.Cpl, tlp.CA, 0, 142, 0}}},
		{"the end fails", memory(false, 0x10c, 65, 0xe, 0x3), 128, 0x20c, 2,
			[]summary{{tlp.CplD, tlp.SC, 29, 257, 0x0d}, {tlp.CplD, tlp.SC, 32, 142, 0}, {tlp.Cpl, tlp.CA, 0, 14, 0}}},
		{"unsupported", memory(false, holeAt, 2, 0xf, 0xf), 128, 0, 2, []summary{{tlp.Cpl, tlp.UR, 0, 8, 0}}},
		{"unsupported, wide address", memory(false, 0x1_0000_0004, 1, 0xf, 0), 128, 0, 2, []summary{{tlp.Cpl, tlp.CA, 0, 4, 4}}},
		{"configuration", tlp.Packet{Kind: tlp.CfgRd0, Len: 1, First: 0xf, Addr: 0x3c, Completer: boardID}, 128, 0, 2,
			[]summary{{tlp.CplD, tlp.SC, 1, 4, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, &testDevice{}, endpoint.Options{MaxPayload: tt.max})
			b.dev.bad = tt.bad
			b.dev.config[4] = tt.decode
			tt.read.Tag, tt.read.Requester = 0x77, 0x0028
			b.send(tt.read)
			got := b.packets()
			assert.Equal(t, tt.want, summaries(got))
			for _, p := range got {
				assert.Equal(t, []any{uint16(0x77), tlp.ID(0x28), boardID}, []any{p.Tag, p.Requester, p.Completer})
			}
			// No state is left: the next read completes normally.
			b.dev.bad = 0
			b.send(memory(false, 0, 1, 0xf, 0))
			assert.Equal(t, []summary{{tlp.CplD, tlp.SC, 1, 4, 0}}, summaries(b.packets()))
		})
	}
}

// TestRefused covers requests that do not reach the device (PCIe 3.0 §2.3.1,
// §2.7.2.2).
func TestRefused(t *testing.T) {
	poisoned := memory(true, 0x100, 1, 0xf, 0)
	poisoned.EP = true
	config := tlp.Packet{Kind: tlp.CfgWr0, Len: 1, First: 0xf, Addr: 0x10, Completer: boardID, Data: make([]byte, 4)}
	poisonedConfig := config
	poisonedConfig.EP = true
	function := config
	function.Completer |= 1
	ioRead := encode(t, memory(false, 0x100, 1, 0xf, 0))
	ioRead[0] = 0x02
	locked := encode(t, memory(false, 0x104, 1, 0xf, 0))
	locked[0] = 0x01
	wild := encode(t, memory(false, 0x100, 2, 0xf, 0xf))
	wild[7] = 0x0f // last enables of two dwords: none
	long := append(encode(t, memory(true, 0x100, 1, 0xf, 0)), 0, 0, 0, 0)
	crossing := encode(t, memory(false, 0xff8, 2, 0xf, 0xf))
	crossing[3] = 3
	for _, tt := range []struct {
		name string
		raw  []byte
		err  error
		want []summary
		stat func(endpoint.Stats) uint64
	}{
		{"poisoned write", encode(t, poisoned), endpoint.ErrPoisoned, nil, poisonedCount},
		{"poisoned configuration write", encode(t, poisonedConfig), endpoint.ErrPoisoned, []summary{{tlp.Cpl, tlp.UR, 0, 4, 0}}, poisonedCount},
		{"function 1", encode(t, function), tlp.ErrUnsupported, []summary{{tlp.Cpl, tlp.UR, 0, 4, 0}}, unsupportedCount},
		{"I/O read", ioRead, tlp.ErrUnsupported, []summary{{tlp.Cpl, tlp.UR, 0, 4, 0}}, unsupportedCount},
		{"locked read", locked, tlp.ErrUnsupported, []summary{{tlp.Cpl, tlp.UR, 0, 4, 0}}, unsupportedCount},
		{"vendor message", encode(t, tlp.Packet{Kind: tlp.Msg, Code: tlp.Vendor0, Route: tlp.Local}), tlp.ErrUnsupported, nil, unsupportedCount},
		{"INTx", encode(t, tlp.Packet{Kind: tlp.Msg, Code: tlp.AssertINTA, Route: tlp.Local}), tlp.ErrUnsupported, nil, unsupportedCount},
		{"vendor message that may be dropped", encode(t, tlp.Packet{Kind: tlp.Msg, Code: tlp.Vendor1, Route: tlp.Local}), nil, nil,
			func(s endpoint.Stats) uint64 { return 1 - s.Unsupported }},
		{"invalid enables", wild, tlp.ErrMalformed, nil, malformedCount},
		{"longer than its length field", long, tlp.ErrMalformed, nil, malformedCount},
		{"over 4 KiB", crossing, tlp.ErrMalformed, nil, malformedCount},
		{"empty", nil, tlp.ErrMalformed, nil, malformedCount},
		{"reserved type", []byte{0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, tlp.ErrMalformed, nil, malformedCount},
		{"unexpected completion", encode(t, tlp.Packet{Kind: tlp.CplD, Len: 1, ByteCount: 4, Requester: boardID, Data: make([]byte, 4)}),
			endpoint.ErrUnexpected, nil, func(s endpoint.Stats) uint64 { return s.Unexpected }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plain(t)
			before := len(b.dev.log)
			assert.ErrorIs(t, b.end.Receive(tt.raw), tt.err)
			assert.Equal(t, tt.want, summaries(b.packets()))
			assert.Len(t, b.dev.log, before, "the device saw a request")
			assert.Equal(t, uint64(1), tt.stat(b.end.Stats()))
		})
	}
}

func poisonedCount(s endpoint.Stats) uint64    { return s.Poisoned }
func unsupportedCount(s endpoint.Stats) uint64 { return s.Unsupported }
func malformedCount(s endpoint.Stats) uint64   { return s.Malformed }

// TestSplitting: the requests of one packet at the port.
func TestSplitting(t *testing.T) {
	req := func(kind port.Kind, addr uint64, dwords uint8) port.Request {
		return port.Request{Kind: kind, Addr: addr, Len: dwords}
	}
	config := tlp.Packet{Kind: tlp.CfgWr0, Len: 1, First: 0x5, Addr: 0x10, Completer: boardID, Data: make([]byte, 4)}
	for _, tt := range []struct {
		name string
		p    tlp.Packet
		want []port.Request
	}{
		{"over a boundary", memory(true, 0x17c, 2, 0xf, 0xf), []port.Request{req(port.MemWrite, 0x17c, 1), req(port.MemWrite, 0x180, 1)}},
		{"long", memory(true, 0x104, 64, 0xc, 0x1), []port.Request{req(port.MemWrite, 0x104, 31), req(port.MemWrite, 0x180, 32), req(port.MemWrite, 0x200, 1)}},
		{"gaps in a dword", memory(true, 0x100, 1, 0xb, 0), []port.Request{req(port.MemWrite, 0x100, 1), req(port.MemWrite, 0x100, 1)}},
		{"gaps at the ends of two", memory(true, 0x100, 2, 0x9, 0x9), []port.Request{req(port.MemWrite, 0x100, 1), req(port.MemWrite, 0x100, 2), req(port.MemWrite, 0x104, 1)}},
		{"nothing", memory(true, 0x100, 1, 0, 0), nil},
		{"gaps in configuration", config, []port.Request{req(port.CfgWrite, 0x10, 1), req(port.CfgWrite, 0x10, 1)}},
		{"long read", memory(false, 0xf80, 32, 0xf, 0xf), []port.Request{req(port.MemRead, 0xf80, 32)}},
		{"unaligned read", memory(false, 0xf7c, 33, 0x8, 0x1), []port.Request{req(port.MemRead, 0xf7c, 1), req(port.MemRead, 0xf80, 32)}},
		{"flush", memory(false, 0xf7c, 1, 0, 0), []port.Request{req(port.CfgRead, 4, 1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plain(t)
			b.dev.log = nil
			b.send(tt.p)
			b.packets()
			for i := range b.dev.log {
				b.dev.log[i].Tag = 0
			}
			assert.Equal(t, tt.want, b.dev.log)
		})
	}
}

// TestTagsAtThePort: a device that sends no completions holds tags and packets
// back within bounds. When it continues, all its requests complete.
func TestTagsAtThePort(t *testing.T) {
	b := newBench(t, &testDevice{}, endpoint.Options{Reads: 4, Queue: 4})
	b.dev.noCpls = true
	sent := 0
	for ; sent < 100; sent++ {
		p := memory(false, 4*uint64(sent), 1, 0xf, 0)
		p.Tag = uint16(sent)
		if err := b.end.Receive(encode(t, p)); err != nil {
			require.ErrorIs(t, err, endpoint.ErrFull)
			break
		}
		b.end.Run(100)
	}
	assert.Equal(t, 8, sent, "4 at the device, 4 in the queue")
	assert.NotZero(t, b.end.Idle(), "nothing to do")
	b.dev.noCpls = false
	b.end.Run(1)
	assert.Len(t, b.packets(), sent)
}

// TestFailureEndsRead: the rest of a failed read is not requested.
func TestFailureEndsRead(t *testing.T) {
	b := plain(t)
	b.dev.bad = 0x2000
	b.dev.log = nil
	b.send(memory(false, 0x2000, 1024, 0xf, 0xf))
	assert.Equal(t, []summary{{tlp.Cpl, tlp.CA, 0, 4096, 0}}, summaries(b.packets()))
	assert.Less(t, len(b.dev.log), 16)
}

// TestFailuresInAnyOrder: the first failed part counts, in whatever order the
// device completes.
func TestFailuresInAnyOrder(t *testing.T) {
	for seed := range uint64(100) {
		b := newBench(t, &testDevice{rng: rand.New(rand.NewPCG(seed, 3))}, endpoint.Options{})
		b.dev.bad = 0x180
		b.send(memory(false, 0x100, 128, 0xf, 0xf))
		require.Equal(t, []summary{{tlp.CplD, tlp.SC, 32, 512, 0}, {tlp.Cpl, tlp.CA, 0, 384, 0}}, summaries(b.packets()), "seed %d", seed)
	}
}
