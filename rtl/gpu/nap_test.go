package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A napChecker compares, at each clock, all registers of a GPU with those of a copy
// whose blocks are awake, and with what Update stores.
type napChecker struct {
	*gpu.GPU
	awake   *gpu.GPU
	m       *machine
	words   [2][]uint64
	updated []uint64
	left    int // parts that Update left out
}

func newNapChecker(m *machine) *napChecker {
	t := &napChecker{GPU: m.g, awake: m.g.Clone(), m: m}
	t.words[0], t.words[1] = make([]uint64, gpu.GPUWords), make([]uint64, gpu.GPUWords)
	t.updated = make([]uint64, gpu.GPUWords)
	return t
}

// Tick runs one rising clock edge.
func (d *napChecker) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	d.awake.Snapshot(d.words[1])
	d.awake.Restore(d.words[1])
	d.GPU.Snapshot(d.updated)
	d.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	d.awake.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	d.GPU.Snapshot(d.words[0])
	d.update()
	d.awake.Snapshot(d.words[1])
	if slices.Equal(d.words[0], d.words[1]) {
		return
	}
	for k, signal := range d.Signals("gpu", nil) {
		require.Equal(d.m.t, d.words[1][k], d.words[0][k], "%s at clock %d", signal.Name, d.m.clock)
	}
}

// update checks that Update of the words before a clock gives those after it, and reports
// each part with a difference.
func (d *napChecker) update() {
	was := slices.Clone(d.updated)
	stored := d.Update(d.updated)
	if !slices.Equal(d.updated, d.words[0]) {
		require.Equal(d.m.t, d.words[0], d.updated, "Update at clock %d", d.m.clock)
	}
	at := 0
	for i, n := range d.Parts() {
		if stored>>i&1 == 0 {
			d.left++
		}
		if stored>>i&1 == 0 && !slices.Equal(was[at:at+n], d.words[0][at:at+n]) {
			require.Fail(d.m.t, "a part has changed and is not reported", "part %d at clock %d", i, d.m.clock)
		}
		at += n
	}
}

// refused accesses an unmapped register or unanswered memory and clears the captured
// access.
func (m *machine) refused() {
	defer m.writeReg(idreg.Base+idreg.ErrInfo, 0)
	r := port.Request{Kind: port.MemRead, Len: 1, Addr: bar0 + cpreg.Base - 4}
	if m.rng.IntN(2) == 0 {
		r.Addr = bar0 - 4
	}
	if m.rng.IntN(2) == 0 {
		s, _ := m.send(r, nil)
		require.NotEqual(m.t, port.CplSuccess, s)
		return
	}
	r.Kind = port.MemWrite
	m.send(r, []port.Beat{{Valid: true, Last: true, Enable: 0xf0, Data: m.rng.Uint64()}})
}

// Naps are invisible for any host access to the registers of a working node, with and
// without an observer of its packets.
func TestNapsAreInvisible(t *testing.T) {
	tooltest.Long(t)
	for seed := range uint64(60) {
		c := small()
		if seed&1 == 0 {
			c.Caps &^= caps.Counters | caps.Watchdog
		}
		m := boot(t, c, seed)
		checker := newNapChecker(m)
		m.dev, m.latency = checker, 1+m.rng.Uint64N(300)
		for range 6 {
			ib := encode(t, pkt.Copy{Src: at(0x10000), Dst: m.rng.Uint64N(1000), Bytes: 1 + m.rng.Uint32N(9000)}, pkt.NOP{Skip: uint16(m.rng.IntN(9))})
			copy(m.mem[0x8000:], ib)
			whole := pkt.Indirect{Addr: at(0x8000), Dwords: uint32(len(ib) / 4)}
			m.submit(0, whole, pkt.Indirect{Addr: at(0x8000), Dwords: whole.Dwords - 2 + m.rng.Uint32N(3)}, pkt.NOP{})
			m.submit(1, pkt.Copy{Src: at(0x20000), Dst: 0x8000, Bytes: 1 + m.rng.Uint32N(5000)})
			for range 12 {
				switch m.rng.IntN(5) {
				case 0:
					m.writeReg(cpreg.Base+cpreg.Preempt, m.rng.Uint32())
				case 1:
					m.writeReg(cpreg.Base+cpreg.Ctl, m.rng.Uint32N(2))
				case 2:
					m.refused()
				default:
					m.abuse()
				}
				end := m.clock + m.rng.Uint64N(300)
				m.run(1000, func() bool { return m.clock >= end })
			}
			m.configure()
			m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
			m.run(500000, func() bool { return m.node(0, cpreg.Ctl) == 0 })
			m.startNode(0)
		}
		require.Equal(t, hdl.Asleep(true), checker.left > 1000, "parts that sleep")
	}
}

