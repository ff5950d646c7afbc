package testbench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// staging creates a texture that the CPU reads and writes.
func staging(dev *d3d11.Device) (*d3d11.Texture2D, error) {
	return dev.CreateTexture2D(d3d11.Texture2DDesc{
		Width: 8, Height: 8, MipLevels: 1, ArraySize: 1, Format: dxgi.R8G8B8A8UNorm, SampleDesc: dxgi.SampleDesc{Count: 1},
		Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead | d3d11.CPUAccessWrite,
	}, nil)
}

// wantRemoved checks that every call on a removed device fails with the reason.
func wantRemoved(t *testing.T, dev *d3d11.Device, ctx *d3d11.Context, tex *d3d11.Texture2D, reason error) {
	t.Helper()
	_, err := staging(dev)
	assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
	var m d3d11.MappedSubresource
	assert.ErrorIs(t, ctx.Map(tex, 0, d3d11.MapRead, 0, &m), ddi.DXGIDeviceRemoved)
	assert.Nil(t, m.Data)
	assert.ErrorIs(t, dev.GetDeviceRemovedReason(), reason)
}

// The devices of an unplugged board are removed, including idle ones, and stay
// removed when the board returns. New devices work beside them, and the old ones
// leave no memory when they are closed.
func TestDevicesOfAnUnpluggedBoard(t *testing.T) {
	w := newWired(t, "emu?vram=64KiB")
	composes(t, w.System, tinyPlan(t, 0))
	composes(t, w.System, tinyPlan(t, 0))
	free := w.machine.InUse()
	var devs [2]*d3d11.Device
	var ctxs [2]*d3d11.Context
	var texs [2]*d3d11.Texture2D
	for i := range devs {
		var err error
		devs[i], ctxs[i], err = w.CreateDevice()
		require.NoError(t, err)
		texs[i], err = staging(devs[i])
		require.NoError(t, err)
	}
	held, err := staging(devs[0])
	require.NoError(t, err)
	var m d3d11.MappedSubresource
	require.NoError(t, ctxs[0].Map(held, 0, d3d11.MapWrite, 0, &m))
	from, err := staging(devs[0])
	require.NoError(t, err)
	ctxs[0].CopyResource(texs[0], from)

	w.line.Unplug()
	require.ErrorIs(t, ctxs[0].Map(texs[0], 0, d3d11.MapRead, 0, new(d3d11.MappedSubresource)), ddi.DXGIDeviceRemoved)
	wantRemoved(t, devs[0], ctxs[0], texs[0], ddi.DXGIDeviceRemoved)
	assert.ErrorIs(t, devs[0].GetDeviceRemovedReason(), w.Err(), "the link is the cause")
	w.dialErr = errors.New("nobody has plugged it in")
	_, _, err = w.CreateDevice()
	require.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
	w.dialErr = nil
	w.recovered(t, 1)
	clear(m.Data) // mapped memory stays mapped
	ctxs[0].Unmap(held, 0)
	for i := range devs {
		wantRemoved(t, devs[i], ctxs[i], texs[i], ddi.DXGIDeviceRemoved)
	}
	composes(t, w.System, tinyPlan(t, 2))
	for i := range devs {
		devs[i].Close()
	}
	assert.Equal(t, free, w.machine.InUse())
	composes(t, w.System, tinyPlan(t, 3))
	require.NoError(t, w.Close())
}

// A link that drops and comes back needs no Recover: the next device has the board.
//
// docs/properties.md: T8.
func TestLinkComesBack(t *testing.T) {
	w := newWired(t, "emu?vram=64KiB")
	for n := range 6 {
		plan := tinyPlan(t, 1)
		w.arm(30+8*n, []func(){w.line.Unplug, w.line.Cut}[n%2])
		_, err := compose.Run(w.System, plan)
		w.wantLost(t, err, "")
		w.arm(0, nil)
		composes(t, w.System, tinyPlan(t, 2))
		require.NoError(t, w.Err())
		assert.EqualValues(t, n+1, w.Stats().Recoveries)
	}
	require.NoError(t, w.Close())
}

// Repeated disconnections and recoveries do not grow the heap.
func TestRecoveriesDoNotLeak(t *testing.T) {
	w := newWired(t, "emu?vram=8KiB")
	w.drivers = HostDrivers() // unchecked: the checker keeps a record of each device
	rounds := func(n int) uint64 {
		for i := range n {
			w.arm(40+5*i, w.line.Unplug)
			_, err := compose.Run(w.System, tinyPlan(t, 1))
			w.wantLost(t, err, "")
			w.recovered(t, 2)
		}
		runtime.GC()
		runtime.GC() // empties the pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	rounds(20)
	before := rounds(20)
	after := rounds(20)
	assert.Less(t, after, before+64<<10, "after 20 recoveries")
	require.NoError(t, w.Close())
}

// Every thread that uses the board when it is unplugged gets the error.
func TestUnplugReachesEveryThread(t *testing.T) {
	w := newWired(t, "emu?vram=8KiB")
	lost := 0
	for n := range 12 {
		w.arm(100+20*n, w.line.Cut)
		plans := [3]*compose.Plan{tinyPlan(t, 1), tinyPlan(t, 2), tinyPlan(t, 3)}
		var errs [3]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = compose.Run(w.System, plans[i]) })
		}
		wg.Wait()
		for _, err := range errs { // one that began later has a board that is back
			if err != nil { // nil: the work ended before the cut
				assert.ErrorIs(t, err, bus.ErrLinkDown)
			}
		}
		if errors.Join(errs[:]...) != nil { // a thread that closes its device when the link is cut has its frame
			lost++
		}
		w.recovered(t, 4)
	}
	assert.Greater(t, lost, 6)
	require.NoError(t, w.Close())
}

