package gart_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gart"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A plan is what a descriptor does with a table that does not change: its parts, and the page
// that it cannot access, if any.
type plan struct {
	parts []dma.Desc
	fault uint32 // FAULT without NODE
	addr  uint64
}

// planned works out the parts of a descriptor byte by byte.
func (r *rig) planned(d dma.Desc, pages uint64) plan {
	var p plan
	place := func(addr uint64, write uint32) (uint64, bool) {
		if addr < start || addr >= 2*start {
			return addr, true
		}
		e := r.words[vramTable+(addr-start)/page*8]
		why := uint32(0)
		switch {
		case (addr-start)/page >= pages:
			why = invalid
		case r.bad(vramTable + (addr-start)/page*8):
			why = badTable
		case e%2 == 0 || e&0xffc != 0 || e>>params.HostBits != 0:
			why = invalid
		case write != 0 && e&2 == 0:
			why = readOnly
		}
		if why != 0 {
			p.fault, p.addr = why|write, addr
		}
		return host | e&^0xfff | addr%page, why == 0
	}
	for i := range uint64(d.Len) {
		src, ok := d.Src, true
		if d.Op == dma.Copy {
			src, ok = place(d.Src+i, 0)
		}
		dst := uint64(0)
		if ok {
			dst, ok = place(d.Dst+i, gartreg.FaultWrite)
		}
		if !ok {
			return p
		}
		cut := i == 0 || d.Op == dma.Copy && in(d.Src) && (d.Src+i)%page == 0 || in(d.Dst) && (d.Dst+i)%page == 0
		if cut {
			if d.Op == dma.Fill {
				src = bits.RotateLeft64(d.Src, -8*int(i%8))
			}
			p.parts = append(p.parts, dma.Desc{Op: d.Op, After: d.After || i != 0, Src: src, Dst: dst})
		}
		p.parts[len(p.parts)-1].Len++
	}
	return p
}

// in reports whether an address is in the aperture.
func in(addr uint64) bool { return addr>>40 == 1 }

// random returns a descriptor.
func (r *rig) random() dma.Desc {
	addr := func() uint64 {
		switch r.rng.IntN(5) {
		case 0:
			return r.rng.Uint64N(1 << 18)
		case 1:
			return host | r.rng.Uint64N(1<<39)
		}
		return start + r.rng.Uint64N(tableSize*page-9000)
	}
	d := dma.Desc{Op: dma.Copy, After: r.rng.IntN(3) == 0, Len: 1 + r.rng.Uint32N(50), Src: addr(), Dst: addr()}
	if r.rng.IntN(3) == 0 {
		d.Len = 1 + r.rng.Uint32N(9000)
	}
	if r.rng.IntN(4) == 0 {
		d.Op, d.Src = dma.Fill, r.rng.Uint64()
	}
	return d
}

// scatter gives the table random entries and flushes.
func (r *rig) scatter() {
	for i := range uint64(tableSize) {
		e := valid(r.rng.Uint64N(1000))
		if r.rng.IntN(60) == 0 {
			e ^= 1 << r.rng.IntN(64)
		}
		r.entry(vramTable, i, e)
	}
	r.set(gartreg.Flush, 1)
	for r.get(gartreg.Flush) != 0 {
	}
}

