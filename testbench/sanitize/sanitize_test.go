package sanitize_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/sanitize"
)

// A rig is a sanitizer with three allocations of 256 bytes at VRAM+0x1000, 0x2000 and 0x3000. The
// first two are of device 1, and the first was written by the application.
type rig struct {
	*sanitize.Sanitizer
	t      *ddi.Thread
	found  []string // rules
	texts  []string
	serial uint64
	memory [0x10000]byte // from hostBase
	places map[ddi.KMHandle]uint64
	ring   []byte // from ringBase
	during func() // is called once, after a read of the second allocation's memory
}

// hostBase is the address of the allocations' host memory, which are 0x1000 apart.
const hostBase = 0x100000

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: new(ddi.Thread), places: map[ddi.KMHandle]uint64{}}
	peek := func(addr uint64, p []byte) error {
		if addr < hostBase {
			copy(p, r.ring[addr-ringBase:])
			return nil
		}
		copy(p, r.memory[addr-hostBase:])
		if during := r.during; during != nil && addr == hostBase+0x1000 {
			r.during = nil
			during()
		}
		return nil
	}
	r.Sanitizer = sanitize.New(func(v verifier.Report) {
		r.found, r.texts = append(r.found, v.Rule), append(r.texts, v.Text)
	}, peek)
	for i := range ddi.KMHandle(3) {
		device := ddi.KMHandle(1)
		if i == 2 {
			device = 2
		}
		r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventAllocate, Allocation: 10 + i, Device: device, Bytes: 256, Address: hostBase + 0x1000*uint64(i)})
		r.place(10+i, 0x1000*uint64(1+i))
	}
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventLock, Allocation: 10, Write: true})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventUnlock, Allocation: 10})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventDriverMemory, Address: ringBase, Bytes: 0x1000})
	r.start()
	r.puts(t, pkt.Fence{Addr: pkt.Host | fenceAt, ID: 1})
	return r
}

// The ring of node 0 is at the start of the miniport's memory, which has 0x1000 bytes. A fence is at fenceAt.
const (
	ringBase = 0x8000
	ringLog2 = 10
	fenceAt  = 0x8ff8
)

// node writes a register of a node.
func (r *rig) node(node, off, value uint32) {
	r.Register(r.t, uint64(cpreg.Base+node*cpreg.Stride+off), value)
}

// start gives node 0 its ring.
func (r *rig) start() {
	r.node(0, cpreg.RingLo, ringBase)
	r.node(0, cpreg.RingHi, 1<<31)
	r.node(0, cpreg.RingSize, ringLog2)
}

// puts puts packets into the ring of node 0, and writes the doorbell. It returns what was found.
func (r *rig) puts(t *testing.T, packets ...pkt.Packet) []string {
	t.Helper()
	var err error
	for _, p := range packets {
		r.ring, err = p.Append(r.ring)
		require.NoError(t, err)
	}
	r.node(0, cpreg.Wptr, uint32(len(r.ring)/4))
	r.Flush(r.t)
	return r.texts
}

// place places an allocation at a GPU address.
func (r *rig) place(h ddi.KMHandle, at uint64) {
	r.places[h] = at
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventPlace, Allocation: h, Segment: 1, Address: at, Bytes: 256})
}

// copies queues and submits a copy of 256 bytes to a node, and returns the rules that it broke.
func (r *rig) copies(t *testing.T, node uint32, from, to ddi.KMHandle, on ...uint64) []string {
	t.Helper()
	return r.continues(t, 0, node, from, to, on...)
}

// continues is copies of a submission that continues another one, unless that is 0.
func (r *rig) continues(t *testing.T, again uint64, node uint32, from, to ddi.KMHandle, on ...uint64) []string {
	t.Helper()
	b, err := pkt.Copy{Src: r.places[from], Dst: r.places[to], Bytes: 256}.Append(nil)
	require.NoError(t, err)
	r.serial++
	r.found = nil
	r.Kernel(r.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: r.serial, Again: again, Node: node, Device: 1, Address: 0x9000 + 0x100*r.serial, End: uint32(len(b)), Text: "DxgkDdiRender",
		Commands: b, On: on, Uses: []dxgkrnl.Use{{At: 4, Allocation: from}, {At: 12, Allocation: to, Write: true}},
	})
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventSubmit, Submission: r.serial})
	return r.found
}

func (r *rig) retire(serial uint64) {
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventRetire, Submission: serial})
}

func TestHazard(t *testing.T) {
	r := newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	assert.Equal(t, []string{"access-hazard"}, r.copies(t, 1, 11, 10), "it reads what node 0 writes")
	r = newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	assert.Empty(t, r.copies(t, 1, 11, 10, 1), "it waits for node 0")
	assert.Empty(t, r.copies(t, 1, 10, 11), "it follows one that waits")
	assert.Empty(t, r.copies(t, 0, 10, 11, 3), "it waits for one that follows one that waits")
	r = newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	r.retire(1)
	assert.Empty(t, r.copies(t, 1, 11, 10), "the other one has ended")
}

