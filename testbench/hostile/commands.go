package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// Indexes of the allocation list. Index 0 has no allocation.
const (
	source      = 1
	destination = 2
	canvas      = 3
	foreign     = 4 // of another device
	outside     = 5 // paged out when Render is called
	closed      = 6 // closed again
	image       = 7
	listed      = 8
)

// An allocation is an element of the list, with its GPU address when Render is called,
// and the one to which it has moved when the buffer is submitted.
type allocation struct {
	target
	at, moved uint64
}

var allocations = [listed]allocation{
	source:      {target{bytes: 4096, writable: false, usable: true}, 0x1000, 0x8000},
	destination: {target{bytes: 4096, writable: true, usable: true}, pkt.Host | 0x40000, 0x9000},
	canvas:      {target{bytes: 1024, writable: true, usable: true}, 0x3000, pkt.Host | 0x42000},
	foreign:     {target{bytes: 4096, writable: true, usable: false}, 0x7000, 0xa000},
	outside:     {target{bytes: 4096, writable: true, usable: true}, 0, pkt.Host | 0x44000},
	closed:      {target{bytes: 4096, writable: true, usable: false}, 0x6000, 0xb000},
	image:       {target{bytes: 1024, writable: false, usable: true}, 0x4000, 0xc000},
}

// Host memory, and a place in VRAM where no allocation is.
const (
	hostAt  = 0x40000
	strayAt = 0xf000
)

// memory returns what all allocations fit in. At first half of the predicates read 0 in it.
func memory() []byte {
	b := make([]byte, 0x10000)
	for i := range b {
		b[i] = byte(i >> 3 & 1)
	}
	return b
}

// place returns the allocation list with each allocation in a segment at its address,
// or paged out at address 0.
func (c *commands) place(moved bool) []kmddi.AllocationList {
	list := slices.Clone(c.list)
	for i, a := range allocations[1:] {
		al, addr := &list[i+1], a.at
		if c.aperture {
			a.at, a.moved = inAperture[i+1].at, inAperture[i+1].moved
			addr = a.at
		}
		if moved {
			addr = a.moved
		}
		al.WriteOperation, al.PhysicalAddress, al.SegmentID = a.writable, addr, 1
		switch {
		case addr == 0:
			al.SegmentID = kmddi.SegmentNone
		case addr&(pkt.Host|gartreg.Start) != 0:
			al.SegmentID = 2
		}
	}
	return list
}

// commands renders, patches and executes command buffers.
type commands struct {
	*rig
	list     []kmddi.AllocationList
	aperture bool // the GPU has one
	targets  []target
	device   *refmodel.Device
	rtl      *hardware // executes each portion too; nil: only the model does

	legal, refused, executed, accesses int
	ops                                map[uint32]int // executed packets by opcode
}

// newCommands returns a rig with the allocation list, for a GPU that perhaps has an aperture.
func newCommands(aperture bool) (*commands, error) {
	r, err := newRig(aperture)
	if err != nil {
		return nil, err
	}
	c := &commands{rig: r, aperture: aperture, list: make([]kmddi.AllocationList, listed), ops: map[uint32]int{}}
	other, _, err := r.client()
	for i, a := range allocations {
		place := privdata.Either
		if aperture {
			if a.translated = !inAperture[i].local; !a.translated {
				place = privdata.Local
			}
		}
		c.targets = append(c.targets, a.target)
		dev := r.dev
		if i == foreign {
			dev = other
		}
		if i > 0 && err == nil {
			c.list[i].DeviceSpecificAllocation, err = r.open(dev, privdata.Allocation{Place: place, Bytes: a.bytes})
		}
	}
	if err != nil {
		return nil, err
	}
	if s := r.table.CloseAllocation(r.thread, r.dev, c.list[closed].DeviceSpecificAllocation); s != ddi.StatusSuccess {
		return nil, fmt.Errorf("hostile: CloseAllocation: %w", s)
	}
	mem := &refmodel.Memory{VRAM: memory(), Host: memory(), HostBase: hostAt}
	config := refmodel.Config{Nodes: 1, HostBits: hostBits, LengthBits: lengthBits, VRAM: 1 << 20}
	if aperture {
		mem.VRAM, config.Caps = vram(), caps.GART
	}
	c.device = refmodel.New(config, mem)
	c.device.Aperture = refmodel.Aperture{Enable: aperture, Table: tableAt, Pages: hostPages}
	return c, nil
}

