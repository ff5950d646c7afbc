package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// refusalConfigs returns configurations that differ in what each field refuses.
func refusalConfigs() map[string]gpu.Config {
	two, one, plain := small(), small(), oneNode()
	one.Nodes, one.LengthBits = 1, 17
	all := map[string]gpu.Config{"two nodes": two, "one node": one, "without options": plain}
	for name, c := range all {
		c.VRAMBytes = 1 << 16
		all[name] = c
	}
	return all
}

// A refusalChecker makes the first node refuse packets while the second one works.
type refusalChecker struct {
	*machine
	vram []byte
	row  refusal
	id   uint32 // fence ID of the second node
}

func newRefusalChecker(t *testing.T, c gpu.Config) *refusalChecker {
	r := &refusalChecker{machine: boot(t, c, 1)}
	r.skip = true
	r.latency = 4
	r.vram = make([]byte, c.VRAMBytes)
	for i := range r.vram {
		r.vram[i] = byte(r.rng.Uint32())
	}
	r.g.PokeVRAM(0, r.vram)
	r.allow = r.allowed
	return r
}

// allowed reports whether the device may send a request to the host: to fetch packets, to
// check the refused packet's operands, and to access the second node's data.
func (r *refusalChecker) allowed(q port.Request) bool {
	may := []refmodel.Range{span(fenceAt+8, 8), span(bytesOther2, otherSize+8)}
	if q.Kind == port.MemRead {
		may = []refmodel.Range{span(ringAt, 2<<ringLog2), span(refusedCode, 0x200), span(bytesOther, otherSize+8)}
		switch {
		case r.row.cause == cpreg.CauseReadError:
			may = append(may, span(nowhere&^host-memBase, 0x1000))
		case r.row.words != nil:
			may = append(may, span(refusedState, pkt.StateBytes))
		}
	}
	ok := q.Addr == messages || slices.ContainsFunc(may, func(s refmodel.Range) bool { return s.Holds(q.Addr-memBase, 4*uint64(q.Len)) })
	if !ok {
		r.t.Errorf("%s: unexpected request %+v", r.row.name, q)
	}
	return ok
}

// execute makes the first node execute a row, and a fence after it, from reset.
func (r *refusalChecker) execute(row refusal) {
	r.row = row
	r.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
	r.run(2000, func() bool { return r.node(0, cpreg.Ctl) == 0 })
	r.writeReg(cpreg.Base+cpreg.LineHi, 0)
	r.writeReg(cpreg.Base+cpreg.Fence, refusedFence)
	r.startNode(0)
	if row.at == refmodel.Guarded {
		r.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
	}
	r.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
	r.msgs, r.log = nil, nil
	for i, w := range row.words {
		le.PutUint64(r.mem[refusedState+8*i:], w)
	}
	if r.g.Config().Nodes == 2 {
		r.id++
		r.submit(1, pkt.Copy{Src: at(bytesOther), Dst: at(bytesOther2), Bytes: otherSize}, fence(1, r.id))
	}
	p := row.p
	if row.at != refmodel.InRing {
		copy(r.mem[refusedCode:], pkt.Bytes(row.p))
		p = header(append(pkt.Dwords(pkt.OpIndirect, address(refusedCode)...), uint32(row.ibDwords)))
	}
	all := slices.Concat(row.setup, p, pkt.Dwords(pkt.OpFence, append(address(fenceAt), refusedFence+1, 1)...))
	r.submitBytes(0, pkt.Bytes(all))
	r.idle()
}

// A latch holds a node's fault registers.
type latch struct {
	Cause            string
	Addr, Bad        uint64
	Op, Rptr, IBLeft uint32
}

func (r *refusalChecker) latched() latch {
	long := func(reg uint64) uint64 { return uint64(r.node(0, reg)) | uint64(r.node(0, reg+4))<<32 }
	l := latch{
		cpreg.Causes[r.node(0, cpreg.FaultInfo)], long(cpreg.FaultLo), long(cpreg.FaultBad),
		r.node(0, cpreg.FaultOp), r.node(0, cpreg.Rptr), r.node(0, cpreg.IBLeft),
	}
	if !r.row.known {
		l.Bad = 0
	}
	return l
}

// modelled returns what the reference model latches for the executed row. known is false
// if the model does not define FAULT_BAD.
func (r *refusalChecker) modelled() (l latch, known bool) {
	mem := &refmodel.Memory{VRAM: r.vram, Host: r.mem, HostBase: memBase}
	n := refmodel.New(hostbfm.ModelConfig(r.g.Config()), mem).Nodes[0]
	n.Fence, n.Protect = refusedFence, r.row.at == refmodel.Guarded
	n.Ring = refmodel.Ring{Base: at(ringAt), Dwords: 1 << ringLog2 / 4, Wptr: r.wptr[0]}
	n.Run(nil)
	return latch{cpreg.Causes[n.Fault.Cause], n.Fault.Addr, n.Fault.Bad, n.Fault.Op, n.Ring.Rptr, n.IBLeft}, n.Fault.Known
}

