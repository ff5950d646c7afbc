package boards

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

func TestFaultSelectorErrors(t *testing.T) {
	for _, tt := range []struct{ selector, says string }{
		{"emu?fault=fire", "fault=fire, want lost-interrupt, lost-doorbell, dead, dead-request, lost-answer, late-answer, ignore-preempt, ignore-reset, stuck-address:A<n>=<0|1>"},
		{"emu?fault=dead,", "want lost-interrupt"},
		{"emu?fault=stuck-address:A24=1", "want stuck-address:A<n>=<0|1>, n from 3 to 23"},
		{"emu?vram=8KiB&fault=stuck-address:A13=1", "n from 3 to 12"},
		{"emu?fault=stuck-address:A13=1,dead-lane:8", "want dead-lane:<n>, n from 0 to 7"},
		{"emu?fault=dead-lane:3&after=2", "after=2, want fault= with a fault that counts events"},
		{"emu?fault=dead-lane:3,lost-interrupt&count=0", "count=0, want a number from 1"},
		{"verilated?fault=dead-lane:3", "fault=dead-lane:3, want lost-interrupt, lost-doorbell, dead, dead-request, lost-answer, late-answer, ignore-preempt or ignore-reset"},
	} {
		_, _, err := Open(tt.selector, new(pc))
		require.ErrorIs(t, err, ErrSelector, tt.selector)
		assert.ErrorContains(t, err, tt.says)
	}
}

// Several injected faults work at the same time.
func TestSeveralFaults(t *testing.T) {
	h := new(pc)
	link, clock, err := Open("emu?vram=8KiB&fault=stuck-address:A5=0,lost-interrupt,stuck-data:D0=1&after=1", h)
	require.NoError(t, err)
	enumerate(t, link)
	require.NoError(t, submit(t, waiter{link, clock}, h, 3))
	assert.Equal(t, 1, h.messages, "of three")
	before := counter(t, link, "harmed")
	assert.EqualValues(t, 2, before)
	require.NoError(t, link.Write(2, 0x20, []byte{0x10, 0, 0, 0, 0, 0, 0, 0}))
	p := make([]byte, 4)
	require.NoError(t, link.Read(2, 0, p))
	assert.Equal(t, []byte{0x11, 0, 0, 0}, p)
	assert.EqualValues(t, before+1, counter(t, link, "harmed"))
}

// A device without a link has the injected faults of its selector. Without any
// it is the GPU itself.
func TestDevice(t *testing.T) {
	good, err := Device("emu?config=small&hz=5000")
	require.NoError(t, err)
	assert.IsType(t, (*gpu.GPU)(nil), good.Device)
	assert.EqualValues(t, 5000, good.Hz())

	dev, err := Device("emu?config=small&fault=stuck-register:D8=1")
	require.NoError(t, err)
	link, err := inproc.New(dev, new(pc), inproc.Options{})
	require.NoError(t, err)
	enumerate(t, link)
	assert.EqualValues(t, 0x47504d48, read32(t, link, idreg.Magic), "the magic has D8 clear")
	names := map[string]uint64{}
	for _, c := range dev.Counters() {
		names[c.Name] = c.Value
	}
	assert.Equal(t, map[string]uint64{"packets_node0": 0, "packets_node1": 0, "bytes_moved": 0, "harmed": 1}, names)

	for _, tt := range []struct{ selector, says string }{
		{"serial:/dev/null", `"serial:/dev/null" cannot be served, want emu`},
		{"emu?latency=5", "latency=5, want no wire option"},
		{"emu?timeout=5", "timeout=5"},
		{"emu?tags=3", "tags 3, want 2 to 16"},
		{"emu?fault=dead-lane:9", "n from 0 to 7"},
		{"emu?speed=9", `unknown "speed"`},
	} {
		_, err := Device(tt.selector)
		require.ErrorIs(t, err, ErrSelector, tt.selector)
		assert.ErrorContains(t, err, tt.says)
	}
}