// userCommand is the application's memory.
type userCommand struct{ b []byte }

func (u userCommand) Size() int { return len(u.b) }

func (u userCommand) Read(off int, p []byte) ddi.Status {
	copy(p, u.b[off:])
	return ddi.StatusSuccess
}

// userList is the application's patch list.
type userList []kmddi.PatchLocation

func (u userList) Len() int { return len(u) }

func (u userList) At(i int) (kmddi.PatchLocation, ddi.Status) { return u[i], ddi.StatusSuccess }

// A pass is one call of Render.
type pass struct {
	out   kmddi.RenderOut
	dma   []byte
	list  []kmddi.PatchLocation
	first uint32 // offset of dma in the command
}

// check renders a command into buffers of the given sizes, in as many passes as it
// takes, and executes the result. The error names the rule that the miniport broke.
func (c *commands) check(r *rand.Rand, cmd *command, size, entries int) error {
	b := cmd.bytes()
	starts, ok := legal(b, cmd.patches, c.targets)
	if ok {
		ok = fit(starts, cmd.patches, size, entries)
	}
	passes, s := c.render(b, cmd.patches, size, entries)
	switch {
	case ok && s != ddi.StatusSuccess:
		return fmt.Errorf("a legal command was refused: %w", s)
	case !ok && s == ddi.StatusSuccess:
		return fmt.Errorf("an illegal command was accepted")
	case !ok:
		c.refused++
	default:
		c.legal++
	}
	for _, p := range passes {
		if p.out.DmaBufferUsed == 0 {
			continue
		}
		if err := c.submit(r, p, starts, b); err != nil {
			return err
		}
	}
	return nil
}

// fit reports whether each portion fits in an empty buffer.
func fit(starts []uint32, list []kmddi.PatchLocation, size, entries int) bool {
	for i, s := range starts[:len(starts)-1] {
		n := 0
		for _, p := range list {
			if p.SplitOffset == s {
				n++
			}
		}
		if int(starts[i+1]-s) > size || n > entries {
			return false
		}
	}
	return true
}

// guard follows buffers that Render must not write past.
const guard = 0xa5

// render calls Render until it has rendered everything or refuses.
func (c *commands) render(b []byte, list []kmddi.PatchLocation, size, entries int) ([]pass, ddi.Status) {
	var all []pass
	for at := uint32(0); ; {
		dma := bytes.Repeat([]byte{guard}, size+16)
		out := slices.Repeat([]kmddi.PatchLocation{{DriverID: guard}}, entries+4)
		res, s := c.table.Render(c.thread, c.ctx, kmddi.Render{
			Command: userCommand{b}, PatchLocationListIn: userList(list), AllocationList: c.place(false),
			DmaBuffer: dma[:size:size], PatchLocationListOut: out[:entries:entries], MultipassOffset: at,
		})
		untouched := int(res.DmaBufferUsed) <= size && int(res.PatchesUsed) <= entries &&
			bytes.Count(dma[res.DmaBufferUsed:], []byte{guard}) == len(dma)-int(res.DmaBufferUsed) &&
			!slices.ContainsFunc(out[res.PatchesUsed:], func(p kmddi.PatchLocation) bool { return p.DriverID != guard })
		if !untouched {
			panic("Render wrote past what it reported")
		}
		if s != ddi.StatusSuccess && s != ddi.StatusInsufficientDMABuffer {
			return all, s
		}
		all = append(all, pass{res, dma[:res.DmaBufferUsed], out[:res.PatchesUsed], at &^ 1})
		if s == ddi.StatusSuccess {
			return all, s
		}
		if res.MultipassOffset <= at {
			panic("Render makes no progress")
		}
		at = res.MultipassOffset
	}
}

