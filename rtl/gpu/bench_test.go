package gpu_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// attach records a machine to w, or to a flight recorder if w is nil.
func attach(m *machine, w io.Writer) {
	r, err := wave.New(w, wave.Options{})
	require.NoError(m.t, err)
	m.dev = r.Attach(m.g)
}

// fill gives both nodes copies that take 30,000 clocks.
func (m *machine) fill() {
	for n := range uint64(2) {
		c := pkt.Copy{Src: 0x20000 * n, Dst: 0x20000*n + 0x10000, Bytes: 0x10000}
		m.submit(int(n), c, c)
	}
	end := m.clock + 500
	m.run(1000, func() bool { return m.clock >= end })
}

// turn clocks only the device, as its link does.
func (m *machine) turn(clocks uint64) {
	for end := m.clock + clocks; m.clock < end; {
		if n := min(m.dev.IdleFor(), end-m.clock); n > 0 {
			m.dev.Skip(n)
			m.clock += n
			continue
		}
		m.dev.Target()
		m.dev.Initiator()
		m.dev.Tick(port.Request{}, port.Beat{}, true, port.Completion{}, false, false)
		m.clock++
	}
}

// A clock does not allocate, with or without a recorder.
func TestClockDoesNotAllocate(t *testing.T) {
	for name, w := range map[string]io.Writer{"wave": io.Discard, "flight": nil, "alone": nil} {
		m := boot(t, small(), 1)
		if name != "alone" {
			attach(m, w)
		}
		m.fill()
		m.turn(5000)
		require.Zero(t, testing.AllocsPerRun(5, func() { m.turn(500) }), name)
		require.Zero(t, m.dev.IdleFor(), "the GPU is still busy")
	}
}
