package suite

import (
	"encoding/binary"
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// A submitter submits command buffers with one allocation to the graphics kernel.
type submitter struct {
	t   *T
	k   kmt.Thunks
	th  *ddi.Thread
	dev ddi.KMHandle
	mem ddi.KMHandle // the allocation
	ctx *umddi.CreateContext
}

// newSubmitter creates a device, a context and an allocation.
func (t *T) newSubmitter(k kmt.Thunks) *submitter {
	s := &submitter{t: t, k: k, th: &ddi.Thread{Process: 9, ID: 1}, ctx: &umddi.CreateContext{}}
	var st ddi.Status
	s.dev, st = k.CreateDevice(s.th)
	t.succeeds(st, "D3DKMTCreateDevice")
	t.succeeds(k.CreateContext(s.th, s.dev, s.ctx), "D3DKMTCreateContext")
	allocate := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{
		PrivateDriverData: privdata.Allocation{Place: privdata.System, Bytes: 4096}.Append(nil),
	}}}
	t.succeeds(k.CreateAllocation(s.th, s.dev, allocate), "D3DKMTCreateAllocation, with private data of package privdata,")
	s.mem = allocate.AllocationInfo[0].Allocation
	return s
}

// render submits commands with an allocation list of handle and the first n of one
// patch location.
func (s *submitter) render(cmd []byte, patch umddi.PatchLocation, handle ddi.KMHandle, n uint32) ddi.Status {
	c := s.ctx
	copy(c.CommandBuffer, cmd)
	c.AllocationList[0], c.PatchLocationList[0] = umddi.AllocationList{Allocation: handle, WriteOperation: true}, patch
	arg := &umddi.Render{Context: c.Context, CommandLength: uint32(len(cmd)), NumAllocations: 1, NumPatchLocations: n}
	st := s.k.Render(s.th, s.dev, arg)
	if st == ddi.StatusSuccess {
		c.CommandBuffer, c.AllocationList, c.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
	}
	return st
}

// A malformed is a command buffer with a mistake.
type malformed struct {
	name  string
	cmd   []byte
	patch umddi.PatchLocation
	alloc ddi.KMHandle
	n     uint32 // patch locations
	want  ddi.Status
}

// malformedBuffers returns command buffers, each with one mistake. good is a Fill of mem.
func malformedBuffers(good []byte, mem ddi.KMHandle) []malformed {
	fits := umddi.PatchLocation{PatchOffset: 4}
	unknown := binary.LittleEndian.AppendUint32(nil, 0x7e<<24)
	return []malformed{
		{"unknown opcode", unknown, fits, mem, 0, ddi.StatusIllegalInstruction},
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
	}
}

// malformedCommandBuffers passes malformed buffers to Render. Each is refused or
// executed; the GPU never stops on one, and the next good buffer works.
func malformedCommandBuffers(t *T) {
	sys := t.Open(testbench.Options{})
	s := t.newSubmitter(sys.Thunks())
	good, err := pkt.Fill{Bytes: 64, Value: 0x1122334455667788}.Append(nil)
	require.NoError(t, err, "the packet can be encoded")
	for _, tt := range malformedBuffers(good, s.mem) {
		t.succeeds(s.k.WaitForIdle(s.th, s.dev), "WaitForIdle")
		before := sys.Stats()
		assert.Equal(t, tt.want.Error(), s.render(tt.cmd, tt.patch, tt.alloc, tt.n).Error(),
			"D3DKMTRender of a command buffer with a mistake, %s, is refused with this status", tt.name)
		after := sys.Stats()
		assert.Equal(t, before.DMABuffers, after.DMABuffers, "a refused command buffer is not submitted: %s", tt.name)
		t.succeeds(s.render(good, umddi.PatchLocation{PatchOffset: 4}, s.mem, 1), "D3DKMTRender of a good command buffer after one with %s", tt.name)
	}
	t.succeeds(s.k.WaitForIdle(s.th, s.dev), "WaitForIdle")
	lock := &umddi.Lock{Allocation: s.mem}
	t.succeeds(s.k.Lock(s.th, s.dev, lock), "D3DKMTLock")
	assert.Equal(t, uint64(0x1122334455667788), binary.LittleEndian.Uint64(lock.Data[56:]), "the good buffer has filled the allocation")
	assert.Zero(t, lock.Data[64], "the good buffer fills nothing else")
	require.NoError(t, sys.Err(), "the system has not stopped")
}

// succeeds ends the case unless the status of a call is success.
func (t *T) succeeds(s ddi.Status, call string, args ...any) {
	t.Helper()
	require.Equal(t, ddi.StatusSuccess.Error(), s.Error(), fmt.Sprintf(call, args...)+" succeeds")
}
