package ice40hx8k

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// TestPins: a host opens the board at its pins and reads its identity, also with a clock
// that is off by 2 %.
func TestPins(t *testing.T) {
	for _, fast := range []int{0, 20_000, -20_000} {
		m, err := New(0)
		require.NoError(t, err)
		w, err := pins.New(pins.NewSerial(m, Hz, []int{Baud}, fast), pins.Options{Hz: Hz})
		require.NoError(t, err)
		link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
		require.NoError(t, err)
		require.NoError(t, bustest.Enumerate(link))
		p := make([]byte, 4)
		require.NoError(t, link.Read(0, idreg.Base+idreg.Magic, p))
		t.Logf("%x", p)
	}
}

// TestShare: bulk transfers between the host and VRAM get at least 70 % of the line as payload.
func TestShare(t *testing.T) {
	m, err := New(0)
	require.NoError(t, err)
	w, err := pins.New(pins.NewSerial(m, Hz, []int{Baud}, 0), pins.Options{Hz: Hz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	data := make([]byte, VRAMBytes)
	for _, tt := range []struct {
		name string
		move func() error
	}{
		{"writes", func() error { return errors.Join(link.Write(2, 0, data), link.Read(2, 0, data[:4])) }},
		{"reads", func() error { return link.Read(2, 0, data) }},
	} {
		for i := range data {
			data[i] = byte(1 + i%255)
		}
		at := w.Clocks()
		require.NoError(t, tt.move())
		share := float64(len(data)) * 10 * Hz / Baud / float64(w.Clocks()-at)
		t.Logf("%s: %.3f of %d bit/s / 10", tt.name, share, Baud)
		require.GreaterOrEqual(t, share, 0.7, tt.name)
	}
}
