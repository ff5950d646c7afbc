package testbench

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// withKernel returns the drivers of this GPU with a changed table of the miniport.
func withKernel(change func(d *kmddi.DriverInitializationData)) Drivers {
	d := HostDrivers()
	entry := d.KernelMode
	d.KernelMode = func() kmddi.DriverInitializationData {
		table := entry()
		change(&table)
		return table
	}
	return d
}

// withUser returns the drivers of this GPU with a changed table of a device.
func withUser(change func(arg *umddi.CreateDevice)) Drivers {
	d := HostDrivers()
	open := d.UserMode
	d.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			change(arg)
			return hr
		}
		return hr
	}
	return d
}

// A stopped system lets each call return: those that a program makes while it
// unwinds, and those of its other threads.
func TestStoppedSystem(t *testing.T) {
	for _, tt := range []struct {
		name, rule, function string
		drivers              Drivers
	}{
		{"the user-mode driver panics", "driver-panic", "pfnFlush", withUser(func(arg *umddi.CreateDevice) {
			arg.DeviceFuncs.Flush = func(*ddi.Thread, umddi.HDevice) { panic("deliberate") }
		})},
		{"a serialized driver panics with its lock held", "driver-panic", "pfnFlush", func() Drivers {
			var mu sync.Mutex
			return withUser(func(arg *umddi.CreateDevice) {
				arg.DeviceFuncs.Flush = func(*ddi.Thread, umddi.HDevice) {
					mu.Lock()
					panic("deliberate")
				}
				destroy := arg.DeviceFuncs.DestroyResource
				arg.DeviceFuncs.DestroyResource = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource) {
					mu.Lock()
					destroy(t, h, res)
					mu.Unlock()
				}
			})
		}()},
		{"the miniport panics", "driver-panic", "DxgkDdiRender", withKernel(func(d *kmddi.DriverInitializationData) {
			d.Render = func(*ddi.Thread, kmddi.HContext, kmddi.Render) (kmddi.RenderOut, ddi.Status) { panic("deliberate") }
		})},
		{"a user-mode callback on another goroutine", "callback-goroutine", "pfnRenderCb", withUser(func(arg *umddi.CreateDevice) {
			cb, h := arg.KTCallbacks, arg.RTDevice
			arg.DeviceFuncs.Flush = func(t *ddi.Thread, _ umddi.HDevice) {
				var wg sync.WaitGroup
				wg.Go(func() { cb.RenderCb(t, h, &umddi.Render{}) })
				wg.Wait()
			}
		})},
		{"kernel callbacks on two goroutines", "callback-goroutine", "DxgkCbNotifyDpc", func() Drivers {
			var cb *kmddi.DxgkrnlInterface
			return withKernel(func(d *kmddi.DriverInitializationData) {
				start := d.StartDevice
				d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, c *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
					cb = c
					return start(t, h, info, c)
				}
				d.DpcRoutine = func(t *ddi.Thread, _ kmddi.HAdapter) {
					var wg sync.WaitGroup
					for range 2 {
						wg.Go(func() { cb.NotifyDpc(t, cb.DeviceHandle) })
					}
					wg.Wait()
				}
			})
		}()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open("emu?vram=64KiB", tt.drivers, Options{Record: eventstest.Record(t)})
			require.NoError(t, err)
			dev, ctx, err := s.CreateDevice()
			require.NoError(t, err)
			defer dev.Close()
			buffer := func(usage d3d11.Usage) *d3d11.Buffer {
				desc := d3d11.BufferDesc{ByteWidth: 64, Usage: usage}
				if usage == d3d11.UsageStaging {
					desc.CPUAccessFlags = d3d11.CPUAccessRead
				}
				b, err := dev.CreateBuffer(desc, nil)
				require.NoError(t, err)
				return b
			}
			from, to := buffer(d3d11.UsageDefault), buffer(d3d11.UsageStaging)
			defer from.Release()
			defer to.Release()
			ctx.CopyResource(to, from)
			ctx.Flush()
			var mapped d3d11.MappedSubresource
			ctx.Map(to, 0, d3d11.MapRead, 0, &mapped) // waits for the GPU, unless the system has stopped

			var broken *verifier.Violation
			require.ErrorAs(t, s.Err(), &broken)
			assert.Equal(t, tt.rule, broken.Rule.Name)
			assert.Equal(t, tt.function, broken.Function)
			assert.ErrorIs(t, ctx.Map(to, 0, d3d11.MapRead, 0, &mapped), ddi.DXGIDeviceRemoved)
			_, err = dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64}, nil)
			assert.ErrorIs(t, err, ddi.DXGIDeviceRemoved)
			assert.ErrorIs(t, err, broken, "the cause")
			assert.ErrorIs(t, dev.GetDeviceRemovedReason(), broken)
			for _, err := range []error{s.WaitForIdle(), s.Recover(), s.Close(), s.Close()} {
				assert.Equal(t, s.Err(), err)
			}
		})
	}
}