// Random descriptors of two nodes, with pages that cannot be accessed, and random times. Each has
// the parts and the result that its plan has.
func TestRandom(t *testing.T) {
	faults := map[uint32]int{}
	for seed := range uint64(60) {
		r := enabled(t, seed)
		r.stall, r.moves, r.latency = r.rng.IntN(3)*r.rng.IntN(45), r.rng.IntN(60), r.rng.IntN(40)
		r.bad = func(addr uint64) bool { return seed%4 == 0 && (addr-vramTable)/64 == seed%8 }
		for range 4 {
			r.scatter()
			for range 12 {
				d := part{r.random(), uint8(r.rng.UintN(2))}
				d.After = false
				want := r.planned(d.Desc, tableSize)
				before := len(r.sent)
				r.queue = append(r.queue, d)
				got := r.wait(1)[0]
				require.Equal(t, want.parts, descs(r.sent[before:]), "seed %d, %+v", seed, d)
				result := gart.ResultDone
				if want.fault != 0 {
					result = gart.ResultReadPage
					if want.fault&gartreg.FaultWrite != 0 {
						result = gart.ResultWritePage
					}
					want.fault |= uint32(d.owner) * gartreg.FaultNode
				}
				require.Equal(t, outcome{result, d.owner, len(r.sent)}, got, "seed %d, %+v", seed, d)
				if want.fault != 0 || r.rng.IntN(8) == 0 {
					info, addr := r.fault()
					require.Equal(t, [2]uint64{uint64(want.fault), want.addr}, [2]uint64{uint64(info), addr}, "seed %d, %+v", seed, d)
				}
				faults[want.fault&gartreg.FaultKind>>4]++
			}
		}
	}
	t.Log(faults)
	for kind := range uint32(4) {
		assert.NotZero(t, faults[kind], "kind %d", kind)
	}
}

// Random descriptors that follow each other closely, with errors of the engine, cancels and
// flushes. Each descriptor has one result, in order, and its parts begin as in its plan.
func TestRandomStream(t *testing.T) {
	results := map[gart.Result]int{}
	for seed := range uint64(40) {
		r := enabled(t, 1000+seed)
		r.scatter()
		r.stall, r.moves, r.latency = r.rng.IntN(2)*r.rng.IntN(40), r.rng.IntN(40), r.rng.IntN(30)
		r.fails = func(_ part, n int) dma.Result {
			return [...]dma.Result{dma.ResultDone, dma.ResultReadError, dma.ResultWriteError}[max(0, int(seed+uint64(n)*7)%40-37)]
		}
		var all []part
		for range 60 {
			all = append(all, part{r.random(), uint8(r.rng.UintN(2))})
		}
		r.queue = append(r.queue, all...)
		for end := r.clock + 100_000; len(r.got) < len(all); {
			require.Less(t, r.clock, end, "seed %d", seed)
			var regs regbus.Req
			if r.rng.IntN(300) == 0 {
				regs = regbus.Req{Op: regbus.Write, Off: gartreg.Base + gartreg.Flush, Data: 1}
			}
			if r.rng.IntN(400) == 0 {
				r.cancel = uint8(r.rng.UintN(4))
			} else if r.rng.IntN(40) == 0 {
				r.cancel = 0
			}
			r.tick(regs, false)
		}
		r.follow(all)
		for _, o := range r.got {
			results[o.result]++
		}
	}
	t.Log(results)
	for result := gart.ResultDone; result <= gart.ResultWritePage; result++ {
		assert.NotZero(t, results[result], "result %d", result)
	}
}

// follow compares the parts that were sent, and the results, with the descriptors.
func (r *rig) follow(all []part) {
	sent := r.sent
	for i, d := range all {
		want := r.planned(d.Desc, tableSize)
		n := 0
		for n < len(want.parts) && n < len(sent) && sent[n] == (part{want.parts[n], d.owner}) {
			n++
		}
		require.Equal(r.t, d.owner, r.got[i].of, "descriptor %d", i)
		switch r.got[i].result {
		case gart.ResultDone:
			require.Len(r.t, want.parts, n, "descriptor %d", i)
			require.Zero(r.t, want.fault, "descriptor %d", i)
		case gart.ResultReadPage, gart.ResultWritePage:
			require.Len(r.t, want.parts, n, "descriptor %d", i)
			require.NotZero(r.t, want.fault, "descriptor %d", i)
		default:
		}
		sent = sent[n:]
	}
	require.Empty(r.t, sent, "parts of no descriptor")
}
