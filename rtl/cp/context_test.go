package cp

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// The state that the tests set, and its layout in memory, written by hand from the
// description of SAVE_STATE.
var (
	stateA = []uint32{
		0x03000007, 0, 0x11223344, 0x55667788, 0xabcde, 4, 0x00020001, 0x40000003,
		0x03000007, 1, 0x99aabbcc, 0x0eff0011, 16, 0, 0x00000000, 0x40004000,
		0x11000005, 4, 0x2000, 0, 0x1000, 0,
		0x11000005, 3, 0x1000, hi, 0x234, 0,
	}
	wordsA = []uint64{
		0x5566778811223344, 0x80000004000abcde, 0x4000000300020001,
		0x0eff001199aabbcc, 0x8000000000000010, 0x4000400000000000,
		0x2000, 1<<63 | 0x1000, 0, 0, 0, 0, host | 0x1000, 0x234,
	}
)

// words returns n 8-byte words of memory.
func (b *bench) words(addr uint64, n int) []uint64 {
	var out []uint64
	for i := range uint64(n) {
		out = append(out, binary.LittleEndian.Uint64(b.mem(addr+8*i, 8)))
	}
	return out
}

func (b *bench) putWords(addr uint64, words []uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(b.mem(addr+8*uint64(i), 8), w)
	}
}

// everything are the parameters of a node with all capabilities.
var everything = Params{
	HostBits: 20, VRAMBytes: vramSize, LengthBits: 16, Nodes: 2,
	Caps: caps.All(),
}

func TestSaveState(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(p *Params)
		want func(w []uint64)
	}{
		{"all", func(*Params) {}, func(w []uint64) { w[14] = 0x1abcde }},
		{"without windows", func(p *Params) { p.Caps &^= caps.Protection }, func(w []uint64) {
			for i := 6; i < 14; i++ {
				w[i] = ^uint64(0)
			}
			w[14] = 0x1abcde
		}},
		{"without preemption", func(p *Params) { p.Caps &^= caps.Preemption }, func([]uint64) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, at := range []uint64{0x3f80, host | 0x3080} {
				p := everything
				tt.edit(&p)
				b := newBenchOf(t, p)
				b.check = true
				b.start(ringAt, 12)
				for i := range uint64(48) {
					b.putWords(at-128+8*i, []uint64{^uint64(0)})
				}
				n := len(stateA)
				if !p.Caps.Has(caps.Protection) {
					n = 16
				}
				b.run(stateA[:n]...)
				b.write(cpreg.Progress, 0xfffabcde)
				b.run(0x13000002, uint32(at), uint32(at>>32))
				require.Zero(t, b.faults)
				want := append(append([]uint64(nil), wordsA...), ^uint64(0), ^uint64(0))
				tt.want(want)
				assert.Equal(t, want, b.words(at, 16))
				assert.Equal(t, ^uint64(0), b.words(at-8, 1)[0])
				assert.Equal(t, ^uint64(0), b.words(at+128, 1)[0])
			}
		})
	}
}

// TestRestoreState restores a state and saves it again, in both memories, with another
// context in between.
func TestRestoreState(t *testing.T) {
	for _, latency := range []int{0, 40} {
		for _, at := range []uint64{0x3f80, host | 0x3080} {
			b := newBenchOf(t, everything)
			b.check = true
			b.latency = latency
			b.start(ringAt, 12)
			words := append(append([]uint64(nil), wordsA...), 0x12345)
			b.putWords(at, words)
			other := at ^ 0x400
			b.run(0x14000002, uint32(at), uint32(at>>32), 0x13000002, uint32(other), uint32(other>>32))
			require.Zero(t, b.faults)
			assert.Equal(t, words, b.words(other, 15))
			assert.Equal(t, uint32(0x12345), b.read(cpreg.Progress))
			assert.Equal(t, uint32(2), b.read(cpreg.Packets))
		}
	}
}

