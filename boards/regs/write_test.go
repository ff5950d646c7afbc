package regs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value uint64
		log   []string // accesses, in order
		out   string
	}{
		{"id.scratch0", 5, []string{"rd 0x20", "wr 0x20 0x5", "rd 0x20"},
			"id.scratch0 0x0000_0007 → 0x0000_0005   written, read back ok\n"},
		{"intc.mask.done1", 0, []string{"rd 0x104", "wr 0x104 0x301", "rd 0x104"},
			"intc.mask 0x0000_0303 → 0x0000_0301   (done1 1 → 0)   written, read back ok\n"},
		// CTL reads 3 here: RESET is a trigger and must not be written again.
		{"cp0.ctl.run!", 0, []string{"rd 0x1000", "wr 0x1000 0x0", "rd 0x1000"},
			"cp0.ctl 0x0000_0003 → 0x0000_0000   (run 1 → 0)   written, read back ok\n"},
		{"intc.status.fault0", 1, []string{"wr 0x100 0x100", "rd 0x0"},
			"intc.status ← 0x0000_0100   (fault0 1)   written\n"},
		{"intc.raise!", 3, []string{"wr 0x108 0x3", "rd 0x0"}, "intc.raise ← 0x0000_0003   written\n"},
		{"cp0.ring_base!", 0x80000000_00002000, []string{"rd 0x100c", "rd 0x1008", "rd 0x100c", "wr 0x1008 0x2000", "wr 0x100c 0x80000000", "rd 0x100c", "rd 0x1008", "rd 0x100c"},
			"cp0.ring_base 0x8000_0000_0000_1000 → 0x8000_0000_0000_2000   written, read back ok\n"},
		{"id.err_count", 0, []string{"rd 0x30", "wr 0x30 0x0", "rd 0x30"},
			"id.err_count 0x0000_0003 → 0x0000_0000   written, read back ok\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard()
			f := open(t, b)
			w, err := f.Write(find(t, f, tt.name)[0], tt.value)
			require.NoError(t, err)
			assert.Equal(t, tt.log, b.log)
			assert.Equal(t, tt.out, w.String())
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, says := range map[string]string{
		"id.magic":           "read-only",
		"id.magic!":          "read-only",
		"id.time!":           "read-only",
		"cp0.wptr":           "doorbell",
		"cp0.fence":          "destructive",
		"cp0.ring_base":      "destructive: work in flight is lost or memory is written",
		"cp0.ctl.reset":      "trigger",
		"intc.raise":         "idle: only while nothing runs",
		"msix.control0.mask": "idle",
		"id.err_info.cause":  "may change the other fields",
	} {
		b := newBoard()
		f := open(t, b)
		_, err := f.Write(find(t, f, name)[0], 0)
		assert.ErrorIs(t, err, regs.ErrRefused, name)
		assert.ErrorContains(t, err, says, name)
		assert.Empty(t, b.log, name)
	}
}

func TestWriteThatDoesNotHold(t *testing.T) {
	b := newBoard()
	b.wired = map[uint64]uint32{0x20: 4, 0x30: 3}
	f := open(t, b)
	_, err := f.Write(find(t, f, "id.scratch0")[0], 0)
	assert.ErrorIs(t, err, regs.ErrReadBack)
	assert.ErrorContains(t, err, "id.scratch0 reads 0x4 after 0x0 was written")
	w, err := f.Write(find(t, f, "id.err_count")[0], 0)
	require.NoError(t, err, "the device may count on")
	assert.Equal(t, "id.err_count 0x0000_0003 → 0x0000_0000   written, reads 0x0000_0003\n", w.String())

	b.down = bus.ErrLinkDown
	_, err = f.Write(find(t, f, "intc.raise!")[0], 1)
	assert.ErrorIs(t, err, bus.ErrLinkDown)
}

func TestParsePoke(t *testing.T) {
	for name, want := range map[string]reg.Poke{"safe": reg.Safe, "idle": reg.Idle, "destructive": reg.Destructive} {
		got, ok := regs.ParsePoke(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"", "Safe", "never"} {
		_, ok := regs.ParsePoke(name)
		assert.False(t, ok, name)
	}
}
