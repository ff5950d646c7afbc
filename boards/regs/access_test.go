package regs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		want uint64
		log  []string
	}{
		{"cp0.status", 1, []string{"rd 0x1004"}},
		{"intc.status.fault0", 1, []string{"rd 0x100"}},
		{"cp0.fault_info.cause", 4, []string{"rd 0x1020"}},
		{"cp0.ring_base", 0x80000000_00001000, []string{"rd 0x100c", "rd 0x1008", "rd 0x100c"}},
		{"id.time!", 0x22_00000011, []string{"rd 0x18", "rd 0x1c"}},
		{"intc.raise!", 0, []string{"rd 0x108"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard()
			f := open(t, b)
			values, skipped, err := f.ReadAll(find(t, f, tt.name))
			require.NoError(t, err)
			assert.Empty(t, skipped)
			require.Len(t, values, 1)
			assert.Equal(t, tt.want, values[0].Value)
			assert.Equal(t, tt.log, b.log)
		})
	}
}

// TestReadPair carries from the low half to the high one between two reads.
func TestReadPair(t *testing.T) {
	b := newBoard()
	f := open(t, b)
	carried := false
	b.hook = func(off uint64) {
		if off == 0x103c && !carried {
			carried, b.words[0x103c], b.words[0x1040] = true, 0, 2
		}
	}
	values, _, err := f.ReadAll(find(t, f, "cp0.ib_addr"))
	require.NoError(t, err)
	assert.EqualValues(t, 0x2_00000000, values[0].Value)

	b.hook = func(off uint64) { b.words[0x1040]++ }
	_, _, err = f.ReadAll(find(t, f, "cp0.ib_addr"))
	assert.ErrorIs(t, err, regs.ErrReadBack)
}

func TestReadRefuses(t *testing.T) {
	b := newBoard()
	f := open(t, b)
	for name, says := range map[string]string{
		"id.time_lo": "latches the high half into TIME_HI",
		"id.time":    "latches the high half into TIME_HI",
		"intc.raise": "write-only",
	} {
		_, _, err := f.ReadAll(find(t, f, "id.magic", name))
		assert.ErrorIs(t, err, regs.ErrRefused, name)
		assert.ErrorContains(t, err, says, name)
		assert.ErrorContains(t, err, name+"! reads it", name)
	}
	assert.Empty(t, b.log, "nothing was read")

	values, skipped, err := f.ReadAll(find(t, f, "id.time_*"))
	require.NoError(t, err)
	require.Len(t, values, 1)
	assert.Equal(t, "id.time_hi", values[0].Target.Name())
	require.Len(t, skipped, 1)
	assert.Equal(t, "id.time_lo", skipped[0].Name)
	assert.Equal(t, []string{"rd 0x1c"}, b.log)

	_, _, err = f.ReadAll(find(t, f, "cp0.rptr"))
	assert.ErrorIs(t, err, bus.ErrAbort)
	assert.ErrorContains(t, err, "cp0.rptr")
}

func TestParse(t *testing.T) {
	n := regs.NewNames(caps.Node1)
	for _, tt := range []struct {
		name, text string
		want       uint64
		err        bool
	}{
		{"id.scratch0", "0xffff_ffff", 1<<32 - 1, false},
		{"id.scratch0", "0x1_0000_0000", 0, true},
		{"id.scratch0", "-1", 0, true},
		{"id.scratch0", "run", 0, true},
		{"cp0.ring_base", "0xffffffffffffffff", 1<<64 - 1, false},
		{"cp0.fault_info.cause", "align", 4, false},
		{"cp0.fault_info.cause", "WRITE_ERROR", 12, false},
		{"cp0.fault_info.cause", "15", 15, false},
		{"cp0.fault_info.cause", "16", 0, true},
		{"cp0.fault_info.cause", "alien", 0, true},
		{"cp0.ctl.run", "0b1", 1, false},
		{"cp0.ctl.run", "2", 0, true},
		{"cp0.fault_info", "align", 0, true},
	} {
		ts, err := n.Find(tt.name)
		require.NoError(t, err)
		got, err := ts[0].Parse(tt.text)
		assert.Equal(t, tt.want, got, "%s=%s", tt.name, tt.text)
		if tt.err {
			assert.ErrorIs(t, err, regs.ErrValue, "%s=%s", tt.name, tt.text)
			assert.ErrorContains(t, err, tt.name)
		} else {
			assert.NoError(t, err)
		}
	}
}
