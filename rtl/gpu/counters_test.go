package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// perf writes PERF.CTL.
func (m *machine) perf(v uint32) { m.writeReg(perfreg.Base+perfreg.Ctl, v) }

// counter reads a counter of the last snapshot.
func (m *machine) counter(off uint64) uint64 {
	low := m.readReg(perfreg.Base + off)
	return uint64(m.readReg(perfreg.Base+off+4))<<32 | uint64(low)
}

// nodeCounters reads the counters of a node in the order of the table: busy; stalled on
// read, on write and on the ring; bytes; packets.
func (m *machine) nodeCounters(n int) (c [6]uint64) {
	for i := range c {
		c[i] = m.counter(perfreg.Node + uint64(n)*perfreg.Stride + 8*uint64(i))
	}
	return c
}

// TestCounters counts work that stalls for one reason only, with a host that answers after
// 300 clocks or accepts nothing for a while.
func TestCounters(t *testing.T) {
	const latency, blocked = 300, 500
	type bounds [2]uint64
	none, any := bounds{}, bounds{0, 1 << 40}
	for _, tt := range []struct {
		name                        string
		ps                          []packet
		block                       uint64 // clocks without a ready, from the 400th clock
		read, write, ring           bounds
		bytes, packets, atLeastBusy uint64
	}{
		{"empty packets", []packet{pkt.NOP{}, pkt.NOP{}, pkt.NOP{}}, 0, none, none, bounds{latency - 10, latency + 20}, 0, 3, latency},
		{"a read of host memory", []packet{pkt.Copy{Src: at(0x10001), Dst: 0, Bytes: 100}}, 0, bounds{latency - 10, latency + 20}, none, any, 100, 1, 2 * latency},
		{"a copy in VRAM", []packet{pkt.Copy{Src: 0x8000, Dst: 0, Bytes: 8000}}, 0, bounds{0, 30}, bounds{0, 30}, bounds{latency - 10, latency + 20}, 8000, 1, latency + 1000},
		{"a fill of host memory", []packet{pkt.Fill{Dst: at(0x10000), Bytes: 8003}}, blocked, none, bounds{blocked - 10, blocked + 30}, any, 8003, 1, latency + 1000 + blocked},
		{"a fence to host memory", []packet{pkt.Fill{Dst: 0, Bytes: 1600}, pkt.Fence{Addr: at(fenceAt), ID: 1}}, blocked, none, bounds{blocked - 300, blocked + 10}, any, 1600, 2, latency + blocked},
		{"a predicate", []packet{pkt.Predicate{Addr: at(0x8000)}}, 0, bounds{latency - 10, latency + 20}, none, any, 0, 1, 2 * latency},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all [2][2][6]uint64
			for skip := range 2 {
				m := boot(t, small(), 1)
				m.latency, m.skip = latency, skip == 1
				m.perf(perfreg.CtlRun | perfreg.CtlClear)
				m.submit(1, tt.ps...)
				start := m.clock
				m.run(400, func() bool { return m.clock == start+400 })
				m.block = tt.block > 0
				m.ticks(tt.block)
				m.block = false
				m.idle()
				m.perf(perfreg.CtlSnapshot)
				cycles := m.counter(perfreg.Cycles)
				require.LessOrEqual(t, cycles, m.clock-start+20)
				require.Equal(t, [6]uint64{}, m.nodeCounters(0), "the other node")
				c := m.nodeCounters(1)
				for i, b := range []bounds{{tt.atLeastBusy, cycles}, tt.read, tt.write, tt.ring, {tt.bytes, tt.bytes}, {tt.packets, tt.packets}} {
					assert.True(t, c[i] >= b[0] && c[i] <= b[1], "counter %d is %d, want %d to %d", i, c[i], b[0], b[1])
				}
				assert.Zero(t, m.node(1, cpreg.FaultInfo))
				all[skip] = [2][6]uint64{{cycles}, c}
			}
			assert.Equal(t, all[0], all[1], "asleep")
		})
	}
}

// TestWatchdog blocks the host for longer than the limit. It expects one event, at the
// same clock with and without sleep, and none for work that is slow or for an idle node.
func TestWatchdog(t *testing.T) {
	for _, tt := range []struct {
		name    string
		latency uint64
		limit   uint32
		hangs   bool
	}{
		{"an answer in time", 900, 1000, false},
		{"no answer in time", 3000, 1000, true},
		{"off", 3000, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var clocks [2]uint64
			for skip := range 2 {
				m := boot(t, small(), 1)
				m.latency, m.skip = tt.latency, skip == 1
				m.writeReg(wdogreg.Base+wdogreg.Limit, tt.limit)
				m.onMsg = func(uint32) { clocks[skip] = m.clock }
				end := m.clock + 5000
				m.run(5000, func() bool { return m.clock == end })
				m.submit(1, pkt.NOP{}, pkt.Copy{Src: at(0x10000), Dst: 0, Bytes: 64})
				start := m.clock
				m.idle()
				var want []uint32
				if tt.hangs {
					// Two reads, of the ring and of the data.
					want = []uint32{0x51, 0x51}
					assert.InDelta(t, start+tt.latency+1000, clocks[skip], 40)
					assert.Equal(t, uint32(intcreg.Fault1), m.readReg(intcreg.Base+intcreg.Status))
					assert.Equal(t, uint32(wdogreg.Hang1), m.readReg(wdogreg.Base+wdogreg.Status))
				}
				assert.Equal(t, want, m.msgs)
				assert.Zero(t, m.node(1, cpreg.FaultInfo), "a watchdog event is not a fault")
				assert.Equal(t, m.mem[0x10000:][:64], m.readBAR2(0, 64), "the node is not stopped")
			}
			assert.Equal(t, clocks[0], clocks[1], "asleep")
		})
	}
}
