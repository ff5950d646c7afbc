package transfer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

// Without a size, a run takes the largest power of two that fits the board, at most 64 KiB.
func TestDefaultSize(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    transfer.Options
		want int
	}{
		{"a large VRAM", transfer.Options{}, 64 << 10},
		{"packets of 16 bits", transfer.Options{Board: "emu?lengthbits=16"}, 32 << 10},
		{"8 KiB of VRAM, a slot and its guard", transfer.Options{Board: "emu?config=small"}, 2 << 10},
		{"one slot", transfer.Options{Board: "emu?config=small", From: transfer.Host}, 4 << 10},
		{"4 KiB of VRAM", transfer.Options{Board: "emu?config=small&vram=4KiB", Fill: true}, 2 << 10},
		{"host memory only", transfer.Options{Board: "emu?config=small&vram=4KiB", From: transfer.Host, To: transfer.Host}, 32 << 10},
		{"an alignment", transfer.Options{Board: "emu?config=small", FromAlign: 3000}, 1 << 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Count = 1
			r, err := run(tt.o)
			require.NoError(t, err)
			assert.Equal(t, tt.want, r.Size)
		})
	}
}
