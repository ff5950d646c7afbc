package sanitize_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
)

// A reader copies a buffer to one that the CPU reads, several times, and reads it each time.
type reader struct {
	t     *testing.T
	empty bool // it does not copy the first time
	flags umddi.MapFlags
	busy  int // maps that were refused
	wrong int // maps whose content is not the last one
}

func (a *reader) run(s *testbench.System) {
	dev, ctx, err := s.CreateDevice()
	require.NoError(a.t, err)
	defer dev.Close()
	from, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: dynamicBytes, Usage: d3d11.UsageDefault, BindFlags: d3d11.BindVertexBuffer}, nil)
	require.NoError(a.t, err)
	defer from.Release()
	to, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: dynamicBytes, Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(a.t, err)
	defer to.Release()
	for i := range byte(4) {
		data := make([]byte, dynamicBytes)
		for j := range data {
			data[j] = 17*i + byte(j)
		}
		ctx.UpdateSubresource(from, 0, nil, data, 0, 0)
		if i > 0 || !a.empty {
			ctx.CopyResource(to, from)
		}
		var m d3d11.MappedSubresource
		if err := ctx.Map(to, 0, d3d11.MapRead, a.flags, &m); err != nil {
			a.busy++
			continue
		}
		if string(m.Data[:dynamicBytes]) != string(data) {
			a.wrong++
		}
		ctx.Unmap(to, 0)
	}
}

// readOutcome runs a reader and returns the broken rule, or the rule of the first finding, or "".
func readOutcome(t *testing.T, a *reader, edit func(kt *umddi.DeviceCallbacks), seed uint64) string {
	t.Helper()
	d := testbench.HostDrivers()
	if edit != nil {
		onCallbacks(&d, edit)
	}
	board := [...]string{"emu?vram=64KiB", "emu?config=small&vram=16KiB", "emu?nodes=1&vram=64KiB"}[seed%3]
	s, err := testbench.Open(board, d, testbench.Options{Sanitize: true, Seed: seed})
	require.NoError(t, err)
	a.run(s)
	err = errors.Join(s.WaitForIdle(), s.Close())
	var broken *verifier.Violation
	switch {
	case errors.As(err, &broken):
		return broken.Rule.Name
	case len(s.Findings()) > 0:
		return s.Findings()[0].Rule
	}
	require.NoError(t, err)
	return ""
}

// early is a driver that locks for reading without waiting, from a lock on that r chooses.
func early(r *rand.Rand) func(kt *umddi.DeviceCallbacks) {
	skip := r.IntN(3)
	return func(kt *umddi.DeviceCallbacks) {
		lock := kt.LockCb
		kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
			if arg.ReadOnly {
				skip--
				arg.IgnoreSync = skip < 0
			}
			return lock(t, h, arg)
		}
	}
}

// A read of the CPU before the GPU has written, and one of what nobody has written, are named. A map that
// does not wait is refused or complete, and is told of nothing.
func TestPlantedCPUReads(t *testing.T) {
	busy := 0
	for seed := range uint64(24) {
		assert.Equal(t, "access-lock", readOutcome(t, &reader{t: t}, early(rand.New(rand.NewPCG(seed, 27))), seed), "seed %d", seed)
		assert.Equal(t, "access-unwritten", readOutcome(t, &reader{t: t, empty: true}, nil, seed), "seed %d", seed)
		good := &reader{t: t}
		assert.Empty(t, readOutcome(t, good, nil, seed), "seed %d", seed)
		assert.Zero(t, good.wrong+good.busy)
		polls := &reader{t: t, flags: d3d11.MapDoNotWait}
		assert.Empty(t, readOutcome(t, polls, nil, seed), "seed %d", seed)
		assert.Zero(t, polls.wrong)
		busy += polls.busy
	}
	assert.Positive(t, busy, "no map was refused")
}
