package dxgkrnl

import (
	"strings"
	"testing"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartAndStop(t *testing.T) {
	g, mini, cfg := newMachine(t, &options{})
	th := new(ddi.Thread)
	k, err := Start(th, cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"AddDevice", "StartDevice", "QueryAdapterInfo1", "QueryAdapterInfo2", "CreateDevice system=true"}, mini.log)
	mini.log = nil
	require.NoError(t, k.Stop(th))
	require.NoError(t, k.Stop(th), "again")
	assert.Equal(t, []string{"DestroyDevice", "StopDevice", "RemoveDevice"}, mini.log)
	_, s := k.Thunks().CreateDevice(th)
	assert.Equal(t, ddi.StatusDeviceRemoved, s)
	require.NoError(t, g.err)
}

func TestFailedStartRollsBack(t *testing.T) {
	for _, tt := range []struct {
		call string
		want []string // calls after the one that fails
	}{
		{"AddDevice", nil},
		{"StartDevice", []string{"RemoveDevice"}},
		{"QueryAdapterInfo1", []string{"StopDevice", "RemoveDevice"}},
		{"QueryAdapterInfo2", []string{"StopDevice", "RemoveDevice"}},
		{"CreateDevice", []string{"StopDevice", "RemoveDevice"}},
	} {
		t.Run(tt.call, func(t *testing.T) {
			_, mini, cfg := newMachine(t, &options{})
			mini.fail[tt.call] = ddi.StatusInsufficientResources
			th := new(ddi.Thread)
			_, err := Start(th, cfg)
			assert.ErrorIs(t, err, ddi.StatusInsufficientResources)
			i := 0
			for !strings.HasPrefix(mini.log[i], tt.call) {
				i++
			}
			assert.Equal(t, append([]string{}, tt.want...), mini.log[i+1:])
			assert.Zero(t, mini.live)

			mini.fail[tt.call], mini.log = 0, nil
			k, err := Start(th, cfg)
			require.NoError(t, err, "the device can be started afterwards")
			require.NoError(t, k.Stop(th))
		})
	}
}

func TestStartChecksTheTable(t *testing.T) {
	for _, edit := range []func(d *kmddi.DriverInitializationData){
		func(d *kmddi.DriverInitializationData) { d.Version = 0x3000 },
		func(d *kmddi.DriverInitializationData) { d.Patch = nil },
		func(d *kmddi.DriverInitializationData) { d.CollectDbgInfo = nil },
	} {
		_, mini, cfg := newMachine(t, &options{})
		edit(&cfg.Driver)
		var rules []string
		cfg.Report = func(_ *ddi.Thread, name, function, _ string, _ uint64) { rules = append(rules, function+" "+name) }
		_, err := Start(new(ddi.Thread), cfg)
		assert.ErrorIs(t, err, ErrStart)
		assert.Equal(t, []string{"DriverEntry miniport-table"}, rules)
		assert.Empty(t, mini.log)
	}
}

// Config.Log gets the events of the miniport, of which a long one is cut. Without it they are dropped.
func TestLog(t *testing.T) {
	_, mini, cfg := newMachine(t, &options{})
	var got []string
	cfg.Log = func(text string) { got = append(got, text) }
	k, err := Start(new(ddi.Thread), cfg)
	require.NoError(t, err)
	mini.cb.LogEtwEvent(new(ddi.Thread), mini.cb.DeviceHandle, "one")
	mini.cb.LogEtwEvent(new(ddi.Thread), mini.cb.DeviceHandle, strings.Repeat("x", 1<<16))
	require.Len(t, got, 2)
	assert.Equal(t, "one", got[0])
	assert.Len(t, got[1], 65535)
	require.NoError(t, k.Stop(new(ddi.Thread)))
	_, mini, cfg = newMachine(t, &options{})
	k, err = Start(new(ddi.Thread), cfg)
	require.NoError(t, err)
	mini.cb.LogEtwEvent(new(ddi.Thread), mini.cb.DeviceHandle, "dropped")
	require.NoError(t, k.Stop(new(ddi.Thread)))
}

// The miniport gets the settings, and each call gets a copy.
func TestSettings(t *testing.T) {
	_, mini, cfg := newMachine(t, &options{})
	cfg.Settings = []kmddi.Setting{{Name: "one", Value: 1}, {Name: "two", Value: 2}}
	k, err := Start(new(ddi.Thread), cfg)
	require.NoError(t, err)
	for range 2 {
		info, s := mini.cb.GetDeviceInformation(new(ddi.Thread), mini.cb.DeviceHandle)
		require.Equal(t, ddi.StatusSuccess, s)
		assert.Equal(t, []kmddi.Setting{{Name: "one", Value: 1}, {Name: "two", Value: 2}}, info.Settings)
		info.Settings[0].Value = 9
	}
	require.NoError(t, k.Stop(new(ddi.Thread)))
}

