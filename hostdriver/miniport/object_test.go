package miniport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestCreateContext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes uint32
		arg   kmddi.CreateContext
		want  ddi.Status
	}{
		{"the last node", 2, kmddi.CreateContext{NodeOrdinal: 1}, success},
		{"after the last node", 2, kmddi.CreateContext{NodeOrdinal: 2}, parameter},
		{"the only node", 1, kmddi.CreateContext{NodeOrdinal: 0, SystemContext: true}, success},
		{"after the only node", 1, kmddi.CreateContext{NodeOrdinal: 1}, parameter},
		{"the only engine", 2, kmddi.CreateContext{EngineAffinity: 1}, success},
		{"one engine too many", 2, kmddi.CreateContext{EngineAffinity: 3}, parameter},
		{"private data", 2, kmddi.CreateContext{PrivateDriverData: []byte{0}}, parameter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := started(t, tt.nodes).client(t)
			info, s := c.k.table.CreateContext(c.k.thread, c.dev, kmddi.HContext{Root: &ddi.Root{}}, tt.arg)
			assert.Equal(t, tt.want, s)
			if s == success {
				assert.Equal(t, kmddi.ContextInfo{DmaBufferSize: 65536, AllocationListSize: 1024, PatchLocationListSize: 4096}, info)
			}
		})
	}
}

func TestCreateAllocation(t *testing.T) {
	k := started(t, 2)
	for _, tt := range []struct {
		name    string
		private []byte
		want    ddi.Status
		info    kmddi.AllocationInfo
	}{
		{"local", privdata.Allocation{Place: privdata.Local, Bytes: 5}.Append(nil), success,
			kmddi.AllocationInfo{Alignment: 256, Size: 5, PreferredSegment: 1, SupportedSegmentSet: 1}},
		{"either", privdata.Allocation{Place: privdata.Either, Bytes: 1 << 40}.Append(nil), success,
			kmddi.AllocationInfo{Alignment: 256, Size: 1 << 40, PreferredSegment: 1, SupportedSegmentSet: 3}},
		{"system", privdata.Allocation{Place: privdata.System, Bytes: 4096}.Append(nil), success,
			kmddi.AllocationInfo{Alignment: 256, Size: 4096, PreferredSegment: 2, SupportedSegmentSet: 2, CPUVisible: true, Cached: true}},
		{"no private data", nil, parameter, kmddi.AllocationInfo{}},
		{"no bytes", privdata.Allocation{Place: privdata.Local}.Append(nil), parameter, kmddi.AllocationInfo{}},
		{"an unknown place", privdata.Allocation{Place: 4, Bytes: 5}.Append(nil), parameter, kmddi.AllocationInfo{}},
		{"a reserved dword", append(privdata.Allocation{Bytes: 5}.Append(nil)[:32], 1, 0, 0, 0, 0, 0, 0, 0), parameter, kmddi.AllocationInfo{}},
		{"the last reserved bit", append(privdata.Allocation{Bytes: 5}.Append(nil)[:39], 0x80), parameter, kmddi.AllocationInfo{}},
		{"a surface that does not fit", privdata.Allocation{Bytes: 5, Width: 6, Height: 1}.Append(nil), parameter, kmddi.AllocationInfo{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			al := kmddi.HAllocation{Root: &ddi.Root{}}
			info, s := k.table.CreateAllocation(k.thread, k.adapter, al, kmddi.CreateAllocation{PrivateDriverData: tt.private})
			assert.Equal(t, tt.want, s)
			assert.Equal(t, tt.info, info)
			assert.Equal(t, s == success, al.Driver != nil)
		})
	}
}

// TestCreateAllocationRandom searches for private data that is accepted
// although it is invalid.
//
// docs/validator.md: V29.
func TestCreateAllocationRandom(t *testing.T) {
	k := started(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		ws := rapid.SliceOfN(rapid.OneOf(rapid.Uint32Range(0, 8), rapid.Uint32()), 9, 10).Draw(t, "dwords")
		info, s := k.table.CreateAllocation(k.thread, k.adapter, kmddi.HAllocation{Root: &ddi.Root{}},
			kmddi.CreateAllocation{PrivateDriverData: words(append([]uint32{0x31524748}, ws...)...)})
		if len(ws) != 9 {
			assert.Equal(t, parameter, s)
		}
		if s != success {
			assert.Equal(t, kmddi.AllocationInfo{}, info)
			return
		}
		assert.LessOrEqual(t, ws[0], uint32(3))
		assert.Equal(t, uint64(ws[1])|uint64(ws[2])<<32, info.Size)
		assert.NotZero(t, info.Size)
	})
}

