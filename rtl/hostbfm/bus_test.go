package hostbfm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// An outputs holds the values that a scripted device drives in a clock.
type outputs struct {
	req  port.Request
	beat port.Beat
	cpl  port.Completion
}

// An inputs holds the values that the bus drove into the device in a clock.
type inputs struct {
	req                            port.Request
	beat                           port.Beat
	cpl                            port.Completion
	cplReady, reqReady, beatsReady bool
}

// A script is a device that drives the given outputs, one entry per clock, and is
// always ready.
type script struct {
	out []outputs
	in  []inputs
}

func (d *script) now() (o outputs) {
	if len(d.in) < len(d.out) {
		o = d.out[len(d.in)]
	}
	return o
}

func (d *script) Target() (port.Completion, bool, bool) { return d.now().cpl, true, true }

func (d *script) Initiator() (port.Request, port.Beat) { return d.now().req, d.now().beat }

func (d *script) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, beatsReady bool) {
	d.in = append(d.in, inputs{req, beat, cpl, cplReady, reqReady, beatsReady})
}

func (d *script) IdleFor() uint64 { return 0 }
func (d *script) Skip(uint64)     {}

const base = 0x1000

func newBus(out ...outputs) (*hostbfm.Bus, *script) {
	d := &script{out: out}
	mem := make([]byte, 256)
	for i := range mem {
		mem[i] = byte(i)
	}
	return &hostbfm.Bus{Dev: d, Rng: rand.New(rand.NewPCG(1, 1)), Mem: mem, Base: base}, d
}

func read(tag, dwords uint8, addr uint64) outputs {
	return outputs{req: port.Request{Kind: port.MemRead, Tag: tag, Len: dwords, Addr: addr}}
}

func write(dwords uint8, addr uint64, beat port.Beat) outputs {
	return outputs{req: port.Request{Kind: port.MemWrite, Len: dwords, Addr: addr}, beat: beat}
}

// TestProtocol checks that the bus detects each broken rule of package port.
func TestProtocol(t *testing.T) {
	beat := port.Beat{Valid: true, Last: true, Enable: 0xff}
	for _, tt := range []struct {
		name  string
		out   []outputs
		holds bool
		says  string
	}{
		{"legal", []outputs{read(1, 2, base), read(2, 32, base+128), write(2, base, beat), {}, read(1, 2, base)}, false, ""},
		{"kind", []outputs{{req: port.Request{Kind: port.CfgRead, Len: 1}}}, false, "kind"},
		{"alignment", []outputs{read(1, 1, base+2)}, false, "address 0x1002"},
		{"bit 63", []outputs{read(1, 1, 1<<63|base)}, false, "address 0x8000000000001000"},
		{"no length", []outputs{read(1, 0, base)}, false, "length 0"},
		{"too long", []outputs{read(1, 33, base)}, false, "length 33"},
		{"128 bytes", []outputs{read(1, 2, base+124)}, false, "crosses 128 bytes"},
		{"tag", []outputs{read(1, 32, base), read(1, 1, base)}, false, "tag 1 is in use"},
		{"lane", []outputs{write(1, base, beat)}, false, "lane outside"},
		{"last too early", []outputs{write(4, base, beat)}, false, "has Last true"},
		{"last too late", []outputs{write(2, base, port.Beat{Valid: true, Enable: 0xff})}, false, "has Last false"},
		{"header changes", []outputs{read(1, 1, base), read(1, 2, base)}, true, "the header {"},
		{"header goes", []outputs{read(1, 1, base), {}}, true, "the header {"},
		{"beat changes", []outputs{{beat: beat}, {beat: port.Beat{Valid: true}}}, true, "the beat {"},
		{"completion", []outputs{{cpl: port.Completion{Tag: 3, Status: port.CplSuccess, Last: true}}}, false, "completion with tag 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, _ := newBus(tt.out...)
			b.HoldHeaders = tt.holds
			for range 4 {
				b.Step()
			}
			if tt.says == "" {
				assert.NoError(t, b.Err)
				return
			}
			require.ErrorIs(t, b.Err, hostbfm.ErrProtocol)
			assert.ErrorContains(t, b.Err, tt.says)
		})
	}
}

