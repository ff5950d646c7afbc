package gpu_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/refmodel/vectors"
)

// vectorConfig returns the configuration of the vectors without one capability.
func vectorConfig(lacks string) gpu.Config {
	c := gpu.Default()
	c.VRAMBytes, c.HostBits, c.LengthBits = vectors.VRAM, vectors.HostBits, vectors.LengthBits
	c.Caps |= caps.GART
	for _, v := range caps.Table {
		if v.Option() == lacks {
			c.Caps &^= v.Bit
		}
	}
	if lacks == "nodes" {
		c.Nodes = 1
	}
	return c
}

// execute makes the first node execute a vector until it stops or waits.
func (m *machine) execute(v vectors.Vector) {
	ctl := uint32(cpreg.CtlRun)
	if v.Protect {
		ctl |= cpreg.CtlProtect
	}
	for _, r := range [][2]uint32{
		{cpreg.Ctl, 0}, {cpreg.Fence, uint32(v.Fence)}, {cpreg.LineHi, uint32(v.Fence >> 32)}, {cpreg.Progress, v.Progress}, {cpreg.Ctl, ctl},
	} {
		m.writeReg(uint64(cpreg.Base+r[0]), r[1])
	}
	m.submitBytes(0, v.RingBytes())
	m.idle()
}

// outcome returns the registers of the first node.
func (m *machine) outcome() vectors.Outcome {
	wide := func(reg uint64) uint64 { return uint64(m.node(0, reg)) | uint64(m.node(0, reg+4))<<32 }
	o := vectors.Outcome{
		Cause: cpreg.Causes[m.node(0, cpreg.FaultInfo)], FaultAddr: wide(cpreg.FaultLo), FaultBad: wide(cpreg.FaultBad),
		FaultOp: m.node(0, cpreg.FaultOp), Rptr: m.node(0, cpreg.Rptr), IBLeft: m.node(0, cpreg.IBLeft),
		Packets: m.node(0, cpreg.Packets), Timeline: wide(cpreg.LineLo),
		Done: m.readReg(intcreg.Base+intcreg.Status)&intcreg.Done0 != 0,
	}
	if !m.g.Config().Caps.Has(caps.Timeline) {
		o.Timeline = uint64(m.node(0, cpreg.Fence))
	}
	for i := range o.Scratch {
		o.Scratch[i] = m.readReg(idreg.Base + idreg.Scratch0 + 4*uint64(i))
	}
	return o
}

// The device gives the outcomes that the vectors specify.
func TestVectors(t *testing.T) {
	require.Equal(t, [3]uint64{memBase, ringAt, 1 << ringLog2}, [3]uint64{vectors.HostBase, vectors.RingAt, 4 * vectors.RingDwords})
	for _, v := range vectors.All() {
		t.Run(v.Name, func(t *testing.T) {
			m := boot(t, vectorConfig(v.Lacks), 1)
			wantVRAM, vram := make([]byte, vectors.VRAM), make([]byte, vectors.VRAM)
			v.Load(wantVRAM, m.mem)
			want := slices.Clone(m.mem)
			m.g.PokeVRAM(0, wantVRAM)
			m.execute(v)
			got := m.outcome()
			if v.Fault == nil || !v.Fault.Known {
				got.FaultBad = 0
			}
			assert.Equal(t, v.Outcome(), got)
			m.g.PeekVRAM(0, vram)
			v.Want(wantVRAM, want, vram, m.mem)
			assert.True(t, bytes.Equal(wantVRAM, vram), "VRAM")
			assert.True(t, bytes.Equal(want, m.mem), "host memory")
		})
	}
}

// A preempted packet has done exactly as much as PROGRESS shows, according to the
// reference model.
func TestPreemptedPacketMatchesProgress(t *testing.T) {
	surface := func(which uint32, base, pitch uint32) []uint32 {
		return pkt.Dwords(pkt.OpSetState, which, base, 0x8000_0001, pitch, 0, 0, 0x40004000)
	}
	stopped := map[string]int{}
	for name, p := range map[string][]uint32{
		"FILL":    pkt.Dwords(pkt.OpFill, 0x80030003, 0x8000_0001, 0xa000, 0x44332211, 0x88776655),
		"COPY":    pkt.Dwords(pkt.OpCopy, 0x80020001, 0x8000_0001, 0x80030003, 0x8000_0001, 0xa000),
		"FILL_2D": pkt.Dwords(pkt.OpFill2D, 0, 100<<16|64, 0x44332211, 0x88776655),
		"COPY_2D": pkt.Dwords(pkt.OpCopy2D, 0, 0, 100<<16|64),

		"FILL_2D of long rows": pkt.Dwords(pkt.OpFill2D, 0, 3<<16|0x3001, 0x44332211, 0x88776655),
		"COPY_2D of long rows": pkt.Dwords(pkt.OpCopy2D, 0, 0, 3<<16|0x3001),
	} {
		for after := range uint64(12) {
			m := boot(t, vectorConfig(""), 1)
			vram := make([]byte, vectors.VRAM)
			vectors.Vector{}.Load(vram, m.mem)
			copy(m.mem[vectors.BufferAt:], pkt.Bytes(p))
			setup := append(surface(0, 0x80020001, 80), surface(1, 0x80030003, 70)...)
			ring := slices.Concat(setup, pkt.Dwords(pkt.OpIndirect, 0x80008000, 0x80000001, uint32(len(p))))
			copy(m.mem[ringAt:], pkt.Bytes(ring))
			model := refmodel.New(hostbfm.ModelConfig(m.g.Config()), &refmodel.Memory{VRAM: vram, Host: slices.Clone(m.mem), HostBase: memBase}).Nodes[0]
			m.submitBytes(0, pkt.Bytes(ring))
			end := m.clock + 300*after
			m.run(10000, func() bool { return m.clock >= end })
			m.writeReg(cpreg.Base+cpreg.Preempt, 1)
			m.run(20000, func() bool { return m.node(0, cpreg.Preempted) == 1 })
			done := m.node(0, cpreg.Progress)
			if m.node(0, cpreg.IBLeft) != uint32(len(p)) || done == 0 {
				continue // stopped before or after the packet
			}
			for i := 0; i < len(setup); i += 1 + pkt.SetStateBody {
				q := setup[i : i+1+pkt.SetStateBody]
				model.Do(q, model.Judge(q, refmodel.Site{}))
			}
			model.Part(model.Judge(p, refmodel.Site{Place: refmodel.InIndirect, Left: uint32(len(p) - 1)}), uint8(p[0]>>24), done)
			require.True(t, bytes.Equal(model.Mem.Host, m.mem), "%s, PROGRESS %d", name, done)
			stopped[name]++
			if done>>pkt.RowBits != 0 {
				stopped["inside a row"]++
			}
		}
	}
	assert.Len(t, stopped, 7, "%v", stopped)
}
