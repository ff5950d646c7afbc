package sanitize_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A kernelMistake is one of a kernel that moves an allocation.
type kernelMistake int

const (
	noMistake kernelMistake = iota
	notCopiedOut
	copiedOutElsewhere
	copiedOutFromElsewhere
	filled
	copiedInFromElsewhere
	hostChanged
	notCopiedIn
	kernelMistakes
)

// A pager is a kernel that evicts allocation 11 and brings it back.
type pager struct {
	*rig
	t    *testing.T
	r    *rand.Rand
	host uint64 // of the allocation
}

// moves queues, executes and ends a paging buffer with one operation.
func (p *pager) moves(name string, from, to kmddi.PagingLocation) {
	at := func(l kmddi.PagingLocation) uint64 {
		if l.SegmentID == 0 {
			return pkt.Host | l.Address
		}
		return l.Address
	}
	var packet pkt.Packet = pkt.Copy{Src: at(from), Dst: at(to), Bytes: 256}
	if name == "FILL" {
		packet = pkt.Fill{Dst: at(to), Bytes: 256}
	}
	b, err := packet.Append(nil)
	require.NoError(p.t, err)
	p.serial++
	p.Kernel(p.rig.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: p.serial, Address: 0x9000, End: uint32(len(b)), Text: "paging buffer", Commands: b,
		Operations: []dxgkrnl.Operation{{Name: name, Allocation: 11, From: from, To: to, Bytes: 256}},
	})
	p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventSubmit, Submission: p.serial})
	if to.SegmentID == 0 {
		for i := uint64(0); i < 256; i += 64 {
			p.gpuWrites(int(to.Address-hostBase+i), byte(p.r.IntN(256)))
		}
	}
	p.retire(p.serial)
}

// elsewhere adds a distance to an address.
func (p *pager) elsewhere(at uint64) uint64 { return at + 256*(1+p.r.Uint64N(8)) }

// cycle evicts the allocation, brings it back to another place, and has a packet write it.
func (p *pager) cycle(m kernelMistake) {
	from := kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]}
	out, in := kmddi.PagingLocation{Address: p.host}, kmddi.PagingLocation{Address: p.host}
	switch m {
	case copiedOutElsewhere:
		out.Address = p.elsewhere(out.Address)
	case copiedInFromElsewhere:
		in.Address = p.elsewhere(in.Address)
	case copiedOutFromElsewhere:
		from.Address = p.elsewhere(from.Address)
	}
	p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
	if m != notCopiedOut {
		p.moves("TRANSFER", from, out)
	}
	if m == hostChanged {
		p.memory[p.host-hostBase+p.r.Uint64N(256)] ^= 1 + byte(p.r.IntN(255))
	}
	p.place(11, 0x4000+0x100*p.r.Uint64N(64))
	name := "TRANSFER"
	if m == filled {
		name = "FILL"
	}
	if m != notCopiedIn {
		p.moves(name, in, kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]})
	}
	p.writes()
}

// writes has a packet write the allocation.
func (p *pager) writes() {
	p.serial++
	b, err := pkt.Fill{Dst: p.places[11], Bytes: 256}.Append(nil)
	require.NoError(p.t, err)
	p.Kernel(p.rig.t, dxgkrnl.Event{
		Kind: dxgkrnl.EventQueue, Submission: p.serial, Device: 1, Address: 0x9000, End: uint32(len(b)), Text: render,
		Commands: b, Uses: []dxgkrnl.Use{{At: 4, Allocation: 11, Write: true}},
	})
	p.retire(p.serial)
}

// evictions returns what was found in a few cycles, one of which has a mistake.
func evictions(t *testing.T, m kernelMistake, seed uint64) []string {
	t.Helper()
	p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(seed, 25)), host: hostBase + 0x1000}
	p.writes()
	at := p.r.IntN(3)
	for i := range 3 {
		if i == at {
			p.cycle(m)
		} else {
			p.cycle(noMistake)
		}
	}
	return p.found
}

// Each mistake of a kernel that moves an allocation is named, once, and nothing else is.
func TestPlantedEvictions(t *testing.T) {
	for seed := range uint64(28) {
		m := 1 + kernelMistake(seed%uint64(kernelMistakes-1))
		assert.Equal(t, []string{"access-eviction"}, evictions(t, m, seed), "mistake %d, seed %d", m, seed)
		assert.Empty(t, evictions(t, noMistake, seed), "seed %d", seed)
	}
}

// An allocation that is locked has its content in host memory, which the application may change.
func TestEvictionWhileLocked(t *testing.T) {
	lock := func(p *pager, kind dxgkrnl.EventKind) {
		p.Kernel(p.rig.t, dxgkrnl.Event{Kind: kind, Allocation: 11, Write: true})
	}
	newPager := func() *pager {
		p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 26)), host: hostBase + 0x1000}
		p.writes()
		return p
	}
	p := newPager()
	lock(p, dxgkrnl.EventLock)
	p.cycle(notCopiedOut)
	assert.Empty(t, p.found, "it need not be copied")

	p = newPager()
	lock(p, dxgkrnl.EventLock)
	lock(p, dxgkrnl.EventUnlock)
	p.cycle(hostChanged)
	assert.Equal(t, []string{"access-cpu-write"}, p.found, "the application has a pointer")
	assert.Contains(t, p.texts[0], "when it was evicted")

	p = newPager()
	from := kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]}
	p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
	p.moves("TRANSFER", from, kmddi.PagingLocation{Address: p.host})
	lock(p, dxgkrnl.EventLock)
	p.memory[p.host-hostBase] ^= 1
	lock(p, dxgkrnl.EventUnlock)
	p.place(11, 0x4000)
	p.moves("TRANSFER", kmddi.PagingLocation{Address: p.host}, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
	p.writes()
	assert.Empty(t, p.found, "a lock may change it")
}

