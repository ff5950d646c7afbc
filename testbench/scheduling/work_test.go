package scheduling

import (
	"bytes"
	"math/rand/v2"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An allocation is memory that may move.
type allocation struct {
	open   kmddi.HDeviceAllocation
	addr   uint64
	bytes  int
	inVRAM bool
	left   []uint64 // where it was
}

// poison fills memory that an allocation has left.
const poison = 0xe7

// A client is a device with a context and allocations.
type client struct {
	r      *rig
	dev    kmddi.HDevice
	ctx    kmddi.HContext
	info   kmddi.ContextInfo
	allocs []*allocation
}

func (r *rig) client(node uint32) *client {
	c := &client{r: r, dev: kmddi.HDevice{Root: &ddi.Root{}}, ctx: kmddi.HContext{Root: &ddi.Root{}}}
	require.Equal(r.t, ddi.StatusSuccess, r.table.CreateDevice(r.thread, r.adapter, c.dev, kmddi.CreateDevice{}))
	var s ddi.Status
	c.info, s = r.table.CreateContext(r.thread, c.dev, c.ctx, kmddi.CreateContext{NodeOrdinal: node, EngineAffinity: 1})
	require.Equal(r.t, ddi.StatusSuccess, s)
	return c
}

// add creates an allocation with random content.
func (c *client) add(bytes int, inVRAM bool, rng *rand.Rand) {
	r := c.r
	h, open := kmddi.HAllocation{Root: &ddi.Root{}}, kmddi.HDeviceAllocation{Root: &ddi.Root{}}
	private := privdata.Allocation{Place: privdata.Either, Bytes: uint64(bytes)}.Append(nil)
	_, s := r.table.CreateAllocation(r.thread, r.adapter, h, kmddi.CreateAllocation{PrivateDriverData: private})
	require.Equal(r.t, ddi.StatusSuccess, s)
	s = r.table.OpenAllocation(r.thread, c.dev, open, kmddi.OpenAllocation{Allocation: h, PrivateDriverData: private, Create: true})
	require.Equal(r.t, ddi.StatusSuccess, s)
	a := &allocation{open: open, addr: r.place(bytes, inVRAM), bytes: bytes, inVRAM: inVRAM}
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	r.set(a.addr, b)
	c.allocs = append(c.allocs, a)
}

// move moves all allocations, each to the other memory if swap is set.
func (c *client) move(swap bool) {
	r := c.r
	for _, a := range c.allocs {
		content := r.load(a.addr, a.bytes)
		r.set(a.addr, bytes.Repeat([]byte{poison}, a.bytes))
		a.left = append(a.left, a.addr)
		a.inVRAM = a.inVRAM != swap
		a.addr = r.place(a.bytes, a.inVRAM)
		r.set(a.addr, content)
	}
}

// contents returns the content of each allocation. It checks that nothing was written where
// they were.
func (c *client) contents() [][]byte {
	var all [][]byte
	for i, a := range c.allocs {
		all = append(all, c.r.load(a.addr, a.bytes))
		for _, addr := range a.left {
			assert.Equal(c.r.t, bytes.Repeat([]byte{poison}, a.bytes), c.r.load(addr, a.bytes), "allocation %d was written where it was", i)
		}
	}
	return all
}

func (c *client) list() []kmddi.AllocationList {
	list := make([]kmddi.AllocationList, len(c.allocs))
	for i, a := range c.allocs {
		list[i] = kmddi.AllocationList{DeviceSpecificAllocation: a.open, WriteOperation: true, SegmentID: 2, PhysicalAddress: a.addr}
		if a.inVRAM {
			list[i].SegmentID = 1
		}
	}
	return list
}

// A command is packets with addresses in allocations.
type command struct {
	b    []byte
	list []kmddi.PatchLocation
}

func (m *command) Size() int { return len(m.b) }

func (m *command) Read(off int, p []byte) ddi.Status { copy(p, m.b[off:]); return ddi.StatusSuccess }

func (m *command) Len() int { return len(m.list) }

func (m *command) At(i int) (kmddi.PatchLocation, ddi.Status) { return m.list[i], ddi.StatusSuccess }

// use is an offset in an allocation.
type use struct {
	index  int
	offset uint32
}

// packet is any of package pkt.
type packet interface {
	Append(b []byte) ([]byte, error)
}

// add appends a packet, whose addresses are uses.
func (m *command) add(p packet, uses ...use) {
	at := uint32(len(m.b))
	var err error
	if m.b, err = p.Append(m.b); err != nil {
		panic(err)
	}
	l, _ := pkt.Lookup(m.b[at+3])
	for _, f := range l.Fields {
		if f.Kind.Address() {
			m.list = append(m.list, kmddi.PatchLocation{
				AllocationIndex: uint32(uses[0].index), AllocationOffset: uses[0].offset, PatchOffset: at + 4*uint32(f.Dword),
			})
			uses = uses[1:]
		}
	}
}

// A job is a rendered DMA buffer.
type job struct {
	c       *client
	node    uint32
	pages   kmddi.ContiguousMemory
	private []byte
	used    uint32
	patches []kmddi.PatchLocation
}

// render renders a command to a DMA buffer.
func (c *client) render(m *command, node uint32) *job {
	r := c.r
	j := &job{
		c: c, node: node, pages: r.pages(8192), private: bytes.Repeat([]byte{0xa5}, int(c.info.DmaBufferPrivateDataSize)),
		patches: make([]kmddi.PatchLocation, 64),
	}
	out, s := r.table.Render(r.thread, c.ctx, kmddi.Render{
		Command: m, PatchLocationListIn: m, AllocationList: c.list(), DmaBuffer: j.pages.Bytes, DmaBufferPrivateData: j.private,
		PatchLocationListOut: j.patches,
	})
	require.Equal(r.t, ddi.StatusSuccess, s)
	j.used, j.patches = out.DmaBufferUsed, j.patches[:out.PatchesUsed]
	return j
}

// submit patches and submits a job.
func (j *job) submit(id uint32, again bool) {
	c, r := j.c, j.c.r
	flags := kmddi.SubmitFlags{Resubmission: again}
	require.Equal(r.t, ddi.StatusSuccess, r.table.Patch(r.thread, r.adapter, kmddi.Patch{
		Device: c.dev, Context: c.ctx, DmaBuffer: j.pages.Bytes, DmaBufferPrivateData: j.private,
		DmaBufferPhysicalAddress: j.pages.PhysicalAddress, DmaBufferSubmissionEndOffset: j.used, AllocationList: c.list(),
		PatchLocationList: j.patches, PatchLocationListSubmissionLength: uint32(len(j.patches)), SubmissionFenceID: id, NodeOrdinal: j.node, Flags: flags,
	}))
	r.at(ddi.DispatchLevel, func() {
		require.Equal(r.t, ddi.StatusSuccess, r.table.SubmitCommand(r.thread, r.adapter, kmddi.SubmitCommand{
			Device: c.dev, Context: c.ctx, DmaBufferPhysicalAddress: j.pages.PhysicalAddress, DmaBufferSize: uint32(len(j.pages.Bytes)),
			DmaBufferSubmissionEndOffset: j.used, DmaBufferPrivateData: j.private, SubmissionFenceID: id, NodeOrdinal: j.node, Flags: flags,
		}))
	})
}

// preempt asks a node to stop.
func (r *rig) preempt(node, id uint32) {
	r.at(ddi.DispatchLevel, func() {
		require.Equal(r.t, ddi.StatusSuccess, r.table.PreemptCommand(r.thread, r.adapter, kmddi.PreemptCommand{PreemptionFenceID: id, NodeOrdinal: node}))
	})
}

// text returns what CollectDbgInfo writes.
func (r *rig) text() string {
	b := make([]byte, 64<<10)
	out, _ := r.table.CollectDbgInfo(r.thread, r.adapter, kmddi.CollectDbgInfo{Buffer: b})
	return string(b[:out.Length])
}
