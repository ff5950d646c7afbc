package firmware

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A write is a write of a register.
type write struct{ off, value uint32 }

// registers are registers that keep what is written, and record it. Each read of ID.TIME_LO
// advances the time by 1,000 clocks. A read of the result is busy polls times.
type registers struct {
	values map[uint32]uint32
	writes []write
	polls  int
	failAt int // number of the access that fails, from 1 on
	done   int
}

var errLink = errors.New("link down")

func newRegisters() *registers {
	return &registers{polls: 3, values: map[uint32]uint32{
		0x000c: 0xfeed0001, 0x0018: 0xffff_fe00, 0x001c: 7, 0x0600: 0x00014808,
		0x0618: crc32.ChecksumIEEE(program), 0x0608: 0,
	}}
}

func (r *registers) Read(off uint32) (uint32, error) {
	if r.done++; r.done == r.failAt {
		return 0, errLink
	}
	switch off {
	case 0x0018:
		if r.values[off] += 1000; r.values[off] < 1000 {
			r.values[0x001c]++
		}
	case 0x0644:
		if r.polls--; r.polls >= 0 {
			return 0, nil
		}
	}
	return r.values[off], nil
}

func (r *registers) Write(off, v uint32) error {
	if r.done++; r.done == r.failAt {
		return errLink
	}
	r.writes = append(r.writes, write{off, v})
	if off == 0x0604 && v == 1 {
		r.values[0x0640], r.values[0x0644], r.values[0x065c] = 7, 0x59444552, 0x030201
	}
	return nil
}

func loadOptions() Options {
	o := Options{Blocks: 0x80000011, Limit: 0x54321, Test: true, TestWindow: 1, Clocks: 1_000_000}
	o.Windows[0] = Window{Base: 0x1_2345_6788, Bytes: 0x1000}
	o.Windows[1] = Window{Base: 1<<63 | 0xc, Bytes: 0x10000000, Write: true}
	o.Windows[6] = Window{Base: 0xfffffffc, Bytes: 4, Write: true}
	return o
}

// Load makes these writes, in this order, and reports the boot.
func TestLoad(t *testing.T) {
	r := newRegisters()
	b, err := Load(r, small(nil), loadOptions())
	require.NoError(t, err)
	assert.Equal(t, Boot{Checkpoint: 7, Result: 0x59444552, Build: 0x030201, Clocks: 4000, Polls: 4}, b)
	assert.Equal(t, []write{
		{0x604, 0}, {0x610, 0}, {0x614, 0x34333231}, {0x614, 0x38373635}, {0x614, 0x39},
		{0x680, 0x23456788}, {0x684, 1}, {0x688, 0x1000},
		{0x690, 0xc}, {0x694, 0x80000000}, {0x698, 0x10000001},
		{0x6a0, 0}, {0x6a4, 0}, {0x6a8, 0}, {0x6b0, 0}, {0x6b4, 0}, {0x6b8, 0}, {0x6c0, 0}, {0x6c4, 0}, {0x6c8, 0}, {0x6d0, 0}, {0x6d4, 0}, {0x6d8, 0},
		{0x6e0, 0xfffffffc}, {0x6e4, 0}, {0x6e8, 5},
		{0x620, 0x80000011}, {0x60c, 0x54321},
		{0x640, 0}, {0x644, 0}, {0x648, 0}, {0x64c, 0}, {0x650, 0}, {0x654, 0}, {0x658, 0}, {0x65c, 0},
		{0x654, 0xfeed0001}, {0x658, 0x30000001}, {0x604, 1},
	}, r.writes)
}

// Without the block ID and without a test, TEST has neither.
func TestMailTest(t *testing.T) {
	o := loadOptions()
	o.Blocks, o.Test = 0xfffffffe, false
	assert.Zero(t, o.test())
}

