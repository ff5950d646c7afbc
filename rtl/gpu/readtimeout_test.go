package gpu_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

const never = uint64(math.MaxUint64)

// A silentHost is a machine whose host never answers reads of some addresses.
type silentHost struct {
	*machine
	from, to uint64 // offsets in host memory; reads there are not answered
}

// silence boots a machine with the time-out of a range.
func silence(t *testing.T, timeout uint32) *silentHost {
	s := &silentHost{machine: boot(t, small(), 1)}
	s.bus.Took = func(r port.Request) {
		s.header(r)
		if off := r.Addr - memBase; off >= s.from && off < s.to {
			s.bus.Latency = never / 2
		}
	}
	s.writeReg(idreg.ReadTimeout, timeout)
	return s
}

// until runs until done, for at most limit clocks, asleep where the device is.
func (s *silentHost) until(limit uint64, done func() bool) {
	for end := s.clock + limit; !done(); {
		require.Less(s.t, s.clock, end, "time-out")
		if n := min(s.dev.IdleFor(), end-s.clock, s.bus.Quiet()); n > 0 && s.skip {
			s.bus.Dev = s.dev
			s.bus.Skip(n)
			s.clock = s.bus.Clocks
			continue
		}
		s.tick()
	}
}

// lost returns the reads that are not answered.
func (s *silentHost) lost() []*hostbfm.Read {
	var lost []*hostbfm.Read
	for _, r := range s.bus.Reads {
		if r.Due > never/2 {
			lost = append(lost, r)
		}
	}
	return lost
}

// answers makes the host answer everything.
func (s *silentHost) answers() {
	for _, r := range s.lost() {
		r.Due = s.clock
	}
	s.from, s.to = 0, 0
}

// fails runs until a node has faulted, and checks the fault.
func (s *silentHost) fails(n int, limit uint64, op uint8, bad uint64) {
	s.until(limit, func() bool { return s.node(n, cpreg.FaultInfo) != 0 })
	assert.Equal(s.t, uint32(cpreg.CauseReadError), s.node(n, cpreg.FaultInfo)&cpreg.FaultCause)
	if op != 0 {
		assert.Equal(s.t, uint32(op), s.node(n, cpreg.FaultOp)>>24)
	}
	assert.Equal(s.t, bad, uint64(s.node(n, cpreg.FaultBad))|uint64(s.node(n, cpreg.FaultBadH))<<32)
}

// resetNode resets a node, which must take at most limit clocks.
func (s *silentHost) resetNode(n int, limit uint64) {
	base := uint64(cpreg.Base + n*cpreg.Stride)
	s.bus.SetReg(base+cpreg.Ctl, cpreg.CtlReset)
	done := false
	s.until(limit, func() bool {
		if !s.bus.Busy() {
			s.bus.Reg(base+cpreg.Ctl, func(v uint32) { done = v&cpreg.CtlReset == 0 })
		}
		return done
	})
	s.startNode(n)
}

// Without an answer a read ends after 1 to 2 times the value of its range and up to 64
// clocks, asleep or not.
func TestReadTimeout(t *testing.T) {
	tooltest.Long(t)
	for r := uint32(1); r <= 7; r++ {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			var took [2]uint64
			for skip := range took {
				if r > 4 && skip == 0 {
					continue // too long to be ticked
				}
				s := silence(t, r)
				s.skip = skip == 1
				s.from, s.to = 0x8000, 0x9000
				s.ticks(uint64(r) * 37)
				s.submit(0, pkt.Copy{Src: at(0x8000), Dst: 0, Bytes: 64}, fence(0, 1))
				s.until(5000, func() bool { return len(s.lost()) == 1 })
				from := s.clock
				s.until(never/2, func() bool { return len(s.msgs) > 0 })
				took[skip] = s.clock - from
				value := uint64(1) << (4*r + 3)
				assert.GreaterOrEqual(t, took[skip], value)
				assert.LessOrEqual(t, took[skip], 2*value+64+60, "with the time of the message")
			}
			if r <= 4 {
				assert.Equal(t, took[0], took[1])
			}
		})
	}
}

