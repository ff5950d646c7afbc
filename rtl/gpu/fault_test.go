package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// nowhere is a host address that is not answered.
const nowhere = host | 0x2_0000_0000

// A fault stops its node, raises vector 1, does not affect the other node, and is cleared
// by a reset of the node.
func TestFaults(t *testing.T) {
	raw := func(d ...uint32) []byte {
		var b []byte
		for _, v := range d {
			b = le.AppendUint32(b, v)
		}
		return b
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		cause uint32
	}{
		{"unknown opcode", raw(0x99000000), cpreg.CauseOpcode},
		{"reserved bit", raw(pkt.OpNOP<<24 | 1<<16), cpreg.CauseReserved},
		{"VRAM address out of range", encode(t, pkt.Fill{Dst: 1 << 18, Bytes: 1}), cpreg.CauseAddress},
		{"host address out of reach", encode(t, pkt.Fill{Dst: host | 1<<48, Bytes: 1}), cpreg.CauseAddress},
		{"copy from memory that does not answer", encode(t, pkt.Copy{Src: nowhere, Dst: 0, Bytes: 5000}), cpreg.CauseReadError},
		{"indirect buffer that does not answer", encode(t, pkt.Indirect{Addr: nowhere, Dwords: 100}), cpreg.CauseReadError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := boot(t, small(), 1)
			m.submit(0, fence(0, 1))
			m.idle()
			m.submitBytes(0, tt.bytes)
			m.submit(0, fence(0, 2))
			m.submit(1, pkt.Fill{Dst: at(0x20000), Bytes: 8, Value: 9}, fence(1, 3))
			m.idle()
			assert.Equal(t, tt.cause, m.node(0, cpreg.FaultInfo))
			assert.Equal(t, uint64(1), m.fence(0), "nothing runs after the fault")
			assert.Equal(t, uint64(3), m.fence(1), "the other node continues")
			assert.ElementsMatch(t, []uint32{0x50, 0x51, 0x50}, m.msgs)
			status := m.readReg(intcreg.Base + intcreg.Status)
			assert.Equal(t, uint32(intcreg.Done0|intcreg.Done1|intcreg.Fault0), status)

			m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
			m.idle()
			m.startNode(0)
			m.submit(0, fence(0, 4))
			m.idle()
			assert.Equal(t, uint64(4), m.fence(0))
		})
	}
}

// A copy whose source fails halfway leaves a prefix, and the engine continues with the
// other node's work.
func TestReadErrorLeavesPrefix(t *testing.T) {
	m := boot(t, small(), 2)
	m.shuffle = true
	end := uint64(memSize) // the last KiB exists, the next does not
	m.submit(0, pkt.Copy{Src: at(end - 1024), Dst: 0x100, Bytes: 4096}, fence(0, 1))
	m.submit(1, pkt.Copy{Src: at(0x30000), Dst: 0x8000, Bytes: 4096}, fence(1, 1))
	m.idle()
	assert.Equal(t, uint32(cpreg.CauseReadError), m.node(0, cpreg.FaultInfo))
	assert.Equal(t, m.mem[end-1024:], m.readBAR2(0x100, 1024))
	assert.Equal(t, make([]byte, 3072), m.readBAR2(0x100+1024, 3072))
	assert.Equal(t, uint64(1), m.fence(1))
	assert.Equal(t, m.mem[0x30000:0x31000], m.readBAR2(0x8000, 4096))
	assert.NotZero(t, m.readConfig(pcicfg.Command)&pcicfg.StatusReceivedUR)
}

// Configuration space shows that completions are outstanding.
func TestTransactionsPending(t *testing.T) {
	m := boot(t, small(), 1)
	pending := func() bool { return m.readConfig(pcicfg.DevCtl)&pcicfg.DevStaPending != 0 }
	assert.False(t, pending())
	m.latency = 500
	m.submit(0, fence(0, 1))
	assert.True(t, pending())
	m.idle()
	assert.False(t, pending())
}