// A read is answered after Latency, one beat per clock, with the contents of memory
// when its header was accepted.
func TestAnswers(t *testing.T) {
	b, d := newBus(read(7, 3, base+4))
	b.Latency = 5
	b.Step()
	assert.Equal(t, uint64(5), b.Quiet())
	clear(b.Mem)
	for range 8 {
		b.Step()
	}
	for i, in := range d.in {
		if i != 6 && i != 7 {
			assert.Zero(t, in.cpl, "clock %d", i)
		}
	}
	first, last := d.in[6].cpl, d.in[7].cpl
	assert.Equal(t, uint64(0x07060504), first.Data>>32)
	assert.Equal(t, uint64(0x0f0e0d0c0b0a0908), last.Data)
	assert.Equal(t, [2]bool{false, true}, [2]bool{first.Last, last.Last})
	assert.Equal(t, uint8(7), first.Tag)
	assert.Equal(t, port.CplSuccess, last.Status)
	assert.Equal(t, uint64(math.MaxUint64), b.Quiet())
}

// A read outside memory fails, and so does one chosen by Errors or by Good.
func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		addr   uint64
		errors int
		good   uint8
		beats  int
	}{
		"nowhere": {base + 256, 0, hostbfm.NoError, 1}, "in part": {base + 252, 0, hostbfm.NoError, 1}, "Good": {base, 0, 1, 2},
	} {
		b, d := newBus(read(1, 4, tt.addr))
		b.Errors = tt.errors
		b.Step()
		if tt.good != hostbfm.NoError {
			b.Reads[0].Good = tt.good
		}
		for range 4 {
			b.Step()
		}
		last := d.in[tt.beats].cpl
		assert.True(t, last.Last, name)
		assert.NotContains(t, []port.Status{port.CplNone, port.CplSuccess}, last.Status, name)
		assert.Empty(t, b.Reads, name)
	}
	b, d := newBus(read(1, 1, base))
	b.Errors = 1000
	b.Step()
	b.Step()
	assert.Greater(t, d.in[1].cpl.Status, port.CplSuccess)
}

// The hook Reading sees each read, and changes when and how it ends.
func TestReading(t *testing.T) {
	b, d := newBus(read(1, 1, base))
	b.Reading = func(r *hostbfm.Read) {
		assert.EqualValues(t, base, r.Req.Addr)
		r.Due, r.Good = 4, 0
	}
	for range 5 {
		b.Step()
	}
	for clock, in := range d.in {
		assert.Equal(t, clock == 4, in.cpl.Status > port.CplSuccess, "clock %d", clock)
	}
}

// With Shuffle, reads with different tags sometimes complete out of order. Without
// it they never do.
func TestShuffle(t *testing.T) {
	for _, shuffle := range []bool{false, true} {
		swapped := 0
		for seed := range uint64(50) {
			b, d := newBus(read(1, 1, base), read(2, 1, base))
			b.Rng, b.Shuffle = rand.New(rand.NewPCG(seed, 2)), shuffle
			b.Stall[hostbfm.StallAnswers] = 100 // until both are due
			for i := range 12 {
				if i == 6 {
					b.Stall[hostbfm.StallAnswers] = 0
				}
				b.Step()
			}
			for _, in := range d.in {
				if in.cpl.Status != port.CplNone {
					swapped += int(in.cpl.Tag) - 1
					break
				}
			}
		}
		assert.Equal(t, shuffle, swapped > 0)
		assert.Less(t, swapped, 50)
	}
}

