package transfer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/device/transfer"
)

func TestDirections(t *testing.T) {
	assert.Equal(t, []string{"host-host", "host-vram", "vram-host", "vram-vram"}, transfer.Directions(false))
	assert.Equal(t, []string{"host", "vram"}, transfer.Directions(true))
	for _, tt := range []struct {
		fill     bool
		name     string
		from, to transfer.Place
		ok       bool
	}{
		{false, "host-vram", transfer.Host, transfer.VRAM, true},
		{false, "vram-host", transfer.VRAM, transfer.Host, true},
		{true, "host", transfer.VRAM, transfer.Host, true},
		{true, "host-vram", transfer.VRAM, transfer.VRAM, false},
		{false, "vram", transfer.VRAM, transfer.VRAM, false},
	} {
		from, to, ok := transfer.Direction(tt.fill, tt.name)
		assert.Equal(t, tt.ok, ok, tt.name)
		assert.Equal(t, []transfer.Place{tt.from, tt.to}, []transfer.Place{from, to}, tt.name)
	}
}