// With bus mastering off the device sends nothing, and work that needs the host ends in a
// fault.
func TestBusMasterOff(t *testing.T) {
	ring := func(m *machine, ps ...packet) { // node 0's ring in VRAM
		b := encode(m.t, ps...)
		m.g.PokeVRAM(0x3000, b)
		m.writeReg(cpreg.Base+cpreg.Ctl, 0)
		m.writeReg(cpreg.Base+cpreg.RingLo, 0x3000)
		m.writeReg(cpreg.Base+cpreg.RingHi, 0)
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlRun)
		m.writeReg(cpreg.Base+cpreg.Wptr, uint32(len(b)/4))
	}
	for _, tt := range []struct {
		name  string
		work  []packet
		cause uint32
	}{
		{"copy from the host", []packet{pkt.Copy{Src: at(0), Dst: 0, Bytes: 3000}}, cpreg.CauseReadError},
		{"copy to the host", []packet{pkt.Copy{Src: 0, Dst: at(0), Bytes: 3000}}, cpreg.CauseWriteError},
		{"fill of the host", []packet{pkt.Fill{Dst: at(5), Bytes: 3000}}, cpreg.CauseWriteError},
		{"fence in the host", []packet{fence(0, 1)}, cpreg.CauseWriteError},
		{"inside VRAM", []packet{pkt.Copy{Src: 0, Dst: 0x5000, Bytes: 1000}, pkt.Fence{Addr: 0x7000, ID: 6}}, cpreg.CauseNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := boot(t, small(), 1)
			m.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
			before := len(m.log)
			ring(m, tt.work...)
			m.run(20000, func() bool {
				req, beat := m.dev.Initiator()
				require.Zero(t, req.Kind)
				require.False(t, beat.Valid)
				return m.dev.IdleFor() > 0
			})
			assert.Equal(t, tt.cause, m.node(0, cpreg.FaultInfo))
			assert.Len(t, m.log, before)
			if tt.cause == cpreg.CauseNone {
				assert.Equal(t, []byte{6, 0, 0, 0, 0, 0, 0, 0}, m.readBAR2(0x7000, 8))
				return
			}
			assert.Zero(t, m.node(0, cpreg.Fence))
			// The message waits until the device may send it.
			m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
			m.idle()
			assert.Equal(t, []uint32{0x51}, m.msgs)
		})
	}
}

// When bus mastering ends in the middle of a transfer, requests already offered are sent,
// and nothing after them.
func TestBusMasterEndsMidway(t *testing.T) {
	for seed := range uint64(10) {
		m := boot(t, small(), seed)
		m.stall = 50
		m.submit(0, pkt.Copy{Src: at(0x10000), Dst: at(0x20000), Bytes: 20000}, fence(0, 1))
		m.ticks(200 + 100*seed)
		m.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
		offered, _ := m.dev.Initiator()
		allowed := 0
		if offered.Kind != port.None {
			allowed = 1
		}
		start := m.headers
		m.idle()
		assert.Equal(t, start+allowed, m.headers)
		cause := m.node(0, cpreg.FaultInfo)
		assert.Contains(t, []uint32{cpreg.CauseReadError, cpreg.CauseWriteError}, cause, "seed %d", seed)
		assert.NotEqual(t, uint64(1), m.fence(0))
	}
}

// A node reset in the middle of work drains it and does not affect the other node.
func TestResetMidway(t *testing.T) {
	for seed := range uint64(12) {
		m := boot(t, gpu.Config{Nodes: 2, VRAMBytes: 1 << 18, VRAMPorts: 2, Caps: caps.Aperture, HostBits: 48, LengthBits: 32, Tags: 8, MaxPayload: 128, ClockHz: 1}, seed)
		m.stall, m.shuffle, m.latency = 20, true, 40
		m.submit(0, pkt.Copy{Src: at(0x10000), Dst: 0x100, Bytes: 9000}, pkt.Copy{Src: 0x100, Dst: at(0x20000), Bytes: 9000}, fence(0, 1))
		m.submit(1, pkt.Copy{Src: at(0x30001), Dst: 0x8003, Bytes: 9000}, fence(1, 1))
		m.ticks(100 * seed)
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
		m.idle()
		require.Zero(t, m.node(0, cpreg.Ctl), "seed %d", seed)
		require.Equal(t, uint64(1), m.fence(1))
		require.Equal(t, m.mem[0x30001:][:9000], m.readBAR2(0x8003, 9000))
		m.startNode(0)
		m.submit(0, pkt.Fill{Dst: at(0x20000), Bytes: 100, Value: 0x0505050505050505}, fence(0, 7))
		m.idle()
		require.Equal(t, uint64(7), m.fence(0), "seed %d", seed)
		require.Equal(t, byte(5), m.mem[0x20000+99])
	}
}

