package mem_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/mem"
)

// stream offers endless requests of n dwords on the chosen channels for the given
// number of clocks, and returns the beats that were moved. takes reports in which
// clocks a completion is taken.
func stream(m *mem.Module, n uint8, clocks int, reads, writes bool, takes func(clock int) bool) (read, written int) {
	beats := int(port.Beats(128, n))
	var e engines
	for clock := range clocks {
		var rd, wr port.Request
		var beat port.Beat
		if reads {
			rd = port.Request{Kind: port.MemRead, Len: n, Addr: 128}
		}
		if writes {
			wr = port.Request{Kind: port.MemWrite, Len: n, Addr: 2048}
			beat = port.Beat{Valid: true, Enable: 0xff, Last: written%beats == beats-1}
		}
		wr, beat, went := e.offer(m, wr, beat)
		taken := takes(clock)
		if m.Completion().Status == port.CplSuccess && taken {
			read++
		}
		tick(m, rd, taken, wr, beat)
		if went {
			written++
		}
	}
	return read, written
}

func always(int) bool { return true }

// A single port is as fast as two ports for one direction, and alternates for
// both.
func TestSinglePortThroughput(t *testing.T) {
	for _, n := range []uint8{1, 2, 3, 8, 31, 32} {
		m := mem.New(4096, 1)
		read, _ := stream(&m, n, 100, true, false, always)
		assert.Equal(t, 98, read, "%d dwords", n)
		m = mem.New(4096, 1)
		_, written := stream(&m, n, 100, false, true, always)
		assert.Equal(t, 99, written, "%d dwords, after the first header", n)
		m = mem.New(4096, 1)
		read, written = stream(&m, n, 100, true, true, always)
		assert.InDelta(t, 49, read, 1, "%d dwords", n)
		assert.InDelta(t, 50, written, 1, "%d dwords", n)
	}
}

// Stalled completions cost the writes at most every second clock. For any pattern
// of stalls, reads continue at its rate or in every second clock.
func TestSinglePortIsFair(t *testing.T) {
	for period := 1; period <= 5; period++ {
		for phase := range period {
			m := mem.New(4096, 1)
			takes := func(clock int) bool { return clock%period == phase }
			read, written := stream(&m, 32, 600, true, true, takes)
			assert.GreaterOrEqual(t, read, 600/max(2, period+period%2)-2, "every %d. clock, phase %d", period, phase)
			assert.GreaterOrEqual(t, written, 299, "every %d. clock, phase %d", period, phase)
		}
	}
	m := mem.New(4096, 1)
	_, written := stream(&m, 32, 100, true, true, func(int) bool { return false })
	assert.GreaterOrEqual(t, written, 49, "completions that are never taken")
}

// If a read and a beat are both waiting, the beat goes first, and the read goes
// next, even if there are more beats for its word.
func TestSinglePortOrder(t *testing.T) {
	for _, word := range []uint64{4, 5} {
		m := mem.New(1024, 1)
		m.SetWord(4, 1)
		write := port.Request{Kind: port.MemWrite, Len: 2, Addr: 8 * word}
		beat := func(v uint64) port.Beat { return port.Beat{Valid: true, Last: true, Enable: 0xff, Data: v} }
		tick(&m, port.Request{}, true, write, port.Beat{})
		tick(&m, port.Request{Kind: port.MemRead, Len: 2, Addr: 32}, true, write, beat(2))
		at, next := m.Writing()
		require.Equal(t, uint32(word), at)
		require.Equal(t, beat(2), next)
		tick(&m, port.Request{}, true, port.Request{}, beat(3))
		require.Equal(t, port.CplNone, m.Completion().Status, "the write was first")
		require.Equal(t, uint64(2), m.Word(uint32(word)))
		_, next = m.Writing()
		require.False(t, next.Valid, "the read is owed this clock")
		require.False(t, m.WriteReady())
		idle(&m)
		want := map[uint64]uint64{4: 2, 5: 1}[word]
		assert.Equal(t, want, m.Completion().Data, fmt.Sprintf("the beat for word %d", word))
		assert.Zero(t, m.IdleFor(), "a beat waits")
		idle(&m)
		assert.Equal(t, uint64(3), m.Word(uint32(word)))
	}
}

// A reset clears the clock that a single port owes.
func TestSinglePortReset(t *testing.T) {
	m := mem.New(1024, 1)
	write := port.Request{Kind: port.MemWrite, Len: 4}
	read := port.Request{Kind: port.MemRead, Len: 4}
	m.Tick(port.Request{}, true, write, write, port.Beat{}, false)
	tick(&m, read, true, port.Request{}, port.Beat{Valid: true})
	tick(&m, port.Request{}, true, port.Request{}, port.Beat{Valid: true, Last: true})
	m.Reset()
	fresh := mem.New(1024, 1)
	words, want := make([]uint64, mem.ModuleWords), make([]uint64, mem.ModuleWords)
	m.Snapshot(words)
	fresh.Snapshot(want)
	assert.Equal(t, want, words)
}