// A lost doorbell is a time-out. The system recovers from each, until a composition
// succeeds.
func TestRecoverFromTimeouts(t *testing.T) {
	for count := 2; count <= 9; count++ {
		s, err := Open(fmt.Sprintf("emu?vram=64KiB&fault=lost-doorbell&count=%d", count), HostDrivers().WithoutNodeRecovery(), Options{Record: eventstest.Record(t)})
		require.NoError(t, err)
		hangs := 0
		for ; ; hangs++ {
			frame, err := compose.Run(s, smallPlan(t, 1))
			if err == nil {
				_, n := compose.Diff(frame, smallPlan(t, 1).Reference())
				require.Zero(t, n)
				break
			}
			var stopped *dxgkrnl.DeviceError
			require.ErrorAs(t, err, &stopped)
			require.Equal(t, dxgkrnl.Timeout, stopped.Kind)
			require.NoError(t, s.Recover())
		}
		assert.Positive(t, hangs, "of %d doorbells", count)
		assert.LessOrEqual(t, hangs, count)
		require.NoError(t, s.Close())
	}
}

// After a time-out or a fault, devices report that the GPU hung.
func TestReasonOfATimeout(t *testing.T) {
	s, err := Open("emu?fault=lost-doorbell", HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	tex, err := staging(dev)
	require.NoError(t, err)
	other, err := staging(dev)
	require.NoError(t, err)
	ctx.CopyResource(tex, other)
	require.ErrorIs(t, ctx.Map(tex, 0, d3d11.MapRead, 0, new(d3d11.MappedSubresource)), ddi.DXGIDeviceRemoved)
	require.NoError(t, s.Err(), "the adapter goes on")
	wantRemoved(t, dev, ctx, tex, ddi.DXGIDeviceHung)
	var cause *dxgkrnl.DeviceError
	assert.ErrorAs(t, dev.GetDeviceRemovedReason(), &cause)
	assert.ErrorContains(t, dev.GetDeviceRemovedReason(), "pfnStagingResourceMap reported D3DDDIERR_DEVICEREMOVED: "+
		"Lock of the kernel returned STATUS_DEVICE_REMOVED: dxgkrnl: GPU time-out: node 0, fence")
	dev.Close()
	require.NoError(t, s.Close())
}

// The system recovers from a fault in any submission.
func TestRecoverFromFaults(t *testing.T) {
	n, spoiled := 0, 3
	drivers := HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		d := entry()
		spoilSubmissions(&d, func(part []byte) {
			if n++; n%spoiled == 0 {
				binary.LittleEndian.PutUint32(part, 0x7e000001)
			}
		})
		return d
	}
	s, err := Open("emu?vram=64KiB", drivers, Options{HostMemory: 8 << 20, Record: eventstest.Record(t)})
	require.NoError(t, err)
	free := uint64(0)
	for i := range uint64(20) {
		n, spoiled = 0, int(1+i%3)
		_, err = compose.Run(s, smallPlan(t, i))
		var stopped *dxgkrnl.DeviceError
		require.ErrorAs(t, err, &stopped, "run %d", i)
		require.Equal(t, dxgkrnl.Fault, stopped.Kind)
		require.NoError(t, s.Recover())
		spoiled = 1 << 30
		composes(t, s, smallPlan(t, i))
		if i == 1 {
			free = s.machine.InUse()
		} else if i > 1 {
			require.Equal(t, free, s.machine.InUse(), "run %d", i)
		}
	}
	require.NoError(t, s.Close())
}

// Recovery of a GPU that does not answer fails every time, and a broken contract
// stays broken.
func TestRecoverFails(t *testing.T) {
	s, err := Open("emu?fault=dead&after=2", HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	_, err = compose.Run(s, smallPlan(t, 1))
	require.Error(t, err)
	for range 3 {
		assert.ErrorIs(t, s.Recover(), bus.ErrTimeout)
		assert.Equal(t, err, s.Err())
	}
	require.NoError(t, s.Close())

	drivers := HostDrivers()
	entry := drivers.KernelMode
	drivers.KernelMode = func() kmddi.DriverInitializationData {
		d := entry()
		d.DpcRoutine = func(*ddi.Thread, kmddi.HAdapter) {}
		return d
	}
	s, err = Open("emu", drivers, Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	_, err = compose.Run(s, smallPlan(t, 1))
	assert.ErrorAs(t, err, new(*verifier.Violation))
	err = s.Recover()
	assert.Equal(t, s.Err(), err)
	assert.ErrorAs(t, err, new(*dxgkrnl.Bugcheck))
	assert.Equal(t, err, s.Close())
	assert.ErrorIs(t, closed(t).Recover(), ddi.StatusDeviceRemoved)
}

func closed(t *testing.T) *System {
	s, err := Open("emu", HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return s
}
