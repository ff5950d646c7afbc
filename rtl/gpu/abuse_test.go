package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// abuse writes a random register of node 0 in a way that no driver does.
func (m *machine) abuse() {
	base := uint64(cpreg.Base)
	switch m.rng.IntN(12) {
	case 0:
		m.writeReg(base+cpreg.RingLo, uint32((memBase+ringAt)&0xffffffff)+4*m.rng.Uint32N(3))
	case 1:
		m.writeReg(base+cpreg.RingLo, m.rng.Uint32())
	case 2:
		m.writeReg(base+cpreg.RingHi, []uint32{0, 1 << 31, 1<<31 | 1, m.rng.Uint32()}[m.rng.IntN(4)])
	case 3:
		m.writeReg(base+cpreg.RingSize, m.rng.Uint32N(32))
	case 4, 5:
		m.writeReg(base+cpreg.Ctl, 0)
	case 6, 7:
		m.writeReg(base+cpreg.Ctl, cpreg.CtlRun)
	case 8:
		m.writeReg(base+cpreg.FaultInfo, 0)
	case 9:
		m.writeReg(base+cpreg.Wptr, m.rng.Uint32()>>m.rng.IntN(32))
	case 10:
		m.writeReg(base+cpreg.Wptr, m.rng.Uint32N(1<<(ringLog2-2)))
	default:
		m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|m.rng.Uint32()&pcicfg.CommandBusMaster)
	}
}

// No write of a node's registers and no contents of memory stop the simulation or the
// other node, and a reset restores the node.
func TestAbusedRegisters(t *testing.T) {
	for seed := range uint64(60) {
		m := boot(t, small(), seed)
		m.latency = 1 + m.rng.Uint64N(60)
		for range 1 + m.rng.IntN(6) {
			b := []byte{}
			for len(b) < 1<<ringLog2 {
				b = append(b, encode(t, pkt.NOP{Skip: uint16(m.rng.IntN(40))})...)
				if m.rng.IntN(3) == 0 {
					b = append(b, encode(t, pkt.Copy{Src: at(0x10000), Dst: m.rng.Uint64N(1000), Bytes: m.rng.Uint32N(2000)})...)
				}
				if m.rng.IntN(3) == 0 {
					b = append(b, encode(t, pkt.Indirect{Addr: at(ringAt), Dwords: m.rng.Uint32N(300)})...)
				}
			}
			copy(m.mem[ringAt:], b[:1<<ringLog2])
			for range m.rng.IntN(30) {
				m.abuse()
				end := m.clock + m.rng.Uint64N(100)
				m.run(1000, func() bool { return m.clock >= end })
			}
			m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
			m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
			m.run(500000, func() bool { return m.node(0, cpreg.Ctl) == 0 })
			m.startNode(0)
			id := m.node(0, cpreg.Fence) + 1
			m.submit(0, fence(0, id))
			m.submit(1, fence(1, m.node(1, cpreg.Fence)+1))
			m.idle()
			require.Equal(t, uint64(id), m.fence(0), "seed %d", seed)
			require.Equal(t, id, m.node(0, cpreg.Fence), "seed %d", seed)
			require.Equal(t, m.fence(1), uint64(m.node(1, cpreg.Fence)), "seed %d", seed)
		}
	}
}
