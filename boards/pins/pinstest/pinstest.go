// Package pinstest has checks of boards at their pins.
package pinstest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// VRAMShare writes the first n bytes of a board's VRAM, which is BAR2, and reads them back. Each way
// must reach a share of rate/10 bytes a second, with ten bits on the wire for a byte. The clock of the
// pins is hz, and rate is the rate in bit/s that the host and the board choose.
func VRAMShare(t *testing.T, s *pins.Serial, hz, rate uint64, n int, least float64) {
	w, err := pins.New(s, pins.Options{Hz: hz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	data, back := make([]byte, n), make([]byte, n)
	for i := range data {
		data[i] = byte(1 + i%255)
	}
	for _, tt := range []struct {
		name string
		move func() error
	}{
		{"writes", func() error { return errors.Join(link.Write(2, 0, data), link.Read(2, 0, back[:4])) }},
		{"reads", func() error { return link.Read(2, 0, back) }},
	} {
		at := w.Clocks()
		require.NoError(t, tt.move())
		share := float64(n) * 10 * float64(hz) / float64(rate) / float64(w.Clocks()-at)
		t.Logf("%s: %.3f of %d bit/s / 10", tt.name, share, rate)
		require.GreaterOrEqual(t, share, least, tt.name)
	}
	require.Equal(t, data, back)
}