// submit executes each portion of a pass as a submission of its own. Allocations may
// have moved since Render; then the portion is patched.
func (c *commands) submit(r *rand.Rand, p pass, starts []uint32, cmd []byte) error {
	for len(p.dma) > 0 && len(starts) > 1 {
		from, to := starts[0]-p.first, starts[1]-p.first
		starts = starts[1:]
		if starts[0] <= p.first {
			continue
		}
		if int(from) >= len(p.dma) {
			break
		}
		i := slices.IndexFunc(p.list, func(l kmddi.PatchLocation) bool { return l.SplitOffset == from })
		n := 0
		for _, l := range p.list {
			if l.SplitOffset == from {
				n++
			}
		}
		moved := r.IntN(2) == 0
		for _, l := range p.list {
			moved = moved || l.SplitOffset == from && l.AllocationIndex == outside
		}
		now := c.place(moved)
		if moved {
			c.table.Patch(c.thread, c.adapter, kmddi.Patch{
				Context: c.ctx, DmaBuffer: p.dma, DmaBufferSubmissionStartOffset: from, DmaBufferSubmissionEndOffset: to,
				AllocationList: now, PatchLocationList: p.list,
				PatchLocationListSubmissionStart: uint32(max(i, 0)), PatchLocationListSubmissionLength: uint32(n),
			})
		}
		mine := p.list[max(i, 0):][:n]
		if !bytes.Equal(p.dma[from:to], patched(cmd[p.first:][:to], mine, now)[from:]) {
			return fmt.Errorf("the buffer is not the command with the addresses of its allocations")
		}
		if err := c.execute(p.dma[from:to], mine, now); err != nil {
			return err
		}
	}
	return nil
}

// patched returns a copy of a command with the addresses that patches name.
func patched(cmd []byte, patches []kmddi.PatchLocation, now []kmddi.AllocationList) []byte {
	b := bytes.Clone(cmd)
	for _, p := range patches {
		binary.LittleEndian.PutUint64(b[p.PatchOffset:], now[p.AllocationIndex].PhysicalAddress+uint64(p.AllocationOffset))
	}
	return b
}

// execute gives a portion to the GPU. Each access must be in an allocation that its
// patches list.
func (c *commands) execute(dma []byte, patches []kmddi.PatchLocation, now []kmddi.AllocationList) error {
	c.executed++
	err := c.run(dma, func(a refmodel.Range, write bool) bool {
		c.accesses++
		return lists(patches, now, a, write)
	})
	if err != nil || c.rtl == nil {
		return err
	}
	return c.rtl.run(dma, func(a refmodel.Range, write bool) bool { return lists(patches, now, a, write) })
}

// run gives packets to the reference model, after another context has used the node: its
// surfaces are where no allocation is. No packet may stop the GPU, and allowed decides
// about each access.
func (c *commands) run(dma []byte, allowed func(a refmodel.Range, write bool) bool) error {
	n := c.device.Nodes[0]
	for i := range n.Surfaces {
		n.Surfaces[i] = refmodel.Surface{Set: true, Base: strayAt, Pitch: 64, X1: 8, Y1: 8}
	}
	var w []uint32
	for i := 0; i+4 <= len(dma); i += 4 {
		w = append(w, binary.LittleEndian.Uint32(dma[i:]))
	}
	for len(w) > 0 {
		v := n.Judge(w, refmodel.Site{Place: refmodel.InIndirect, Left: uint32(len(w) - 1)})
		op, size := w[0]>>24, 1+int(w[0]&0xffff)
		c.ops[op]++
		if v.Cause != 0 {
			return fmt.Errorf("the GPU stops at packet %#x with cause %d, %s", w[0], v.Cause, v.Operand)
		}
		var err error
		v.Accesses(func(a refmodel.Range, write bool) {
			if a.N > 0 && !allowed(a, write) {
				err = fmt.Errorf("packet %#x accesses %d bytes at %#x, write %t, which the submission does not list", w[0], a.N, a.At, write)
			}
		})
		if err != nil {
			return err
		}
		if op == pkt.OpSetState {
			n.Do(w[:size], v)
		}
		if v.Skips {
			size += int(w[3] & 0xffff)
		}
		w = w[size:]
	}
	return nil
}

// lists reports whether the patches of a submission list an allocation that contains
// a range.
func lists(patches []kmddi.PatchLocation, now []kmddi.AllocationList, a refmodel.Range, write bool) bool {
	return slices.ContainsFunc(patches, func(p kmddi.PatchLocation) bool {
		t := allocations[p.AllocationIndex]
		return (refmodel.Range{At: now[p.AllocationIndex].PhysicalAddress, N: t.bytes}).Holds(a.At, a.N) && (t.writable || !write)
	})
}
