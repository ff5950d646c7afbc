package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// newHostRig returns a rig whose first two allocations are in host memory. A submission copies the
// first to the second.
func newHostRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.place(10, pkt.Host|hostBase)
	r.place(11, pkt.Host|hostBase+0x1000)
	require.Empty(t, r.copies(t, 0, 10, 11))
	return r
}

// gpuReads and gpuWrites are accesses of the GPU, of 64 bytes at an offset from hostBase.
func (r *rig) gpuReads(off int) { r.Read(hostBase+uint64(off), r.memory[off:][:64]) }

func (r *rig) gpuWrites(off int, value byte) {
	for i := range 64 {
		r.memory[off+i] = value
	}
	r.Wrote(hostBase+uint64(off), r.memory[off:][:64])
}

// A write of the CPU to memory that the GPU owns is told at the GPU's read, or at the end.
func TestCPUWrites(t *testing.T) {
	const want = "byte 0x43 of allocation 0xa is 0x07 and was 0x00: the CPU wrote it before submission 1 ended, whose COPY at 0x0 reads HOST+0x100000 to HOST+0x100100"
	r := newHostRig(t)
	r.memory[0x43] = 7
	r.gpuReads(0)
	r.Flush(r.t)
	require.Empty(t, r.found, "the GPU has read other bytes")
	r.gpuReads(0x40)
	r.Flush(r.t)
	require.Equal(t, []string{want}, r.texts)
	r.gpuReads(0x40)
	r.retire(1)
	assert.Equal(t, []string{"access-cpu-write"}, r.found, "it is told once")

	r = newHostRig(t)
	r.gpuReads(0x40)
	r.memory[0x43] = 7
	r.retire(1)
	assert.Equal(t, []string{want}, r.texts, "it is told at the end")

	r = newHostRig(t)
	r.gpuWrites(0x1000, 5)
	r.retire(1)
	assert.Empty(t, r.found, "the GPU has written it")

	r = newHostRig(t)
	r.gpuWrites(0x1000, 5)
	r.memory[0x1001] = 6
	r.retire(1)
	assert.Equal(t, []string{"access-cpu-write"}, r.found, "the CPU has written it after the GPU")

	r = newHostRig(t)
	r.memory[0x100], r.memory[0x2000] = 1, 1
	r.retire(1)
	assert.Empty(t, r.found, "the submission uses other bytes")

	r = newHostRig(t)
	r.retire(1)
	r.memory[0x43] = 7
	require.Empty(t, r.copies(t, 0, 10, 11))
	r.retire(2)
	assert.Empty(t, r.found, "the CPU has written it between two submissions")
}

// The kernel may move an allocation that is locked: the unlock moves it again.
func TestCPUWritesWhileMoved(t *testing.T) {
	for _, locked := range []bool{false, true} {
		r := newRig(t)
		if locked {
			r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: 10, Write: true})
		}
		b, err := pkt.Copy{Src: pkt.Host | hostBase, Dst: 0x1000, Bytes: 256}.Append(nil)
		require.NoError(t, err)
		r.Kernel(r.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: 1, Address: 0x9000, End: uint32(len(b)), Text: "paging buffer", Commands: b,
			Operations: []dxgkrnl.Operation{transfer(10, hostBase, 0x1000)},
		})
		r.memory[3] = 1
		r.retire(1)
		assert.Equal(t, !locked, len(r.found) == 1, r.found)
	}
}

