package sweep

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A counter counts the clocks of a GPU. It may break the protocol.
type counter struct {
	*gpu.GPU
	clocks   int
	unstable bool // the tag of each header changes in each clock
}

func newCounter(t *testing.T, c gpu.Config) *counter {
	t.Helper()
	g, err := gpu.New(c)
	require.NoError(t, err)
	return &counter{GPU: g}
}

func (d *counter) Initiator() (port.Request, port.Beat) {
	r, b := d.GPU.Initiator()
	if d.unstable && r.Kind == port.MemWrite {
		r.Tag = uint8(d.clocks)
	}
	return r, b
}

func (d *counter) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.clocks++
	d.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// Every distance of every sweep ends with an idle device and all requests complete, in
// fewer clocks than a wait may take.
func TestRun(t *testing.T) {
	tooltest.Long(t)
	lean := gpu.Small()
	lean.VRAMPorts, lean.Caps = 1, 0
	for name, c := range map[string]gpu.Config{"default": gpu.Default(), "small": gpu.Small(), "one port, no aperture": lean} {
		t.Run(name, func(t *testing.T) {
			dev := newCounter(t, c)
			at, last := 0, 0
			require.NoError(t, Run(dev, func(done, total int) error {
				at++
				require.Equal(t, at, done)
				require.LessOrEqual(t, done, total)
				require.Positive(t, dev.IdleFor(), "distance %d", done)
				require.Less(t, dev.clocks-last, 2*patience, "distance %d", done)
				last = dev.clocks
				return nil
			}))
			total := 0
			for _, s := range on(c) {
				total += s.Cases * s.Distances
			}
			assert.Equal(t, total, at)
		})
	}
}

// Two runs are the same.
func TestRunAgain(t *testing.T) {
	dev, again := newCounter(t, gpu.Small()), newCounter(t, gpu.Small())
	require.NoError(t, Run(dev, nil))
	require.NoError(t, Run(again, nil))
	assert.Equal(t, dev.clocks, again.clocks)
	assert.Equal(t, dev.Hash(), again.Hash())
}

// The configuration decides which sweeps there are.
func TestOn(t *testing.T) {
	assert.Len(t, on(gpu.Default()), len(All()))
	for _, s := range on(gpu.Small()) {
		assert.Zero(t, s.Needs&^gpu.Small().Caps, s.Name)
		assert.Less(t, s.Nodes, 2, s.Name)
	}
	names := map[string]bool{}
	for _, s := range All() {
		assert.False(t, names[s.Name], s.Name)
		assert.NotEmpty(t, s.Why, s.Name)
		names[s.Name] = true
	}
}

func TestRunEnds(t *testing.T) {
	enough := errors.New("enough")
	dev := newCounter(t, gpu.Small())
	assert.ErrorIs(t, Run(dev, func(done, _ int) error {
		if done == 3 {
			return enough
		}
		return nil
	}), enough)

	dev = newCounter(t, gpu.Small())
	dev.unstable = true
	err := Run(dev, nil)
	assert.ErrorIs(t, err, hostbfm.ErrProtocol)
	assert.ErrorContains(t, err, "sweep message")
}