// want returns the expected registers of a row.
func (row refusal) want() latch {
	l := latch{Cause: cpreg.Causes[row.cause], Addr: at(ringAt + 4*uint64(len(row.setup))), Op: row.p[0], Rptr: uint32(len(row.setup))}
	if row.known {
		l.Bad = row.bad
	}
	switch {
	case row.at != refmodel.InRing:
		l.Addr, l.IBLeft = at(refusedCode), uint32(row.ibDwords)
	case row.cause == cpreg.CauseReadError && row.p[0]>>24 == pkt.OpIndirect: // the buffer cannot be read
		l.Addr, l.Op, l.IBLeft = row.bad, 0, row.p[3]&pkt.MaxIndirect
	}
	return l
}

// untouched checks that the first node had no effect and the second one did its work.
func (r *refusalChecker) untouched() {
	t := r.t
	require.Equal(t, uint32(refusedFence), r.node(0, cpreg.Fence), r.row.name)
	require.Zero(t, r.readReg(idreg.Base+idreg.Scratch0), r.row.name)
	vram := make([]byte, len(r.vram))
	r.g.PeekVRAM(0, vram)
	require.True(t, slices.Equal(r.vram, vram), r.row.name)
	events := uint32(intcreg.Fault0)
	messages := []uint32{0x51}
	if r.g.Config().Nodes == 2 {
		events |= intcreg.Done1
		messages = []uint32{0x50, 0x51}
		require.Equal(t, uint64(r.id), r.fence(1), r.row.name)
		require.Equal(t, r.mem[bytesOther:][:otherSize], r.mem[bytesOther2:][:otherSize], r.row.name)
	}
	slices.Sort(r.msgs)
	require.Equal(t, messages, r.msgs, r.row.name)
	require.Equal(t, events, r.readReg(intcreg.Base+intcreg.Status), r.row.name)
}

// TestRefusals executes every packet with each field out of range, each reserved bit, each
// wrong length and in each wrong place. The result is a fault with the right cause and
// address; the refused packet reads and writes no memory, and the other node does its
// work. The reference model gives the same fault.
func TestRefusals(t *testing.T) {
	tooltest.Long(t)
	for name, c := range refusalConfigs() {
		t.Run(name, func(t *testing.T) {
			r := newRefusalChecker(t, c)
			for _, row := range refusals(c) {
				row.name += ", in the " + row.at.String()
				r.execute(row)
				require.Equal(t, row.want(), r.latched(), "%s: %#x", row.name, row.p)
				r.untouched()
				got, known := r.modelled()
				want := row.want()
				if !known || !row.known {
					got.Bad, want.Bad = 0, 0
				}
				require.Equal(t, want, got, "reference model, %s: %#x", row.name, row.p)
			}
		})
	}
}

// Each field of the table of packets is refused in some row or accepts every value, and
// each cause of packets occurs.
func TestRefusalsCoverTheTable(t *testing.T) {
	fields, causes, packets := map[string]bool{}, map[uint32]bool{}, map[uint32]bool{}
	for _, c := range refusalConfigs() {
		for _, row := range refusals(c) {
			fields[row.field], causes[row.cause] = true, true
			packets[row.p[0]>>24] = true
		}
	}
	for _, l := range pkt.Table {
		assert.True(t, packets[uint32(l.Op)], l.Name)
		for _, f := range l.Fields {
			name := l.Name + " " + f.Name
			assert.NotEqual(t, slices.Contains(anyValue, name), fields[name], name)
		}
	}
	for cause := uint32(1); cause < uint32(len(cpreg.Causes)); cause++ {
		// Not caused by packets, or by those with addresses in the aperture.
		elsewhere := cause == cpreg.CauseRing || cause == cpreg.CauseWriteError || cause == cpreg.CausePage
		assert.NotEqual(t, elsewhere, causes[cause], cpreg.Causes[cause])
	}
}

// The packets from which refusals are made are legal in every allowed place.
func TestLegalPackets(t *testing.T) {
	for name, c := range refusalConfigs() {
		for _, l := range pkt.Table {
			require.NotNil(t, legalPackets[l.Op], l.Name)
			for at := range refmodel.Places {
				if !hostbfm.ModelConfig(c).Has(l.Op) || at == refmodel.Guarded && !c.Caps.Has(caps.Protection) || at != refmodel.InRing && l.Privileged {
					continue
				}
				r := newRefusalChecker(t, c)
				r.allow = nil
				copy(r.mem[refusedCode:], pkt.Bytes(pkt.Dwords(pkt.OpNOP, 0, 0, 0, 0, 0)))
				row := refusal{at: at, p: legal(l), words: make([]uint64, 15)}
				row.ibDwords = len(row.p)
				if row.setup = surfaces(host|memBase+refusedOpen, host|memBase+refusedOpen+0x800); at == refmodel.Guarded {
					row.setup = append(row.setup, with(of(pkt.OpSetWindow), "Size", uint64(refusedPage))...)
				}
				r.execute(row)
				assert.Zero(t, r.node(0, cpreg.FaultInfo), "%s in the %s, %s", l.Name, at, name)
				assert.NotEqual(t, uint32(refusedFence), r.node(0, cpreg.Fence), "%s in the %s, %s", l.Name, at, name)
			}
		}
	}
}
