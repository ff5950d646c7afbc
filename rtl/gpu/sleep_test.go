package gpu_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A sleepChecker compares each sleep of a GPU with the same clocks awake, and with the same
// number of one-clock sleeps. At each clock all registers and port outputs must be equal,
// the ports must offer nothing, and IdleFor must not shrink early. At the end the complete
// state must be equal. The host's ready signals are random.
type sleepChecker struct {
	*gpu.GPU
	m     *machine
	words [2][]uint64

	sleeps, clocks uint64
}

func newSleepChecker(m *machine) *sleepChecker {
	s := &sleepChecker{GPU: m.g, m: m}
	s.words[0], s.words[1] = make([]uint64, gpu.GPUWords), make([]uint64, gpu.GPUWords)
	return s
}

// Skip runs n clocks without input.
func (s *sleepChecker) Skip(n uint64) {
	t, rng := s.m.t, s.m.rng
	awake, steps := s.GPU.Clone(), s.GPU.Clone()
	reqReady, dataReady := s.ready(awake)
	for i := range n {
		require.GreaterOrEqual(t, awake.IdleFor(), n-i, "clock %d of a sleep of %d at %d", i, n, s.m.clock)
		require.GreaterOrEqual(t, steps.IdleFor(), n-i, "clock %d of a sleep of %d at %d", i, n, s.m.clock)
		awake.Tick(port.Request{}, port.Beat{}, rng.IntN(2) == 0, port.Completion{}, rng.IntN(2) == 0, rng.IntN(2) == 0)
		steps.Skip(1)
		awake.Snapshot(s.words[0])
		awake.Restore(s.words[0]) // wakes its blocks
		steps.Snapshot(s.words[1])
		s.same(i, n)
		for _, g := range []*gpu.GPU{awake, steps} {
			r, d := s.ready(g)
			require.Equal(t, [2]bool{reqReady, dataReady}, [2]bool{r, d}, "clock %d of a sleep of %d at %d", i, n, s.m.clock)
		}
	}
	s.GPU.Skip(n)
	require.Equal(t, awake.Hash(), s.GPU.Hash(), "a sleep of %d at clock %d", n, s.m.clock)
	require.Equal(t, steps.Hash(), s.GPU.Hash(), "a sleep of %d at clock %d", n, s.m.clock)
	s.sleeps++
	s.clocks += n
}

// same compares the two snapshots.
func (s *sleepChecker) same(i, n uint64) {
	if slices.Equal(s.words[0], s.words[1]) {
		return
	}
	for k, signal := range s.Signals("gpu", nil) {
		require.Equal(s.m.t, s.words[0][k], s.words[1][k], "%s in clock %d of a sleep of %d at %d", signal.Name, i, n, s.m.clock)
	}
}

// ready returns the ready signals of the target port of a GPU that must offer nothing.
func (s *sleepChecker) ready(g *gpu.GPU) (reqReady, dataReady bool) {
	req, beat := g.Initiator()
	require.Zero(s.m.t, req.Kind)
	require.False(s.m.t, beat.Valid)
	cpl, reqReady, dataReady := g.Target()
	require.Zero(s.m.t, cpl.Status)
	return reqReady, dataReady
}

// Sleep is invisible in every kind of work.
func TestSleepIsInvisible(t *testing.T) {
	tooltest.Long(t)
	var sleeps, clocks uint64
	for seed := range uint64(8) {
		g := newRig(t, 200+seed, false)
		s := newSleepChecker(g.machine)
		g.dev, g.skip, g.latency = s, true, 1+g.rng.Uint64N(200)
		for range 24 {
			g.round()
		}
		sleeps, clocks = sleeps+s.sleeps, clocks+s.clocks
	}
	require.Greater(t, sleeps, uint64(500))
	require.Greater(t, clocks, 10*sleeps)
}

// After a node reset with no other work, the GPU sleeps only once the engine has seen the
// end of the reset.
func TestSleepAfterNodeReset(t *testing.T) {
	for at := range uint64(8) {
		m := boot(t, small(), at)
		s := newSleepChecker(m)
		m.dev, m.skip, m.latency = s, true, 300
		m.submit(0, pkt.Copy{Src: host | memBase, Dst: 0, Bytes: 64})
		start := m.clock
		m.run(2000, func() bool { return m.clock >= start+330+20*at })
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
		start = m.clock
		m.run(5000, func() bool { return m.clock >= start+3000 })
		require.Zero(t, m.node(0, cpreg.Ctl))
		require.Greater(t, s.clocks, uint64(1000))
	}
}

// The GPU sleeps through a reset that waits for the host, and after it.
func TestSleepInReset(t *testing.T) {
	for at := range uint64(8) {
		m := boot(t, small(), at)
		s := newSleepChecker(m)
		m.dev, m.skip, m.latency = s, true, 300
		m.submit(0, pkt.Copy{Src: host | memBase, Dst: 0, Bytes: 4000}, fence(0, 1))
		m.submit(1, pkt.Copy{Src: host | memBase, Dst: 0x10000, Bytes: 4000}, fence(1, 1))
		start := m.clock
		m.run(2000, func() bool { return m.clock >= start+310+50*at })
		m.writeReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
		start = m.clock
		m.run(5000, func() bool { return m.clock >= start+3000 })
		require.Zero(t, m.node(0, cpreg.Ctl))
		require.Greater(t, s.clocks, uint64(1000))
	}
}
