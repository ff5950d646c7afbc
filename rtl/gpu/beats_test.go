package gpu_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// bothOwned reports whether engines own beats at the initiator port and at VRAM at the same
// time.
func (m *machine) bothOwned() bool {
	words := make([]uint64, gpu.GPUWords)
	m.g.Snapshot(words)
	return words[signal(m.g, "gpu.initiator.owners_cur_Valid")] != 0 && words[signal(m.g, "gpu.vramWrite.owner_Valid")] != 0
}

// signal returns the index of a register in a snapshot.
func signal(g *gpu.GPU, name string) int {
	return slices.IndexFunc(g.Signals("gpu", nil), func(s hdl.Signal) bool { return s.Name == name })
}

// One node copies to VRAM while the other sends fences and their messages to host memory,
// and the port stalls. All beats share one path, and each arrives once, at its
// destination.
func TestBeatsShareOnePath(t *testing.T) {
	const copies, fences, size = 4, 60, 8000
	for seed := range uint64(8) {
		c := small()
		c.VRAMPorts = 1 + int(seed/4)
		m := boot(t, c, seed)
		host, vram := signal(m.g, "gpu.initiator.owners_cur_Valid"), signal(m.g, "gpu.vramWrite.owner_Valid")
		m.stall = 20 + 15*int(seed%4)
		copier := int(seed % 2)
		want := append([]byte(nil), m.mem[0x10003:0x10003+size]...)
		for i := range copies {
			m.submit(copier, pkt.Copy{Src: at(0x10003), Dst: uint64(0x105 + 0x2000*i), Bytes: size})
		}
		for id := range uint32(fences) {
			m.submit(1-copier, fence(1-copier, id+1))
		}
		m.submit(copier, fence(copier, 7))
		both, words := 0, make([]uint64, gpu.GPUWords)
		m.run(200000, func() bool {
			m.g.Snapshot(words)
			both += int(words[host] & words[vram])
			return m.fence(copier) == 7 && m.fence(1-copier) == fences
		})
		m.idle()
		require.Greater(t, both, 20, "seed %d: both owners were rarely set at once", seed)
		got := make([]byte, size)
		for i := range copies {
			m.g.PeekVRAM(uint64(0x105+0x2000*i), got)
			require.True(t, bytes.Equal(want, got), "seed %d, copy %d", seed, i)
		}
		var ids []uint64
		for _, e := range m.log {
			if e.addr == memBase+fenceAt+8*uint64(1-copier) {
				ids = append(ids, le.Uint64([]byte(e.data)))
			}
		}
		require.Len(t, ids, fences)
		require.True(t, slices.IsSorted(ids), "%v", ids)
		require.NotEmpty(t, m.msgs)
	}
}

// PCIe 3.0 §2.4.1: an incoming posted write does not wait for an outgoing one. The port
// holds back the beat of a fence, a fill of VRAM waits for it, and writes through the
// aperture complete.
func TestTargetWritesWhileBeatsAreHeld(t *testing.T) {
	for _, ports := range []int{1, 2} {
		c := small()
		c.VRAMPorts = ports
		m := boot(t, c, 3)
		m.holdBeats = true
		m.submit(1, fence(1, 5))
		m.run(2000, func() bool { _, beat := m.g.Initiator(); return beat.Valid })
		m.submit(0, pkt.Fill{Dst: 0x1000, Bytes: 4096, Value: 0x1111111111111111}, fence(0, 6))
		m.run(2000, m.bothOwned)
		m.ticks(100)
		begun := m.clock
		data := bytes.Repeat([]byte("target"), 100)
		m.writeBAR2(0x20003, data)
		require.Less(t, m.clock-begun, uint64(250))
		require.Equal(t, data, m.readBAR2(0x20003, len(data)))
		require.True(t, m.bothOwned(), "the engines continued")
		require.Zero(t, m.g.Stats().Moved)
		m.holdBeats = false
		m.run(20000, func() bool { return m.fence(0) == 6 && m.fence(1) == 5 })
		got := make([]byte, 4096)
		m.g.PeekVRAM(0x1000, got)
		require.Equal(t, bytes.Repeat([]byte{0x11}, 4096), got)
	}
}

// A message waits for the port, which has not accepted its header or its beat. A register
// read and a posted write after it complete anyway.
func TestAccessesDoNotWaitForAMessage(t *testing.T) {
	for _, holdBeats := range []bool{false, true} {
		m := boot(t, small(), 3)
		m.block, m.holdBeats = !holdBeats, holdBeats
		m.writeReg(idreg.Base+idreg.Scratch0, 5)
		m.writeReg(intcreg.Base+intcreg.Raise, intcreg.Done0)
		m.run(200, func() bool {
			r, b := m.g.Initiator()
			return !holdBeats && r.Kind == port.MemWrite || b.Valid
		})
		begun := m.clock
		require.Equal(t, uint32(5), m.readReg(idreg.Base+idreg.Scratch0))
		m.writeBAR2(0x100, []byte("abcdefgh"))
		require.Less(t, m.clock-begun, uint64(100))
	}
}