// Each kind of read without an answer is a READ_ERROR of its packet, as if it had been
// answered with an error. A reset of the node then ends, and the node works again.
func TestReadsWithoutAnswer(t *testing.T) {
	nops := []packet{pkt.NOP{}, pkt.NOP{}, pkt.NOP{}, pkt.NOP{}}
	for _, tt := range []struct {
		name     string
		from, to uint64
		packets  []packet
		op       uint8
		bad      uint64
		part     uint64 // FAULT_BAD after the first beat; 0 if that is all
	}{
		{"the ring", ringAt, ringAt + 0x1000, nops, 0, at(ringAt), at(ringAt + 8)},
		{"an indirect buffer", 0x8000, 0x9000, []packet{pkt.Indirect{Addr: at(0x8000), Dwords: 4}}, 0, at(0x8000), at(0x8008)},
		{"a copy", 0x8000, 0x9000, []packet{pkt.Copy{Src: at(0x8000), Dst: 0, Bytes: 4000}}, pkt.OpCopy, at(0x8000), at(0x8000)},
		{"a predicate", 0x8000, 0x9000, []packet{pkt.Predicate{Addr: at(0x8000)}}, pkt.OpPredicate, at(0x8000), 0},
		{"a context", 0x8000, 0x9000, []packet{pkt.RestoreState{Addr: at(0x8000)}}, pkt.OpRestoreState, at(0x8000), at(0x8000)},
	} {
		for _, partly := range []bool{false, true} {
			bad := tt.bad
			if partly {
				bad = tt.part
			}
			if bad == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s, partly %t", tt.name, partly), func(t *testing.T) {
				s := silence(t, 2)
				copy(s.mem[0x8000:], encode(t, nops...))
				s.from, s.to = tt.from, tt.to
				s.submit(0, tt.packets...)
				if partly {
					s.until(5000, func() bool { return len(s.lost()) > 0 })
					r := s.lost()[0]
					r.Due = s.clock
					s.tick() // the first beat
					r.Due = never
				}
				s.fails(0, 3*4096, tt.op, bad)
				for range 2 {
					s.resetNode(0, 3*4096)
				}
				s.from, s.to = 0, 0
				s.submit(0, pkt.Copy{Src: at(0xa000), Dst: 0x40, Bytes: 4000}, fence(0, 7))
				s.until(20000, func() bool { return s.fence(0) == 7 })
				before := append([]byte(nil), s.mem...)
				for _, r := range s.bus.Reads {
					r.Due = s.clock
				}
				s.idle()
				assert.Equal(t, before, s.mem, "late answers")
				assert.Equal(t, s.mem[0xa000:][:4000], s.readBAR2(0x40, 4000))
				assert.Zero(t, s.node(0, cpreg.FaultInfo))
				assert.Zero(t, s.readConfig(pcicfg.DevCtl)&pcicfg.DevStaPending)
			})
		}
	}
}

// Node 0 reads memory that never answers, again and again. Node 1's work is complete and
// correct, its fences are signalled and its resets end. The host's late answers change
// nothing.
func TestLostAnswersOfOneNode(t *testing.T) {
	s := silence(t, 2)
	s.from, s.to = 0x40000, 0x50000
	for round := range uint32(4) {
		bytes := uint32(64)
		if round == 3 {
			bytes = 13 * 128 // with those retired all tags of the engine
		}
		s.submit(0, pkt.Copy{Src: at(0x40000), Dst: 0x20000, Bytes: bytes})
		for i := range uint32(4) {
			src, dst := 0x10000+0x1000*i, 0x4000*i
			s.submit(1, pkt.Copy{Src: at(uint64(src)), Dst: uint64(dst), Bytes: 3000 + round},
				pkt.Copy{Src: uint64(dst), Dst: at(0x60000 + uint64(dst)), Bytes: 3000 + round}, fence(1, 4*round+i+1))
		}
		s.until(40000, func() bool {
			return s.fence(1) == uint64(4*round+4) && s.node(0, cpreg.FaultInfo) != 0
		})
		for i := range 4 {
			require.Equal(t, s.mem[0x10000+0x1000*i:][:3000+round], s.mem[0x60000+0x4000*i:][:3000+round], "round %d", round)
		}
		require.Zero(t, s.node(1, cpreg.FaultInfo))
		s.resetNode(0, 1000)
		s.resetNode(1, 1000)
		require.Equal(t, 4*round+4, s.node(1, cpreg.Fence))
	}
	require.Len(t, s.lost(), 3+13)
	before := append([]byte(nil), s.mem...)
	s.answers()
	s.idle()
	assert.Equal(t, before, s.mem)
	assert.Zero(t, s.readConfig(pcicfg.DevCtl)&pcicfg.DevStaPending)
}

