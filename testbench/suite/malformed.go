package suite

import (
	"encoding/binary"
	"fmt"

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
	t.succeeds(st, "D3DKMTCreateDevice")
	ctx := &umddi.CreateContext{}
	t.succeeds(k.CreateContext(th, dev, ctx), "D3DKMTCreateContext")
	allocate := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{
		PrivateDriverData: privdata.Allocation{Place: privdata.System, Bytes: 4096}.Append(nil),
	}}}
	t.succeeds(k.CreateAllocation(th, dev, allocate), "D3DKMTCreateAllocation, with private data of package privdata,")
	mem := allocate.AllocationInfo[0].Allocation
	command, allocs, patches := ctx.CommandBuffer, ctx.AllocationList, ctx.PatchLocationList
	good, err := pkt.Fill{Bytes: 64, Value: 0x1122334455667788}.Append(nil)
	require.NoError(t, err, "the packet can be encoded")
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
		assert.Equal(t, tt.want.Error(), render(tt.cmd, tt.patch, tt.alloc, tt.n).Error(),
			"D3DKMTRender of a command buffer with a mistake, %s, is refused with this status", tt.name)
		after := s.Stats()
		assert.Equal(t, before.DMABuffers, after.DMABuffers, "a refused command buffer is not submitted: %s", tt.name)
		t.succeeds(render(good, fits, mem, 1), "D3DKMTRender of a good command buffer after one with %s", tt.name)
	}
	t.succeeds(k.WaitForIdle(th, dev), "WaitForIdle")
	lock := &umddi.Lock{Allocation: mem}
	t.succeeds(k.Lock(th, dev, lock), "D3DKMTLock")
	assert.Equal(t, uint64(0x1122334455667788), binary.LittleEndian.Uint64(lock.Data[56:]), "the good buffer has filled the allocation")
	assert.Zero(t, lock.Data[64], "the good buffer fills nothing else")
	require.NoError(t, s.Err(), "the system has not stopped")
}

// succeeds ends the case unless the status of a call is success.
func (t *T) succeeds(s ddi.Status, call string, args ...any) {
	t.Helper()
	require.Equal(t, ddi.StatusSuccess.Error(), s.Error(), fmt.Sprintf(call, args...)+" succeeds")
}