// Nothing is written for a bad image, bad options or a small memory.
func TestNothingWritten(t *testing.T) {
	change := func(f func(o *Options)) Options {
		o := loadOptions()
		f(&o)
		return o
	}
	for _, tt := range []struct {
		name    string
		image   []byte
		options Options
		kind    error
		text    string
	}{
		{"no image", nil, loadOptions(), ErrTruncated, "firmware: truncated image: 0 bytes, want at least 48"},
		{"memory of 8 KiB and 4", small(put(0x24, 0x2004)), loadOptions(), ErrMemory, "firmware: memory of the microcontroller too small: 8192 bytes, want 8196"},
		{"no limit", small(nil), change(func(o *Options) { o.Clocks = 0 }), ErrOptions, "firmware: bad options: no limit of clocks or polls"},
		{"base", small(nil), change(func(o *Options) { o.Windows[6].Base++ }), ErrOptions,
			"firmware: bad options: window 6 has 4 bytes at 0xfffffffd, want multiples of 4 and at most 268435456 bytes"},
		{"part of a word", small(nil), change(func(o *Options) { o.Windows[0].Bytes = 6 }), ErrOptions,
			"firmware: bad options: window 0 has 6 bytes at 0x123456788, want multiples of 4 and at most 268435456 bytes"},
		{"large", small(nil), change(func(o *Options) { o.Windows[0].Bytes = 1<<28 + 4 }), ErrOptions,
			"firmware: bad options: window 0 has 268435460 bytes at 0x123456788, want multiples of 4 and at most 268435456 bytes"},
		{"test of window 7", small(nil), change(func(o *Options) { o.TestWindow = 7 }), ErrOptions, "firmware: bad options: test of window 7, want 0 to 6"},
		{"test of a window to read", small(nil), change(func(o *Options) { o.TestWindow = 0 }), ErrOptions, "firmware: bad options: test of window 0, which the program may not write"},
		{"test of a closed window", small(nil), change(func(o *Options) { o.TestWindow = 2; o.Windows[2].Write = true }), ErrOptions,
			"firmware: bad options: test of window 2, which the program may not write"},
	} {
		r := newRegisters()
		_, err := Load(r, tt.image, tt.options)
		require.ErrorIs(t, err, tt.kind, tt.name)
		assert.EqualError(t, err, tt.text, tt.name)
		assert.Empty(t, r.writes, tt.name)
	}
	r := newRegisters()
	_, err := Load(r, small(put(0x24, 0x2000)), loadOptions())
	assert.NoError(t, err, "memory of 8 KiB")
}

// A program that is not the one in the image is not started.
func TestLoadedProgram(t *testing.T) {
	r := newRegisters()
	r.values[0x618] ^= 1
	_, err := Load(r, small(nil), loadOptions())
	require.ErrorIs(t, err, ErrLoad)
	assert.NotContains(t, r.writes, write{0x604, 1})
}

// An access that fails ends the load with its error, whichever it is. There are no more accesses.
func TestLink(t *testing.T) {
	r := newRegisters()
	_, err := Load(r, small(nil), loadOptions())
	require.NoError(t, err)
	all := r.done
	for n := 1; n <= all; n++ {
		r := newRegisters()
		r.failAt = n
		_, err := Load(r, small(nil), loadOptions())
		require.ErrorIs(t, err, errLink, "access %d", n)
		assert.Equal(t, n, r.done)
	}
}

// A boot ends at its limit, in an error with what the mail words have, and in reset.
func TestBootErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(r *registers, o *Options)
		kind   error
		polls  uint64
		clocks uint64
		text   string
	}{
		{"clocks", func(r *registers, o *Options) { o.Clocks = 10_000 }, ErrHung, 10, 10_000, "firmware: boot hangs in stage LOOP after 10000 clocks"},
		{"polls", func(r *registers, o *Options) { o.Polls = 5 }, ErrHung, 5, 5000, "firmware: boot hangs in stage LOOP after 5000 clocks"},
		{"polls without clocks", func(r *registers, o *Options) { o.Polls, o.Clocks = 6, 0 }, ErrHung, 6, 6000, "firmware: boot hangs in stage LOOP after 6000 clocks"},
		{"watchdog", func(r *registers, o *Options) { r.values[0x608] = 6 }, ErrHung, 1, 1000, "firmware: boot hangs in stage LOOP after 1000 clocks"},
	} {
		r, o := newRegisters(), loadOptions()
		r.polls = 1 << 30
		tt.edit(r, &o)
		b, err := Load(r, small(nil), o)
		require.ErrorIs(t, err, tt.kind, tt.name)
		assert.EqualError(t, err, tt.text, tt.name)
		assert.Equal(t, tt.polls, b.Polls, tt.name)
		assert.Equal(t, tt.clocks, b.Clocks, tt.name)
		assert.Equal(t, write{0x604, 0}, r.writes[len(r.writes)-1], tt.name)
		var boot *BootError
		require.ErrorAs(t, err, &boot)
		assert.Equal(t, b, boot.Boot)
	}
}

func TestBootErrorText(t *testing.T) {
	b := Boot{Checkpoint: 5, Result: 10, Detail: [3]uint32{0x80000000, 1, 2}, Clocks: 77}
	assert.EqualError(t, &BootError{ErrFailed, b}, "firmware: self-test failed in stage WINDOW: WINDOW_VALUE, at 0x80000000 found 0x1, want 0x2")
	assert.EqualError(t, &BootError{ErrHung, b}, "firmware: boot hangs in stage WINDOW after 77 clocks")
	b.Checkpoint, b.Result = 99, 98
	assert.EqualError(t, &BootError{ErrTrap, b}, "firmware: exception during the boot in stage 0x63: mcause 0x80000000, mepc 0x1, mtval 0x2")
	assert.Equal(t, "0x62", b.Outcome())
}

// A trip may pass the end of the low half of the time. The error is that of the first read that fails.
func TestTrip(t *testing.T) {
	clocks, err := Trip(newRegisters())
	require.NoError(t, err)
	assert.EqualValues(t, 1000, clocks)
	for n := 1; n <= 2; n++ {
		r := newRegisters()
		r.failAt = n
		_, err := Trip(r)
		require.ErrorIs(t, err, errLink)
		assert.Equal(t, n, r.done)
	}
}
