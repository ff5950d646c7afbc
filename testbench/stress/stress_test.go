package stress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench"
)

// small returns the options of a short run.
func small(board string) Options {
	return Options{Board: board, Drivers: testbench.HostDrivers(), Processes: 3, Seed: 1, Rounds: 3, Frames: 3, Pressure: 1.5}
}

func TestPressure(t *testing.T) {
	for _, tt := range []struct {
		name, board string
		change      func(o *Options)
	}{
		{"none", "emu?vram=64KiB", func(o *Options) {}},
		{"hang", "emu?vram=64KiB", func(o *Options) { o.Hang = 0.1 }},
		{"bad packet", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{BadPacket, 0.02}} }},
		{"host read", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{HostRead, 0.02}} }},
		{"host read, time-out of the node", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{HostRead, 0.02}}; o.System.TdrDelay = 1 << 26 }},
		{"ignore-preempt", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{IgnorePreempt, 0.02}} }},
		{"ignore-reset", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{IgnoreReset, 0.02}} }},
		{"interrupt", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{LostInterrupt, 0.1}} }},
		{"no memory", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{NoMemory, 0.3}} }},
		{"firmware", "emu?config=full&vram=128KiB", func(o *Options) {
			o.Faults = []Injection{{Firmware, 0.02}}
			o.System.Queues.Use = true
		}},
		{"unplug", "emu?vram=64KiB", func(o *Options) { o.Faults = []Injection{{Unplug, 0.01}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(tt.board)
			tt.change(&o)
			r, err := Run(o)
			t.Logf("%+v", r)
			require.NoError(t, err)
		})
	}
}
