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

// A cpuMistake is a write of memory that the GPU owns.
type cpuMistake struct {
	name   string
	driver func(kt *umddi.DeviceCallbacks, r *rand.Rand) // changes the callbacks of the driver
	app    func(a *cpuApp, mapped []byte, r *rand.Rand)  // follows a flush
}

func cpuMistakes() []cpuMistake {
	return []cpuMistake{
		{name: "NO_OVERWRITE overwrites", app: func(a *cpuApp, _ []byte, r *rand.Rand) {
			var m d3d11.MappedSubresource
			require.NoError(a.t, a.ctx.Map(a.dynamic, 0, d3d11.MapWriteNoOverwrite, 0, &m))
			m.Data[r.IntN(len(m.Data))] ^= 1 + byte(r.IntN(255))
			a.ctx.Unmap(a.dynamic, 0)
		}},
		{name: "an application uses a pointer after Unmap", app: func(_ *cpuApp, mapped []byte, r *rand.Rand) {
			mapped[r.IntN(len(mapped))] ^= 1 + byte(r.IntN(255))
		}},
		{name: "a driver uses a pointer after the unlock", driver: func(kt *umddi.DeviceCallbacks, r *rand.Rand) {
			var data []byte
			lock, render := kt.LockCb, kt.RenderCb
			kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
				hr := lock(t, h, arg)
				if !hr.Failed() && !arg.ReadOnly && len(arg.Data) == dynamicBytes {
					data = arg.Data
				}
				return hr
			}
			kt.RenderCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Render) ddi.HRESULT {
				hr := render(t, h, arg)
				data[r.IntN(len(data))] ^= 1 + byte(r.IntN(255))
				return hr
			}
		}},
		{name: "a driver locks for a discard without waiting", driver: func(kt *umddi.DeviceCallbacks, _ *rand.Rand) {
			lock := kt.LockCb
			kt.LockCb = func(t *ddi.Thread, h umddi.HRTDevice, arg *umddi.Lock) ddi.HRESULT {
				arg.IgnoreSync = arg.IgnoreSync || !arg.ReadOnly
				return lock(t, h, arg)
			}
		}},
	}
}

// dynamicBytes is the size of the buffer of a cpuApp.
const dynamicBytes = 1000

// A cpuApp fills a dynamic buffer several times, and has the GPU copy it each time.
type cpuApp struct {
	t       *testing.T
	ctx     *d3d11.Context
	dynamic *d3d11.Buffer
}

func (a *cpuApp) run(s *testbench.System, r *rand.Rand, mistake func(a *cpuApp, mapped []byte, r *rand.Rand)) {
	dev, ctx, err := s.CreateDevice()
	require.NoError(a.t, err)
	defer dev.Close()
	a.ctx = ctx
	buffer := func(usage d3d11.Usage, access uint32) *d3d11.Buffer {
		b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: dynamicBytes, Usage: usage, BindFlags: d3d11.BindVertexBuffer, CPUAccessFlags: access}, nil)
		require.NoError(a.t, err)
		return b
	}
	a.dynamic = buffer(d3d11.UsageDynamic, d3d11.CPUAccessWrite)
	defer a.dynamic.Release()
	to := buffer(d3d11.UsageDefault, 0)
	defer to.Release()
	at := r.IntN(6)
	for i := range 6 {
		var m d3d11.MappedSubresource
		if ctx.Map(a.dynamic, 0, d3d11.MapWriteDiscard, 0, &m) != nil {
			return // the system has stopped
		}
		for j := range m.Data {
			m.Data[j] = byte(r.IntN(256))
		}
		ctx.Unmap(a.dynamic, 0)
		ctx.CopyResource(to, a.dynamic)
		ctx.Flush()
		if i == at && mistake != nil {
			mistake(a, m.Data, r)
		}
	}
}

// cpuOutcome runs an application, with a mistake or without, and returns the broken rule or "".
func cpuOutcome(t *testing.T, m cpuMistake, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 23))
	d := testbench.HostDrivers()
	if m.driver != nil {
		onCallbacks(&d, func(kt *umddi.DeviceCallbacks) { m.driver(kt, r) })
	}
	board := [...]string{"emu?vram=64KiB", "emu?config=small&vram=16KiB", "emu?nodes=1&vram=64KiB"}[seed%3]
	s, err := testbench.Open(board, d, testbench.Options{Sanitize: true, Seed: seed})
	require.NoError(t, err)
	a := &cpuApp{t: t}
	a.run(s, r, m.app)
	err = errors.Join(s.WaitForIdle(), s.Close())
	var broken *verifier.Violation
	if errors.As(err, &broken) {
		return broken.Rule.Name
	}
	require.NoError(t, err)
	return ""
}

// onCallbacks changes the callbacks that a user-mode driver gets.
func onCallbacks(d *testbench.Drivers, edit func(kt *umddi.DeviceCallbacks)) {
	open := d.UserMode
	d.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, a umddi.HAdapter, dev *umddi.CreateDevice) ddi.HRESULT {
			kt := *dev.KTCallbacks
			edit(&kt)
			dev.KTCallbacks = &kt
			return create(t, a, dev)
		}
		return hr
	}
}

// Each write of memory that the GPU owns is named, and no other write.
func TestPlantedCPUWrites(t *testing.T) {
	all := cpuMistakes()
	for seed := range uint64(24) {
		m := all[seed%uint64(len(all))]
		assert.Equal(t, "access-cpu-write", cpuOutcome(t, m, seed), "%s, seed %d", m.name, seed)
		assert.Empty(t, cpuOutcome(t, cpuMistake{}, seed), "no mistake, seed %d", seed)
	}
}