// Host memory that the GPU writes through a mapping may differ from what was evicted. What changed before the mapping is named.
func TestEvictionThenMapping(t *testing.T) {
	for change, want := range map[byte][]string{0: nil, 1: {"access-eviction"}} {
		p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 29)), host: hostBase + 0x1000}
		p.writes()
		p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
		p.moves("TRANSFER", kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]}, kmddi.PagingLocation{Address: p.host})
		p.memory[p.host-hostBase] ^= change
		p.serial++
		p.Kernel(p.rig.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: p.serial, Address: 0x9000, Text: "paging buffer",
			Operations: []dxgkrnl.Operation{{Name: "MAP_APERTURE_SEGMENT", Allocation: 11, To: kmddi.PagingLocation{SegmentID: 2}}},
		})
		p.retire(p.serial)
		p.memory[p.host-hostBase+1] ^= 1
		p.place(11, 0x4000)
		p.moves("TRANSFER", kmddi.PagingLocation{Address: p.host}, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
		p.writes()
		assert.Equal(t, want, p.found)
	}
}

// An allocation that comes back before its copy to host memory has ended is not evicted any more when that ends.
func TestEvictionThatComesBackAtOnce(t *testing.T) {
	p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 30)), host: hostBase + 0x1000}
	p.writes()
	p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
	segment, host := kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]}, kmddi.PagingLocation{Address: p.host}
	queue := func(from, to kmddi.PagingLocation) {
		p.serial++
		p.Kernel(p.rig.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: p.serial, Address: 0x9000, Text: "paging buffer",
			Operations: []dxgkrnl.Operation{{Name: "TRANSFER", Allocation: 11, From: from, To: to, Bytes: 256}},
		})
	}
	queue(segment, host)
	p.place(11, 0x4000)
	queue(host, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
	p.retire(p.serial - 1)
	p.retire(p.serial)
	p.memory[p.host-hostBase] ^= 1 // the content is in the segment, so the kernel may change this
	queue(host, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
	assert.Empty(t, p.found)
}

// Content may be discarded if its application has offered or destroyed it. What returns after that
// is zero.
func TestDiscard(t *testing.T) {
	discarded := func(kinds ...dxgkrnl.EventKind) []string {
		p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 28)), host: hostBase + 0x1000}
		p.writes()
		for _, k := range kinds {
			p.Kernel(p.rig.t, dxgkrnl.Event{Kind: k, Allocation: 11})
		}
		p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
		p.serial++
		p.Kernel(p.rig.t, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: p.serial, Address: 0x9000, Text: "paging buffer",
			Operations: []dxgkrnl.Operation{{Name: "DISCARD_CONTENT", Allocation: 11, To: kmddi.PagingLocation{SegmentID: 1, Address: p.places[11]}}},
		})
		p.retire(p.serial)
		p.place(11, 0x4000)
		p.moves("FILL", kmddi.PagingLocation{}, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
		p.writes()
		return p.found
	}
	assert.Empty(t, discarded(dxgkrnl.EventOffer))
	assert.Empty(t, discarded(dxgkrnl.EventDestroy))
	assert.Equal(t, []string{"access-eviction"}, discarded())
	assert.Equal(t, []string{"access-eviction"}, discarded(dxgkrnl.EventOffer, dxgkrnl.EventReclaim))
}

// A move within a segment takes the content along, from the last place.
func TestMoveWithin(t *testing.T) {
	moved := func(from func(p *pager) uint64) []string {
		p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 29)), host: hostBase + 0x1000}
		p.writes()
		p.cycle(noMistake)
		source := kmddi.PagingLocation{SegmentID: 1, Address: from(p)}
		p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventEvict, Allocation: 11})
		p.place(11, 0x4000)
		p.moves("TRANSFER", source, kmddi.PagingLocation{SegmentID: 1, Address: 0x4000})
		p.writes()
		p.cycle(noMistake)
		return p.found
	}
	assert.Empty(t, moved(func(p *pager) uint64 { return p.places[11] }))
	assert.Equal(t, []string{"access-eviction"}, moved(func(p *pager) uint64 { return p.elsewhere(p.places[11]) }))
}

// A device that stops loses what is in its memory.
func TestEvictionAfterStop(t *testing.T) {
	p := &pager{rig: newRig(t), t: t, r: rand.New(rand.NewPCG(1, 27)), host: hostBase + 0x1000}
	p.writes()
	p.Kernel(p.rig.t, dxgkrnl.Event{Kind: dxgkrnl.EventStop})
	p.cycle(notCopiedOut)
	assert.Empty(t, p.found)
}
