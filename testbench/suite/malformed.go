package suite

import (
	"encoding/binary"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// malformedCommandBuffers passes malformed buffers to Render. Each is refused or
// executed; the GPU never stops on one, and the next good buffer works.
func malformedCommandBuffers(t *T) {
	s := t.Open(testbench.Options{})
	th := &ddi.Thread{Process: 9, ID: 1}
	k := s.Thunks()
	dev, st := k.CreateDevice(th)
	require.Equal(t, ddi.StatusSuccess, st)
	ctx := &umddi.CreateContext{}
	require.Equal(t, ddi.StatusSuccess, k.CreateContext(th, dev, ctx))
	allocate := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{
		PrivateDriverData: privdata.Allocation{Place: privdata.System, Bytes: 4096}.Append(nil),
	}}}
	require.Equal(t, ddi.StatusSuccess, k.CreateAllocation(th, dev, allocate))
	mem := allocate.AllocationInfo[0].Allocation
	command, allocs, patches := ctx.CommandBuffer, ctx.AllocationList, ctx.PatchLocationList
	good, err := pkt.Fill{Bytes: 64, Value: 0x1122334455667788}.Append(nil)
	require.NoError(t, err)
	render := func(cmd []byte, patch umddi.PatchLocation, handle ddi.KMHandle, n uint32) ddi.Status {
		copy(command, cmd)
		allocs[0], patches[0] = umddi.AllocationList{Allocation: handle, WriteOperation: true}, patch
		arg := &umddi.Render{Context: ctx.Context, CommandLength: uint32(len(cmd)), NumAllocations: 1, NumPatchLocations: n}
		st := k.Render(th, dev, arg)
		if st == ddi.StatusSuccess {
			command, allocs, patches = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
		}
		return st
	}
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	fits := umddi.PatchLocation{PatchOffset: 4}
	for _, tt := range []struct {
		name  string
		cmd   []byte
		patch umddi.PatchLocation
		alloc ddi.KMHandle
		n     uint32
		want  ddi.Status
	}{
		{"unknown opcode", word(0x7e << 24), fits, mem, 0, ddi.StatusIllegalInstruction},
		{"half a dword", good[:6], fits, mem, 1, ddi.StatusInvalidUserBuffer},
		{"truncated", good[:8], fits, mem, 0, ddi.StatusInvalidUserBuffer},
		{"no patch", good, fits, mem, 0, ddi.StatusInvalidParameter},
		{"patch outside the field", good, umddi.PatchLocation{PatchOffset: 8}, mem, 1, ddi.StatusInvalidParameter},
		{"patch beyond the end", good, umddi.PatchLocation{PatchOffset: 0xfffffffc}, mem, 1, ddi.StatusInvalidParameter},
		{"range beyond the end", good, umddi.PatchLocation{PatchOffset: 4, AllocationOffset: 4040}, mem, 1, ddi.StatusInvalidParameter},
		{"allocation not in the list", good, umddi.PatchLocation{PatchOffset: 4, AllocationIndex: 1}, mem, 1, ddi.StatusInvalidParameter},
		{"stale handle", good, fits, mem + 1<<20, 1, ddi.StatusInvalidHandle},
		{"no allocation", good, fits, 0, 1, ddi.StatusInvalidHandle},
		{"split inside a packet", good, umddi.PatchLocation{PatchOffset: 4, SplitOffset: 4}, mem, 1, ddi.StatusInvalidParameter},
	} {
		before := s.Stats()
		assert.Equal(t, tt.want, render(tt.cmd, tt.patch, tt.alloc, tt.n), tt.name)
		after := s.Stats()
		assert.Equal(t, before.DMABuffers, after.DMABuffers, tt.name)
		require.Equal(t, ddi.StatusSuccess, render(good, fits, mem, 1), "after %s", tt.name)
	}
	require.Equal(t, ddi.StatusSuccess, k.WaitForIdle(th, dev))
	lock := &umddi.Lock{Allocation: mem}
	require.Equal(t, ddi.StatusSuccess, k.Lock(th, dev, lock))
	assert.Equal(t, uint64(0x1122334455667788), binary.LittleEndian.Uint64(lock.Data[56:]))
	assert.Zero(t, lock.Data[64])
	require.NoError(t, s.Err())
}