func TestDevice(t *testing.T) {
	r := newRig(t)
	assert.Equal(t, []string{"access-device"}, r.copies(t, 0, 10, 12), "an allocation of another device")
	r = newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventFree, Allocation: 11})
	assert.Equal(t, []string{"access-device"}, r.found, "an allocation is freed while a submission uses it")
	r = newRig(t)
	assert.Empty(t, r.copies(t, 0, 10, 11))
	r.retire(1)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventFree, Allocation: 11})
	assert.Empty(t, r.found)
}

func TestNotResident(t *testing.T) {
	r := newRig(t)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
	assert.Equal(t, []string{"access-address"}, r.copies(t, 0, 10, 11))
}

// Accesses of host memory and executed packets belong to what is in the hardware.
func TestOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		do     func(r *rig)
		inside bool
	}{
		"a read of the ring":          {func(r *rig) { r.Read(0x8100, make([]byte, 64)) }, true},
		"a write of a fence":          {func(r *rig) { r.Wrote(fenceAt, make([]byte, 8)) }, true},
		"a read of the buffer":        {func(r *rig) { r.Read(0x9100, make([]byte, 24)) }, true},
		"a read past the buffer":      {func(r *rig) { r.Read(0x9180, make([]byte, 4)) }, false},
		"a write of the buffer":       {func(r *rig) { r.Wrote(0x9100, make([]byte, 4)) }, false},
		"a write elsewhere":           {func(r *rig) { r.Wrote(0x100000, make([]byte, 4)) }, false},
		"a read without memory":       {func(r *rig) { r.Refused(0x200000, 64, false) }, false},
		"a write without memory":      {func(r *rig) { r.Refused(0x200000, 4, true) }, false},
		"a packet of the buffer":      {func(r *rig) { r.Observe(boards.Observation{Address: pkt.Host | 0x9100}) }, true},
		"a packet of the ring":        {func(r *rig) { r.Observe(boards.Observation{Address: pkt.Host | 0x8000}) }, true},
		"a packet that is in no ring": {func(r *rig) { r.Observe(boards.Observation{Address: pkt.Host | 0x8f00}) }, false},
		"a packet after the buffer":   {func(r *rig) { r.Observe(boards.Observation{Address: pkt.Host | 0x9118}) }, false},
		"a packet of another node":    {func(r *rig) { r.Observe(boards.Observation{Node: 1, Address: pkt.Host | 0x9100}) }, false},
	} {
		r := newRig(t)
		require.Empty(t, r.copies(t, 0, 10, 11), name)
		tt.do(r)
		r.Flush(r.t)
		if tt.inside {
			assert.Empty(t, r.found, name)
		} else {
			assert.Equal(t, []string{"access-outside"}, r.found, name)
			assert.Contains(t, r.texts[0], "; submission 1 (node 0, fence 0) is in the hardware")
		}
	}
	r := newRig(t)
	require.Empty(t, r.copies(t, 0, 10, 11))
	r.retire(1)
	r.Read(0x9100, make([]byte, 24))
	r.Flush(r.t)
	assert.Equal(t, []string{"access-outside"}, r.found, "the submission has ended")
	assert.Contains(t, r.texts[0], "; no submission is in the hardware")
	r = newRig(t)
	require.Empty(t, r.copies(t, 0, 10, 11))
	r.Observe(boards.Observation{Address: pkt.Host | 0x9100, Header: 5})
	r.Refused(0x200000, 4, true)
	r.Flush(r.t)
	assert.Contains(t, r.texts[0], "where no memory is; submission 1 (node 0, fence 0) is in the hardware, and its packets before HOST+0x9118 are complete")
	r = newRig(t)
	r.Kernel(r.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop})
	r.Read(0x9100, make([]byte, 24))
	r.Refused(0x200000, 64, false)
	r.Flush(r.t)
	assert.Empty(t, r.found, "a stopped GPU may do anything")
}

// transfer is an operation that moves an allocation from host memory to a segment.
func transfer(h ddi.KMHandle, from, to uint64) dxgkrnl.Operation {
	return dxgkrnl.Operation{
		Name: "TRANSFER", Allocation: h, From: kmddi.PagingLocation{Address: from}, To: kmddi.PagingLocation{SegmentID: 1, Address: to}, Bytes: 256,
	}
}

// A paging buffer moves what its operations name, from and to host memory.
func TestPaging(t *testing.T) {
	move := func(src, dst uint64, n uint32) []string {
		r := newRig(t)
		b, err := pkt.Copy{Src: src, Dst: dst, Bytes: n}.Append(nil)
		require.NoError(t, err)
		r.Kernel(r.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: 1, Node: 1, Address: 0x9000, End: uint32(len(b)), Text: "paging buffer", Commands: b,
			Operations: []dxgkrnl.Operation{transfer(10, hostBase, 0x1000)},
		})
		return r.found
	}
	assert.Empty(t, move(pkt.Host|0x100000, 0x1000, 256))
	assert.Empty(t, move(pkt.Host|0x100080, 0x1080, 128), "a part")
	assert.Equal(t, []string{"access-paging", "access-paging"}, move(pkt.Host|0x100000, 0x1000, 260))
	assert.Equal(t, []string{"access-paging"}, move(0x100000, 0x1000, 256), "VRAM is not host memory")
	assert.Equal(t, []string{"access-paging"}, move(pkt.Host|0x100000, 0x2000, 256))
}