func TestStopDestroysWhatIsLeft(t *testing.T) {
	r := newRig(t, options{vram: 4096, nodes: 2})
	a, b := r.alloc(4096, local), r.alloc(4096, local)
	r.context(1)
	r.render(fill(a, 0, 64, 1), fill(b, 0, 64, 1))
	r.finish()
}

func TestHighestAcceptableAddress(t *testing.T) {
	r := newRig(t, options{})
	r.kernel.caps.HighestAcceptableAddress = 0x180000 // host memory begins at 1 MiB
	arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: private{size: 1 << 20, align: 4, supported: system}.encode()}}}
	assert.Equal(t, ddi.StatusNoMemory, r.thunks.CreateAllocation(r.thread, r.dev, arg))
	r.alloc(4096, system)
	r.finish()
}

func TestQueryAdapterInfo(t *testing.T) {
	r := newRig(t, options{})
	p := repeat(9, 4)
	r.ok(r.thunks.QueryAdapterInfo(r.thread, p))
	assert.Equal(t, []byte{1, 2, 3, 0}, p)
	assert.Equal(t, ddi.StatusInvalidParameter, r.thunks.QueryAdapterInfo(r.thread, p[:2]))
	r.finish()
}

func TestRegistersOfTheMiniport(t *testing.T) {
	r := newRig(t, options{})
	cb, th := r.mini.cb, r.thread
	h := cb.DeviceHandle
	info, s := cb.GetDeviceInformation(th, h)
	r.ok(s)
	assert.Equal(t, []any{uint16(0x4847), uint64(0x10000), 2, uint64(64 << 20)}, []any{info.DeviceID, info.BARs[0], info.Messages, info.SystemMemoryBytes})
	assert.Empty(t, info.Settings)
	m, s := cb.MapMemory(th, h, 0, 0x100, 8)
	r.ok(s)
	r.ok(cb.WriteRegister(th, h, m, 4, 0x12345678))
	assert.Equal(t, uint32(0x12345678), le.Uint32(r.gpu.bar0[0x104:]))
	v, s := cb.ReadRegister(th, h, m, 4)
	r.ok(s)
	assert.Equal(t, uint32(0x12345678), v)
	for _, off := range []uint32{2, 8, ^uint32(0) - 3} {
		_, s = cb.ReadRegister(th, h, m, off)
		assert.Equal(t, ddi.StatusInvalidParameter, s, off)
	}
	_, s = cb.MapMemory(th, h, 0, 0xfff8, 12)
	assert.Equal(t, ddi.StatusInvalidParameter, s)
	r.ok(cb.UnmapMemory(th, h, m))
	assert.Equal(t, ddi.StatusInvalidHandle, cb.UnmapMemory(th, h, m))
	assert.Equal(t, ddi.StatusInvalidHandle, cb.WriteRegister(th, h, m, 4, 0), "the mapping is released")
	assert.Equal(t, ddi.StatusInvalidHandle, cb.WriteRegister(th, kmddi.HDxgkrnl{}, r.mini.regs, 4, 0))
	id, s := cb.ReadDeviceSpace(th, h, 0)
	r.ok(s)
	assert.Equal(t, uint32(0x48471234), id)
	r.gpu.linkErr = assert.AnError
	_, s = cb.ReadRegister(th, h, r.mini.regs, 0)
	assert.Equal(t, ddi.StatusIODeviceError, s)
	r.gpu.linkErr = nil
	mem, s := cb.AllocateContiguousMemory(th, h, 100)
	r.ok(s)
	assert.Equal(t, []int{100, 100}, []int{len(mem.Bytes), cap(mem.Bytes)})
	_, s = cb.AllocateContiguousMemory(th, h, 65<<20)
	assert.Equal(t, ddi.StatusNoMemory, s)
	cb.FreeContiguousMemory(th, h, mem)
	_, s = cb.SynchronizeExecution(th, h, 2, func(*ddi.Thread) bool { return true })
	assert.Equal(t, ddi.StatusInvalidParameter, s, "there are two messages")
	level := ddi.PassiveLevel
	v2, s := cb.SynchronizeExecution(th, h, 0, func(t *ddi.Thread) bool { level = t.IRQL(); return true })
	r.ok(s)
	assert.Equal(t, []any{true, ddi.DIRQL, ddi.PassiveLevel}, []any{v2, level, th.IRQL()})
	r.finish()
}
