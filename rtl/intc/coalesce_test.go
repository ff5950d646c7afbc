package intc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// coalescing returns the controller of ready with both coalescing registers set.
func coalescing(count, time uint32) bench {
	m := ready()
	write(&m, intcreg.Base+intcreg.CoalesceCount, count)
	write(&m, intcreg.Base+intcreg.CoalesceTime, time)
	return m
}

// An act is the input of a clock: events, or a write of a register.
type act struct {
	ev   Events
	off  uint16
	data uint32
}

// starts returns the clock in which each message of a vector is first offered, to
// a host that takes messages at once.
func starts(t *testing.T, m *bench, acts map[int]act, clocks int) (got [2][]int) {
	var r receiver
	for clock := range clocks {
		a := acts[clock]
		var regs regbus.Req
		if a.off != 0 {
			regs = regbus.Req{Op: regbus.Write, Off: a.off, Data: a.data}
		}
		reqReady, beatReady := r.offer(t, clock, m)
		m.Tick(a.ev, true, false, reqReady, beatReady, false, regs, reset.Signals{})
	}
	for _, g := range r.got {
		got[g.vector(t)] = append(got[g.vector(t)], g.start)
	}
	return got
}

func TestCoalescing(t *testing.T) {
	done0, done1, both := act{ev: Events{Done0: true}}, act{ev: Events{Done1: true}}, act{ev: Events{Done0: true, Done1: true}}
	fault := act{ev: Events{Fault0: true}}
	set := func(off uint16, v uint32) act { return act{off: intcreg.Base + off, data: v} }
	control := func(v uint32) act { return act{off: msixreg.Base + msixreg.Control, data: v} }
	for _, tt := range []struct {
		name        string
		count, time uint32
		acts        map[int]act
		want        []int // clocks of the messages of vector 0
		faults      []int // of vector 1
	}{
		{"off", 3, 0, map[int]act{4: done0, 9: done0}, []int{5, 10}, nil},
		{"a count of 1 does not wait", 1, 50, map[int]act{4: done0, 9: done0}, []int{5, 10}, nil},
		{"the count is full", 3, 50, map[int]act{4: done0, 9: done1, 20: done0}, []int{21}, nil},
		{"two in a clock count as two", 3, 50, map[int]act{4: done0, 9: both}, []int{10}, nil},
		{"more than the count in a clock", 3, 50, map[int]act{4: both, 9: both, 15: done0}, []int{10, 66}, nil},
		{"each message counts from 0", 2, 50, map[int]act{4: done0, 5: done0, 6: done0, 7: done0}, []int{6, 8}, nil},
		{"a raised event counts", 2, 50, map[int]act{4: done0, 8: set(intcreg.Raise, intcreg.Done0)}, []int{9}, nil},
		{"the time has passed", 3, 50, map[int]act{4: done0, 30: done0}, []int{55}, nil},
		{"time only", 0, 20, map[int]act{4: done0, 5: both, 6: done0, 40: done0}, []int{25, 61}, nil},
		{"one clock", 0, 1, map[int]act{4: done0}, []int{6}, nil},
		{"the last event of the count arrives as the time ends", 2, 20, map[int]act{4: done0, 24: done0}, []int{25}, nil},
		{"an event after the end of the time", 2, 20, map[int]act{4: done0, 25: done0}, []int{25, 46}, nil},
		{"faults do not wait", 9, 60, map[int]act{4: done0, 6: fault}, []int{69}, []int{11}},
		{"an acknowledge withdraws nothing", 9, 20, map[int]act{4: done0, 10: set(intcreg.Status, intcreg.All)}, []int{25}, nil},
		{"an acknowledge as the count is full", 2, 50, map[int]act{4: done0, 10: {Events{Done0: true}, intcreg.Base + intcreg.Status, intcreg.All}}, []int{11}, nil},
		{"an acknowledge as the time ends", 2, 20, map[int]act{4: done0, 24: set(intcreg.Status, intcreg.All)}, []int{25}, nil},
		{"turned off while an event waits", 2, 50, map[int]act{4: done0, 10: set(intcreg.CoalesceTime, 0)}, []int{11}, nil},
		{"less time than has passed", 2, 50, map[int]act{4: done0, 20: set(intcreg.CoalesceTime, 10)}, []int{21}, nil},
		{"more time", 2, 20, map[int]act{4: done0, 20: set(intcreg.CoalesceTime, 40)}, []int{45}, nil},
		{"a smaller count", 9, 50, map[int]act{4: done0, 6: done0, 20: set(intcreg.CoalesceCount, 2)}, []int{21}, nil},
		{"masked events neither wait nor count", 2, 20, map[int]act{2: set(intcreg.Mask, intcreg.Done1), 4: done0, 30: done1}, []int{51}, nil},
		{"time runs from the mask on", 2, 20, map[int]act{2: set(intcreg.Mask, 0), 4: done0, 30: set(intcreg.Mask, intcreg.All)}, []int{51}, nil},
		{"time runs while the vector is masked", 2, 20, map[int]act{2: control(1), 4: done0, 40: control(0)}, []int{41}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := coalescing(tt.count, tt.time)
			assert.Equal(t, [2][]int{tt.want, tt.faults}, starts(t, &m, tt.acts, 120))
			assert.Zero(t, read(&m, msixreg.PendingBase))
		})
	}
}

