package bars

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// TestRead reads a 32-bit BAR, an I/O BAR, a 64-bit BAR and, last, a BAR that
// claims a high half beyond the last register (PCI 3.0 §6.2.5.1).
func TestRead(t *testing.T) {
	regs := map[int]uint32{
		pcicfg.BAR0: 0xe0000000, pcicfg.BAR0 + 4: 0x0000d001, pcicfg.BAR0 + 8: 0x8000000c, pcicfg.BAR0 + 12: 0x2,
		pcicfg.BAR0 + 16: 0, pcicfg.BAR0 + 20: 0x10000004,
	}
	read := func(off int) (uint32, error) { return regs[off], nil }
	b, err := Read(read)
	require.NoError(t, err)
	assert.Equal(t, [6]BAR{
		{Memory: true, Base: 0xe0000000}, {Base: 0xd000}, {Memory: true, Base: 0x2_8000_0000}, {Upper: true},
		{Memory: true}, {Memory: true, Base: 0x10000000},
	}, b)

	failed := errors.New("failed")
	for _, at := range []int{pcicfg.BAR0, pcicfg.BAR0 + 12, pcicfg.BAR0 + 20} {
		_, err := Read(func(off int) (uint32, error) {
			if off == at {
				return 0, failed
			}
			return regs[off], nil
		})
		assert.ErrorIs(t, err, failed)
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		bar  BAR
		off  uint64
		n    int
		want uint64
		says string // "" if the address is valid
	}{
		{BAR{Memory: true, Base: 0x1000}, 0x10, 4, 0x1010, ""},
		{BAR{Memory: true, Base: 1 << 63}, 1<<63 - 8, 4, 1<<64 - 8, ""},
		{BAR{Memory: true, Base: 1 << 63}, 1<<63 - 4, 8, 0, "it ends above the address space, with base 0x8000000000000000"},
		{BAR{Memory: true, Base: 1 << 63}, 1 << 63, 4, 0, "it ends above the address space, with base 0x8000000000000000"},
		{BAR{Base: 0xd000}, 0, 4, 0, "it is not memory"},
		{BAR{Upper: true}, 0, 4, 0, "it is the high half of the BAR before it"},
	} {
		at, ok := tt.bar.Address(tt.off, tt.n)
		assert.Equal(t, tt.says == "", ok, "%+v", tt)
		if ok {
			assert.Equal(t, tt.want, at)
		} else {
			assert.Equal(t, tt.says, tt.bar.String())
		}
	}
}