// A node whose indirect buffer ended while RUN is 0 leaves it at a preemption, and nothing
// has to wake it.
func TestPreemptAtTheEndOfABuffer(t *testing.T) {
	for _, watched := range []bool{false, true} {
		c := small()
		if !watched {
			c.Caps &^= caps.Counters | caps.Watchdog
		}
		m := boot(t, c, 1)
		m.latency = 300
		ib := encode(t, pkt.Copy{Src: at(0x10000), Dst: 0, Bytes: 64})
		copy(m.mem[0x8000:], ib)
		m.submit(0, pkt.Indirect{Addr: at(0x8000), Dwords: uint32(len(ib) / 4)})
		end := m.clock + 700
		m.run(5000, func() bool { return m.clock >= end })
		require.Len(t, m.bus.Reads, 1, "the read of the copy")
		m.writeReg(cpreg.Base+cpreg.Preempt, 7)
		m.writeReg(cpreg.Base+cpreg.Ctl, 0)
		end = m.clock + 5000
		m.run(10000, func() bool { return m.clock >= end })
		require.Len(t, m.msgs, 1, "the DONE event of the stop, watched %v", watched)
		require.Equal(t, uint32(7), m.node(0, cpreg.Preempted))
	}
}

// The fault of a node keeps its values when the host writes the registers that caused it.
func TestRingFaultKeepsItsOperand(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write [][2]uint64 // register, value
		bad   uint64
		addr  uint64
	}{
		{"WPTR", [][2]uint64{{cpreg.Ctl, 1}, {cpreg.Wptr, 0x12345}}, 0x12345, host | memBase + ringAt},
		{"RING_BASE", [][2]uint64{{cpreg.Ctl, 0}, {cpreg.RingLo, 0x12344}, {cpreg.RingHi, 0xf0000001}, {cpreg.Ctl, 1}}, 0xf0000001_00012344, 0xf0000001_00012344},
		{"RING_SIZE", [][2]uint64{{cpreg.Ctl, 0}, {cpreg.RingSize, 31}, {cpreg.Ctl, 1}}, 31, host | memBase + ringAt},
	} {
		m := boot(t, small(), 1)
		for _, w := range tt.write {
			m.writeReg(cpreg.Base+w[0], uint32(w[1]))
		}
		m.idle()
		for range 2 {
			require.Equal(t, uint32(cpreg.CauseRing), m.node(0, cpreg.FaultInfo), tt.name)
			require.Equal(t, tt.bad, uint64(m.node(0, cpreg.FaultBadH))<<32|uint64(m.node(0, cpreg.FaultBad)), tt.name)
			require.Equal(t, tt.addr, uint64(m.node(0, cpreg.FaultHi))<<32|uint64(m.node(0, cpreg.FaultLo)), tt.name)
			for _, off := range []uint64{cpreg.Wptr, cpreg.RingLo, cpreg.RingHi, cpreg.RingSize} {
				m.writeReg(cpreg.Base+off, 0x10)
			}
		}
	}
}

// A closed window keeps the base of its SET_WINDOW, which is not checked.
func TestClosedWindowKeepsItsBase(t *testing.T) {
	m := boot(t, small(), 1)
	m.submit(0, pkt.SetWindow{Index: 1, Base: 0x7fff_ffff_ffff_fff0}, pkt.SaveState{Addr: at(0x9000)})
	m.idle()
	require.Zero(t, m.node(0, cpreg.FaultInfo))
	require.Equal(t, uint64(0x7fff_ffff_ffff_fff0), le.Uint64(m.mem[0x9000+8*8:]))
	require.Zero(t, le.Uint64(m.mem[0x9000+9*8:]), "its size")
}