// TestCoalescingLosesNothing tries two events and an acknowledge in every phase,
// with short counts and times and a slow host. After each event a message must
// start in time, and there must not be more messages than events.
//
// docs/properties.md: F14.
func TestCoalescingLosesNothing(t *testing.T) {
	tooltest.Long(t)
	const span, slowest = 8, 4
	for _, count := range []uint32{0, 2, 3} {
		for _, time := range []uint32{0, 1, 2, 5} {
			for phase := range span * span * span * 9 {
				e0, e1, ack := phase%span, phase/span%span, phase/span/span%span
				delay := phase / (span * span * span)
				m := coalescing(count, time)
				r := receiver{header: delay % 3, beat: delay / 3}
				for clock := range 40 {
					var regs regbus.Req
					if clock == ack {
						regs = regbus.Req{Op: regbus.Write, Off: intcreg.Base + intcreg.Status, Data: intcreg.All}
					}
					reqReady, beatReady := r.offer(t, clock, &m)
					ev := Events{Done0: clock == e0, Done1: clock == e1}
					m.Tick(ev, true, false, reqReady, beatReady, false, regs, reset.Signals{})
				}
				for _, at := range []int{e0, e1} {
					found := false
					for _, g := range r.got {
						found = found || g.start > at && g.start <= at+int(time)+1+slowest
					}
					require.True(t, found, "event at %d and %d, ack %d, count %d, time %d, delay %d", e0, e1, ack, count, time, delay)
				}
				require.LessOrEqual(t, len(r.got), 2)
			}
		}
	}
}

// While an event waits, the controller sleeps until the clock before its message
// starts. Skipping these clocks must equal ticking them.
func TestCoalescingSleeps(t *testing.T) {
	for n := range 20 {
		m := coalescing(2, 20)
		m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
		require.Equal(t, uint64(19), m.IdleFor())
		slept := m
		slept.Skip(uint64(n))
		for range n {
			m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
		}
		require.Equal(t, m, slept, "%d clocks", n)
		require.Equal(t, uint64(19-n), m.IdleFor())
	}
	m := coalescing(2, 20)
	write(&m, msixreg.Base+msixreg.Control, 1)
	m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	for range 20 {
		m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	}
	assert.Equal(t, ^uint64(0), m.IdleFor(), "held by the vector, nothing counts")
	was := m
	m.Skip(100)
	assert.Equal(t, was, m)
}

func TestWithoutCoalescing(t *testing.T) {
	m := start(false)
	for _, off := range []uint16{intcreg.CoalesceCount, intcreg.CoalesceTime} {
		read(&m, intcreg.Base+off)
		assert.Equal(t, regbus.Rsp{}, m.Rsp())
		write(&m, intcreg.Base+off, 5)
		assert.Equal(t, regbus.Rsp{}, m.Rsp())
	}
	assert.Equal(t, coalesce{}, m.wait)
}