// TestHandles passes each function handles of other objects.
func TestHandles(t *testing.T) {
	k := started(t, 2)
	c, other := k.client(t), started(t, 2).client(t)
	al := kmddi.HAllocation{Root: &ddi.Root{}}
	_, s := k.table.CreateAllocation(k.thread, k.adapter, al, kmddi.CreateAllocation{PrivateDriverData: privdata.Allocation{Bytes: 1}.Append(nil)})
	assert.Equal(t, success, s)
	open := kmddi.HDeviceAllocation{Root: &ddi.Root{}}
	assert.Equal(t, success, k.table.OpenAllocation(k.thread, c.dev, open, kmddi.OpenAllocation{Allocation: al}))

	fresh := func() *ddi.Root { return &ddi.Root{} }
	for _, root := range []*ddi.Root{nil, fresh(), c.ctx.Root, c.dev.Root, al.Root, open.Root, k.adapter.Root} {
		if root != k.adapter.Root {
			h := kmddi.HAdapter{Root: root}
			assert.Equal(t, handle, k.table.StopDevice(k.thread, h))
			assert.Equal(t, handle, k.table.RemoveDevice(k.thread, h))
			_, s = k.table.StartDevice(k.thread, h, kmddi.StartInfo{}, k.callbacks())
			assert.Equal(t, handle, s)
			assert.Equal(t, handle, k.table.CreateDevice(k.thread, h, kmddi.HDevice{Root: fresh()}, kmddi.CreateDevice{}))
			_, s = k.table.CreateAllocation(k.thread, h, kmddi.HAllocation{Root: fresh()}, kmddi.CreateAllocation{})
			assert.Equal(t, handle, s)
			_, s = k.table.QueryAdapterInfo(k.thread, h, kmddi.QueryAdapterInfo{})
			assert.Equal(t, handle, s)
			_, s = k.table.QueryCurrentFence(k.thread, h, kmddi.QueryCurrentFence{})
			assert.Equal(t, handle, s)
			_, s = k.table.CollectDbgInfo(k.thread, h, kmddi.CollectDbgInfo{})
			assert.Equal(t, handle, s)
			assert.False(t, k.table.InterruptRoutine(k.thread, h, 0))
			k.table.DpcRoutine(k.thread, h)
			assert.Equal(t, handle, k.table.DestroyAllocation(k.thread, h, al))
		}
		if root != c.dev.Root {
			h := kmddi.HDevice{Root: root}
			assert.Equal(t, handle, k.table.DestroyDevice(k.thread, h))
			_, s = k.table.CreateContext(k.thread, h, kmddi.HContext{Root: fresh()}, kmddi.CreateContext{})
			assert.Equal(t, handle, s)
			assert.Equal(t, handle, k.table.OpenAllocation(k.thread, h, kmddi.HDeviceAllocation{Root: fresh()}, kmddi.OpenAllocation{Allocation: al}))
			assert.Equal(t, handle, k.table.CloseAllocation(k.thread, h, open))
		}
		if root != c.ctx.Root {
			assert.Equal(t, handle, k.table.DestroyContext(k.thread, kmddi.HContext{Root: root}))
			_, s = k.table.Present(k.thread, kmddi.HContext{Root: root}, kmddi.Present{})
			assert.Equal(t, handle, s)
		}
		if root != al.Root {
			h := kmddi.HAllocation{Root: root}
			assert.Equal(t, handle, k.table.DestroyAllocation(k.thread, k.adapter, h))
			assert.Equal(t, handle, k.table.OpenAllocation(k.thread, c.dev, kmddi.HDeviceAllocation{Root: fresh()}, kmddi.OpenAllocation{Allocation: h}))
		}
		if root != open.Root {
			assert.Equal(t, handle, k.table.CloseAllocation(k.thread, c.dev, kmddi.HDeviceAllocation{Root: root}))
		}
	}
	assert.Equal(t, handle, k.table.AddDevice(k.thread, kmddi.HAdapter{}))
	assert.Equal(t, handle, k.table.OpenAllocation(k.thread, other.dev, kmddi.HDeviceAllocation{Root: fresh()}, kmddi.OpenAllocation{Allocation: al}),
		"another adapter's allocation")
	assert.Equal(t, handle, k.table.CloseAllocation(k.thread, k.client(t).dev, open), "opened by another device")
	assert.Equal(t, handle, other.k.table.DestroyAllocation(k.thread, other.k.adapter, al), "of another adapter")

	assert.Equal(t, success, k.table.CloseAllocation(k.thread, c.dev, open))
	assert.Equal(t, success, k.table.DestroyAllocation(k.thread, k.adapter, al))
	assert.Equal(t, success, k.table.DestroyContext(k.thread, c.ctx))
	assert.Equal(t, success, k.table.DestroyDevice(k.thread, c.dev))
	assert.Equal(t, handle, k.table.CloseAllocation(k.thread, c.dev, open), "closed twice")
	assert.Equal(t, handle, k.table.DestroyAllocation(k.thread, k.adapter, al), "destroyed twice")
	assert.Equal(t, handle, k.table.DestroyContext(k.thread, c.ctx), "destroyed twice")
	assert.Equal(t, handle, k.table.DestroyDevice(k.thread, c.dev), "destroyed twice")
}