// With every tag retired a read waits for one for at most the value of the range, and
// then fails. With answers all work again.
func TestNoTagLeft(t *testing.T) {
	s := silence(t, 2)
	s.from, s.to = 0x40000, 0x50000
	for len(s.lost()) < 20 {
		s.msgs = nil
		s.submit(0, pkt.Copy{Src: at(0x40000), Dst: 0x20000, Bytes: 16000})
		s.fails(0, 3*4096, pkt.OpCopy, at(0x40000))
		s.resetNode(0, 3*4096)
	}
	require.Len(t, s.lost(), 20, "16 tags and 4 spare ones")
	s.msgs = nil
	from := s.clock
	s.submit(1, pkt.Copy{Src: at(0x10000), Dst: 0, Bytes: 64})
	s.fails(1, 3*4096, pkt.OpCopy, at(0x10000))
	assert.Less(t, s.clock-from, uint64(2048+300))
	require.Len(t, s.lost(), 20)
	s.resetNode(1, 1000)
	s.answers()
	s.idle()
	s.submit(1, pkt.Copy{Src: at(0x10000), Dst: 0, Bytes: 64}, fence(1, 1))
	s.until(5000, func() bool { return s.fence(1) == 1 })
	assert.Equal(t, s.mem[0x10000:][:64], s.readBAR2(0, 64))
}

// While a reset of the node waits for a read, the time-out ends the wait. With READ_TIMEOUT 0
// it does not end.
func TestNodeResetWithoutAnswer(t *testing.T) {
	for _, timeout := range []uint32{0, 2} {
		s := silence(t, timeout)
		s.from, s.to = 0x8000, 0x9000
		s.submit(0, pkt.Copy{Src: at(0x8000), Dst: 0, Bytes: 64})
		s.until(5000, func() bool { return len(s.lost()) == 1 })
		s.bus.SetReg(cpreg.Base+cpreg.Ctl, cpreg.CtlReset)
		s.ticks(3 * 2048)
		assert.Equal(t, timeout == 0, s.node(0, cpreg.Ctl)&cpreg.CtlReset != 0)
		assert.Zero(t, s.node(0, cpreg.FaultInfo), "no fault of a node in reset")
		assert.Equal(t, timeout == 0, s.node(1, cpreg.Ctl)&cpreg.CtlReset != 0 || s.blocked())
	}
}

// blocked reports whether node 1 cannot copy.
func (s *silentHost) blocked() bool {
	s.submit(1, pkt.Copy{Src: at(0x10000), Dst: 0x100, Bytes: 64}, fence(1, 1))
	s.ticks(3000)
	return s.fence(1) != 1
}

// A function-level reset, a whole-device reset and the end of bus mastering in the middle
// of the time leave no trace of the read.
func TestResetDuringReadTimeout(t *testing.T) {
	for name, reset := range map[string]func(s *silentHost){
		"function": func(s *silentHost) { s.functionReset(); s.configure() },
		"whole":    func(s *silentHost) { s.wholeReset(); s.configure() },
		"master": func(s *silentHost) {
			s.writeConfig(pcicfg.Command, pcicfg.CommandMemory)
			s.fails(0, 3*2048, pkt.OpCopy, at(0x8000))
			s.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
			s.resetNode(0, 2048)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for wait := uint64(0); wait < 2048; wait += 311 {
				s := silence(t, 2)
				s.writeReg(idreg.ReadTimeout, 2)
				s.from, s.to = 0x8000, 0x9000
				s.submit(0, pkt.Copy{Src: at(0x8000), Dst: 0, Bytes: 64})
				s.until(5000, func() bool { return len(s.lost()) == 1 })
				s.ticks(wait)
				reset(s)
				s.writeReg(idreg.ReadTimeout, 2)
				s.from, s.to = 0, 0
				s.ticks(3 * 2048)
				require.Len(t, s.bus.Reads, 1)
				s.submit(0, pkt.Copy{Src: at(0x10000), Dst: 0, Bytes: 4000}, fence(0, 5))
				s.until(20000, func() bool { return s.fence(0) == 5 })
				require.Equal(t, s.mem[0x10000:][:4000], s.readBAR2(0, 4000))
				require.Zero(t, s.node(0, cpreg.FaultInfo))
			}
		})
	}
}