// A miniport that breaks a rule while it starts or stops fails Open or Close.
func TestStopAtStartAndEnd(t *testing.T) {
	_, err := Open("emu", withKernel(func(d *kmddi.DriverInitializationData) {
		d.QueryAdapterInfo = func(*ddi.Thread, kmddi.HAdapter, kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
			panic("deliberate")
		}
	}), Options{})
	assert.ErrorAs(t, err, new(*verifier.Violation))
	s, err := Open("emu", withKernel(func(d *kmddi.DriverInitializationData) {
		d.StopDevice = func(*ddi.Thread, kmddi.HAdapter) ddi.Status { panic("deliberate") }
	}), Options{})
	require.NoError(t, err)
	require.ErrorAs(t, s.Close(), new(*verifier.Violation))
	require.ErrorAs(t, s.Close(), new(*verifier.Violation))
}

// A miniport that does not start a device that it supports breaks a rule, and its
// status is kept. A device of another kind, a dead link, or a lack of memory is no
// mistake of a driver.
func TestStartRefused(t *testing.T) {
	refuse := func(s ddi.Status) Drivers {
		return withKernel(func(d *kmddi.DriverInitializationData) {
			d.StartDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.StartInfo, *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
				return kmddi.StartDeviceOut{}, s
			}
		})
	}
	_, err := Open("emu", refuse(ddi.StatusUnsuccessful), Options{})
	var broken *verifier.Violation
	require.ErrorAs(t, err, &broken)
	assert.Equal(t, "call-failed", broken.Rule.Name)
	assert.Equal(t, "DxgkDdiStartDevice", broken.Function)
	assert.ErrorIs(t, err, ErrDevice)
	assert.ErrorIs(t, err, ddi.StatusUnsuccessful)

	_, err = Open("emu", refuse(ddi.StatusUnsuccessful), Options{Waive: []string{"call-failed"}})
	assert.False(t, errors.As(err, &broken), "%v", err)
	assert.ErrorIs(t, err, ErrDevice)
	assert.ErrorIs(t, err, ddi.StatusUnsuccessful)

	_, err = Open("emu", refuse(ddi.StatusNoSuchDevice), Options{})
	require.ErrorAs(t, err, &broken, "it has not looked at the device")
	assert.ErrorIs(t, err, ddi.StatusNoSuchDevice)

	broken = nil
	_, err = Open("emu", withKernel(func(d *kmddi.DriverInitializationData) {
		d.StartDevice = func(t *ddi.Thread, _ kmddi.HAdapter, _ kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			cb.GetDeviceInformation(t, cb.DeviceHandle)
			return kmddi.StartDeviceOut{}, ddi.StatusNoSuchDevice
		}
	}), Options{})
	assert.False(t, errors.As(err, &broken), "%v", err)
	assert.ErrorIs(t, err, ErrDevice)
	assert.ErrorIs(t, err, ddi.StatusNoSuchDevice)

	_, err = Open("emu", HostDrivers(), Options{HostMemory: 4096})
	assert.False(t, errors.As(err, &broken), "%v", err)
	assert.ErrorIs(t, err, ErrDevice)
	assert.ErrorIs(t, err, ddi.StatusNoMemory)
}

// Watched returns what its function does: an error, a panic, or the end of the
// goroutine.
func TestWatched(t *testing.T) {
	s, err := Open("emu?config=small", HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	want := errors.New("mine")
	assert.Equal(t, want, s.Watched(func() error { return want }))
	assert.PanicsWithValue(t, "mine", func() { s.Watched(func() error { panic("mine") }) })
	var ended sync.WaitGroup
	after := false
	ended.Go(func() {
		s.Watched(func() error {
			runtime.Goexit()
			return nil
		})
		after = true
	})
	ended.Wait()
	assert.False(t, after)
	assert.NoError(t, s.Watched(s.Close))
}