// A node reset abandons a long move between any memories. The other node's work before and
// after it is done.
func TestResetAbandonsMove(t *testing.T) {
	const n = 0x18000 // more than 12000 clocks
	for name, long := range map[string]packet{
		"VRAM to VRAM": pkt.Copy{Src: 0, Dst: n, Bytes: n},
		"VRAM to host": pkt.Copy{Src: 3, Dst: at(0x40000), Bytes: n},
		"host to VRAM": pkt.Copy{Src: at(0x40001), Dst: 0, Bytes: n},
		"fill":         pkt.Fill{Dst: at(0x40000), Bytes: n, Value: 1},
		"nowhere":      pkt.Copy{Src: nowhere, Dst: 0, Bytes: n},
	} {
		for seed := range uint64(8) {
			m := boot(t, small(), seed)
			m.shuffle, m.stall, m.skip = seed%2 == 0, int(seed%3)*10, seed%4 < 2
			other := []packet{pkt.Copy{Src: at(0x30001), Dst: 0x38003, Bytes: 700}, fence(1, 1)}
			m.submit(0, long, fence(0, 1))
			m.submit(1, other...)
			m.ticks(100 * seed)
			m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
			m.run(3000, func() bool { return m.node(0, cpreg.Ctl) == 0 })
			m.idle()
			require.Equal(t, uint64(1), m.fence(1), "%s, seed %d", name, seed)
			require.Equal(t, m.mem[0x30001:][:700], m.readBAR2(0x38003, 700), "%s, seed %d", name, seed)
			m.startNode(0)
			m.submit(0, pkt.Copy{Src: at(0x10000), Dst: 0x105, Bytes: 3000}, fence(0, 7))
			m.idle()
			require.Equal(t, uint64(7), m.fence(0), "%s, seed %d", name, seed)
			require.Equal(t, m.mem[0x10000:][:3000], m.readBAR2(0x105, 3000), "%s, seed %d", name, seed)
		}
	}
}

// A fundamental reset in the middle of work leaves the device as after power on, except
// VRAM.
func TestReset(t *testing.T) {
	for seed := range uint64(12) {
		m := boot(t, small(), seed)
		m.latency = 60
		m.writeBAR2(0x3ff00, []byte("kept"))
		for n := range 2 {
			m.submit(n, pkt.Copy{Src: at(0x10000), Dst: 0x8001, Bytes: 9000}, pkt.Copy{Src: 0x8001, Dst: at(0x20000), Bytes: 9000})
		}
		m.ticks(100 * seed)
		m.g.Reset()
		m.bus.Forget()
		m.settle()
		require.Positive(t, m.dev.IdleFor())
		require.Zero(t, m.readConfig(pcicfg.BAR0))
		m.configure()
		require.Equal(t, []byte("kept"), m.readBAR2(0x3ff00, 4))
		m.submit(0, pkt.Copy{Src: at(0x10000), Dst: 0x101, Bytes: 9000}, fence(0, 1))
		m.submit(1, fence(1, 1))
		m.idle()
		require.Equal(t, uint64(1), m.fence(0), "seed %d", seed)
		require.Equal(t, uint64(1), m.fence(1), "seed %d", seed)
		require.Equal(t, m.mem[0x10000:][:9000], m.readBAR2(0x101, 9000), "seed %d", seed)
	}
}

// A message that waits when bus mastering ends is sent when it is on again: each event in
// STATUS has its message.
func TestBusMasterLosesNoMessage(t *testing.T) {
	for after := range 200 {
		m := boot(t, small(), 1)
		m.submit(1, pkt.Copy{Src: 0x10000, Dst: at(0x20000), Bytes: 3000})
		m.submit(0, pkt.NOP{Skip: 60}, pkt.Fence{Addr: 0x100, ID: 1, IRQ: true})
		m.ticks(uint64(after))
		m.block = true
		m.ticks(200)
		m.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
		m.block = false
		m.idle()
		m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
		m.idle()
		status := m.readReg(intcreg.Base + intcreg.Status)
		done, fault := status&intcreg.DoneAll != 0, status&intcreg.FaultAll != 0
		require.Equal(t, done, slices.Contains(m.msgs, 0x50), "after %d clocks", after)
		require.Equal(t, fault, slices.Contains(m.msgs, 0x51), "after %d clocks", after)
	}
}