// A lock returns after the work that uses the allocation, unless it has IgnoreSync.
func TestLock(t *testing.T) {
	for name, tt := range map[string]struct {
		allocation         ddi.KMHandle
		write, ignore, end bool
		found              bool
	}{
		"for reading what is read":          {allocation: 10},
		"for writing what is read":          {allocation: 10, write: true, found: true},
		"for reading what is written":       {allocation: 11, found: true},
		"for writing what is written":       {allocation: 11, write: true, found: true},
		"for writing after the end":         {allocation: 11, write: true, end: true},
		"for writing with IgnoreSync":       {allocation: 11, write: true, ignore: true},
		"for reading with IgnoreSync":       {allocation: 10, ignore: true},
		"of what is written":                {allocation: 11, ignore: true, found: true},
		"of what was written":               {allocation: 11, ignore: true, end: true},
		"for writing what no packet writes": {allocation: 12, write: true},
	} {
		r := newHostRig(t)
		if tt.end {
			r.retire(1)
		}
		r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: tt.allocation, Write: tt.write, IgnoreSync: tt.ignore})
		assert.Equal(t, tt.found, len(r.found) == 1 && r.found[0] == "access-lock", "%s: %v", name, r.found)
	}
}

// A lock with IgnoreSync for reading is told of a DMA buffer in a software queue too.
func TestLockOfQueued(t *testing.T) {
	r := newRig(t)
	r.place(11, pkt.Host|hostBase+0x1000)
	b, err := pkt.Fill{Dst: 0, Bytes: 64}.Append(nil)
	require.NoError(t, err)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPending, Job: 7, Device: 1, End: uint32(len(b)), Text: render, Commands: b, Uses: []dxgkrnl.Use{{At: 4, Allocation: 11, Write: true}}})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: 11, IgnoreSync: true})
	assert.Equal(t, []string{"access-lock"}, r.found)
	assert.Equal(t, []string{"allocation 0xb is locked for reading with IgnoreSync while FILL at 0x0 of DMA buffer 7 in its software queue writes HOST+0x101000 to HOST+0x101040"}, r.texts)
}

// The GPU may write while the sanitizer reads the memory: before a submission begins, as an earlier
// one does, and when it ends, as a later one does.
func TestGPUWritesMeanwhile(t *testing.T) {
	r := newHostRig(t)
	r.during = func() { r.gpuWrites(0x1000, 5) }
	require.Empty(t, r.copies(t, 0, 11, 10))
	r.gpuReads(0x1000)
	r.retire(1)
	r.retire(2)
	assert.Empty(t, r.found, "the GPU has written it after the read of the memory")

	r = newHostRig(t)
	r.during = func() { r.gpuWrites(0x1000, 5) }
	r.retire(1)
	assert.Empty(t, r.found, "the GPU has written it between the read and the comparison")
}

// Packets of a submission share the copy of an allocation.
func TestPacketsThatOverlap(t *testing.T) {
	for _, at := range []int{0x10, 0x50, 0x90, 0xd0} {
		r := newRig(t)
		r.place(10, pkt.Host|hostBase)
		read := func(offset uint64) pkt.Packet {
			return pkt.Copy{Src: pkt.Host | hostBase + offset, Dst: 0x2000, Bytes: 128}
		}
		var b []byte
		var err error
		for _, p := range []pkt.Packet{read(0), read(0x40), read(0)} {
			b, err = p.Append(b)
			require.NoError(t, err)
		}
		e := dxgkrnl.Event{Kind: dxgkrnl.EventQueue, Submission: 1, Device: 1, Address: 0x9000, End: uint32(len(b)), Text: render, Commands: b}
		for i, offset := range []uint64{0, 0x40, 0} {
			at := uint32(i * len(b) / 3)
			e.Uses = append(e.Uses, dxgkrnl.Use{At: at + 4, Allocation: 10, Offset: offset}, dxgkrnl.Use{At: at + 12, Allocation: 11, Write: true})
		}
		r.Kernel(r.t, e)
		require.Empty(t, r.found)
		r.memory[at] = 1
		r.retire(1)
		want := map[int]string{0x10: "COPY at 0x0 ", 0x50: "COPY at 0x0 ", 0x90: "COPY at 0x18 "}[at]
		if want == "" {
			assert.Empty(t, r.texts, "no packet reads it")
			continue
		}
		require.Len(t, r.texts, 1)
		assert.Contains(t, r.texts[0], "whose "+want)
	}
}