// Ready signals are held back as often as Timing requires. HoldBeats lets headers
// pass.
func TestStalls(t *testing.T) {
	b, d := newBus()
	b.Stall = [4]int{hostbfm.StallCompletions: 25, hostbfm.StallHeaders: 50}
	for range 2000 {
		b.Step()
	}
	cpl, req := 0, 0
	for _, in := range d.in {
		if !in.cplReady {
			cpl++
		}
		if !in.reqReady {
			req++
		}
		assert.False(t, in.beatsReady, "no beat is owed")
	}
	assert.InDelta(t, 500, cpl, 100)
	assert.InDelta(t, 1000, req, 100)

	w := write(2, base, port.Beat{Valid: true, Last: true, Enable: 0xff, Data: 0x1122334455667788})
	b, _ = newBus(w, outputs{beat: w.beat}, outputs{beat: w.beat})
	b.HoldBeats = true
	b.Step()
	b.Step()
	assert.Len(t, b.Writes, 1)
	assert.Equal(t, byte(0), b.Mem[0])
	b.HoldBeats = false
	wrote := 0
	b.Wrote = func(r port.Request, beats []byte) {
		assert.Equal(t, []byte{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}, beats)
		wrote++
	}
	b.Step()
	assert.Equal(t, 1, wrote)
	assert.Equal(t, byte(0x88), b.Mem[0])
	assert.NoError(t, b.Err)
}

// Write enables exactly the lanes of its bytes.
func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		addr uint64
		p    []byte
		want hostbfm.Op
	}{
		{0x100, []byte{1, 2, 3, 4}, hostbfm.Op{Req: port.Request{Kind: port.MemWrite, Len: 1, Addr: 0x100},
			Beats: []port.Beat{{Valid: true, Last: true, Enable: 0x0f, Data: 0x04030201}}}},
		{0x104, []byte{1, 2, 3, 4}, hostbfm.Op{Req: port.Request{Kind: port.MemWrite, Len: 1, Addr: 0x104},
			Beats: []port.Beat{{Valid: true, Last: true, Enable: 0xf0, Data: 0x04030201 << 32}}}},
		{0x103, []byte{1, 2}, hostbfm.Op{Req: port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x100},
			Beats: []port.Beat{{Valid: true, Last: true, Enable: 0x18, Data: 0x0201 << 24}}}},
		{0x107, []byte{1, 2}, hostbfm.Op{Req: port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x104},
			Beats: []port.Beat{{Valid: true, Enable: 0x80, Data: 1 << 56}, {Valid: true, Last: true, Enable: 0x01, Data: 2}}}},
	} {
		assert.Equal(t, tt.want, hostbfm.Write(tt.addr, tt.p), "%d bytes at %#x", len(tt.p), tt.addr)
	}
}

// A request waits for its completion and receives all its data. Forget drops it.
func TestRequests(t *testing.T) {
	cpl := port.Completion{Tag: 9, Status: port.CplSuccess, Data: 5}
	last := cpl
	last.Last, last.Data = true, 6
	b, d := newBus(outputs{}, outputs{cpl: cpl}, outputs{cpl: last})
	var got []uint64
	done := func(s port.Status, data []uint64) { got = data }
	b.Queue(hostbfm.Op{Req: port.Request{Kind: port.MemRead, Tag: 9, Len: 4}, Done: done})
	b.Store(0x7e, []byte{1, 2, 3, 4})
	for b.Queued() {
		assert.Zero(t, b.Quiet())
		b.Step()
	}
	assert.Equal(t, []uint64{5, 6}, got)
	assert.False(t, b.Busy())
	assert.Equal(t, uint64(0x7c), d.in[1].req.Addr, "up to 128 bytes")
	assert.Equal(t, uint64(0x80), d.in[2].req.Addr, "and after")

	b.Queue(hostbfm.Op{Req: port.Request{Kind: port.MemRead, Tag: 9, Len: 1}, Done: done})
	b.Step()
	assert.True(t, b.Busy())
	b.Forget()
	assert.False(t, b.Busy())
	assert.NoError(t, b.Err)
}