// TestRestoreSkipsBadWords puts one bad word into each state. The bad word is skipped, and the
// others are restored.
func TestRestoreSkipsBadWords(t *testing.T) {
	for _, tt := range []struct {
		word int
		v    uint64
		ok   bool
	}{
		{0, ^uint64(0), true},
		{1, 1 << 20, false},
		{1, 1 << 31, false},
		{1, 5 << 32, false},
		{1, 1 << 35, false},
		{1, 1 << 62, false},
		{1, 4<<32 | 0xfffff, true},
		{2, 0x4001, false},
		{2, 0x4001 << 16, false},
		{2, 0x4001 << 32, false},
		{2, 0x4001 << 48, false},
		{2, 0x4000400040004000, true},
		{4, 1 << 40, false},
		{5, 0x8000 << 48, false},
		{6, ^uint64(0), true},
		{13, ^uint64(0), true},
		{14, 1 << 21, false},
		{14, 1 << 63, false},
		{14, 0x1fffff, true},
	} {
		b := newBenchOf(t, everything)
		b.start(ringAt, 12)
		words := append(append([]uint64(nil), wordsA...), 0x12345)
		words[tt.word] = tt.v
		b.putWords(0x2000, words)
		b.run(0x14000002, 0x2000, 0)
		want := append([]uint64(nil), words...)
		if !tt.ok {
			assert.Equal(t, faultText("STATE", ringAt, 0x14000002, tt.v), b.fault(), "word %d of %#x", tt.word, tt.v)
			want[tt.word] = 0
			b.write(cpreg.FaultInfo, 0)
			b.put(ringAt, 0x01000002)
			b.write(cpreg.Ctl, cpreg.CtlRun)
			b.idle()
		}
		b.run(0x13000002, 0x3000, 0)
		assert.Equal(t, want, b.words(0x3000, 15), "word %d of %#x", tt.word, tt.v)
	}
}

// TestContextsInterleave makes two contexts draw in turn, each with its own surface.
func TestContextsInterleave(t *testing.T) {
	b := newBenchOf(t, everything)
	b.start(ringAt, 12)
	for i := range uint32(2) {
		b.run(0x03000007, 1, 0x1000+0x1000*i, 0, 16, i, 0, 0x40004000, 0x13000002, 0x3000+128*i, 0)
	}
	for turn := range uint32(6) {
		i := turn & 1
		b.run(0x14000002, 0x3000+128*i, 0, 0x07000004, turn<<16, 0x10001, 0xffffffff, 0)
		require.Zero(t, b.faults)
		d := b.descs[len(b.descs)-1]
		assert.Equal(t, uint64(0x1000+0x1000*i+16*turn), d.Dst)
		assert.Equal(t, uint32(1)<<i, d.Len)
	}
}

func TestContextErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		dwords []uint32
		cause  string
		bad    uint64
	}{
		{"SAVE_STATE at 64", []uint32{0x13000002, 64, 0}, "ALIGN", 64},
		{"SAVE_STATE beyond VRAM", []uint32{0x13000002, 0x10000, 0}, "ADDRESS", 0x10000},
		{"SAVE_STATE beyond the host addresses", []uint32{0x13000002, 0x100000, hi}, "ADDRESS", host | 0x100000},
		{"refused SAVE_STATE", []uint32{0x13000002, 0x80000, hi}, "WRITE_ERROR", host | 0x80000},
		{"SAVE_STATE body 1", []uint32{0x13000001}, "LENGTH", 0x13000001},
		{"RESTORE_STATE at 8", []uint32{0x14000002, 8, 0}, "ALIGN", 8},
		{"RESTORE_STATE beyond VRAM", []uint32{0x14000002, 0x10000, 0}, "ADDRESS", 0x10000},
		{"RESTORE_STATE that is not answered", []uint32{0x14000002, 0x80000, hi}, "READ_ERROR", host | 0x80000},
		{"RESTORE_STATE body 3", []uint32{0x14000003}, "LENGTH", 0x14000003},
		{"opcode 0x15", []uint32{0x15000000}, "OPCODE", 0x15000000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBenchOf(t, everything)
			b.check = true
			b.start(ringAt, 12)
			b.run(tt.dwords...)
			assert.Equal(t, faultText(tt.cause, ringAt, tt.dwords[0], tt.bad), b.fault())
		})
	}
	for _, op := range []uint32{0x13000002, 0x14000002} {
		b := newBenchOf(t, everything)
		b.start(ringAt, 12)
		b.put(0x100, op, 0x2000, 0)
		b.run(0x02000003, 0x100, 0, 3)
		assert.Equal(t, faultText("PRIVILEGE", 0x100, op, uint64(op)), b.fault())

		p := everything
		p.Caps &^= caps.Contexts
		b = newBenchOf(t, p)
		b.start(ringAt, 12)
		b.run(op, 0x2000, 0)
		assert.Equal(t, faultText("OPCODE", ringAt, op, uint64(op)), b.fault(), "without contexts")
	}
}

// TestRestoreUnanswered checks that the state stays if memory does not answer.
func TestRestoreUnanswered(t *testing.T) {
	b := newBenchOf(t, everything)
	b.check = true
	b.start(ringAt, 12)
	b.run(stateA...)
	b.run(0x14000002, 0x80000, hi)
	assert.Equal(t, uint32(cpreg.CauseReadError), b.read(cpreg.FaultInfo))
	b.put(ringAt+4*uint64(len(stateA)), 0x01000002)
	b.write(cpreg.FaultInfo, 0)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	b.run(0x13000002, 0x3f80, 0)
	assert.Equal(t, wordsA, b.words(0x3f80, len(wordsA)))
}
