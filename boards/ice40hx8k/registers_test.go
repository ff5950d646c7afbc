package ice40hx8k

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// bitClocks is the clocks of a bit in 1/16: 20.25 MHz at 1.5 Mbit/s.
const bitClocks = 216

// A watched is the board with a count of the levels that it receives.
type watched struct {
	*Module
	level  bool
	clocks int // since it began
	short  int // levels of less than half a bit
	apart  int // of those, the ones that ended at least 16 clocks after the one before: the others may be lost
	since  int // clocks since the last one
	long   int // low levels of two bytes
}

// bit returns the clocks of a bit at the present rate.
func (w *watched) bit() int { return int(periodOf(w.link.Rate())) / 16 }

func (w *watched) Tick(rx bool) {
	w.Module.Tick(rx)
	if rx != w.level {
		if w.clocks < w.bit()/2 {
			w.short++
			if w.since >= 16 {
				w.apart++
			}
			w.since = 0
		}
		w.level, w.clocks = rx, 0
	}
	w.clocks++
	w.since++
	if !rx && w.clocks == 20*w.bit() {
		w.long++
	}
}

// TestRegisters: a host reads the registers of the link at the pins, and finds there what the
// line did.
func TestRegisters(t *testing.T) {
	tooltest.Long(t)
	for name, f := range map[string]pins.Faults{
		"none": {}, "bit": {Bit: .002, Seed: 1}, "glitch": {Glitch: .01, Seed: 2}, "break": {Break: .001, Seed: 3},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(0)
			require.NoError(t, err)
			board := &watched{Module: m, level: true, clocks: bitClocks / 16}
			w, err := pins.New(pins.NewBatched(pins.Clocked(board), Hz, []int{115_200, 1_500_000}, 0, f), pins.Options{Hz: Hz})
			require.NoError(t, err)
			link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
			require.NoError(t, err)
			for range 80 {
				_, err := link.ReadConfig(pcicfg.ID)
				require.NoError(t, err)
			}
			want := *board
			st, err := linkstat.Read(link)
			require.NoError(t, err)
			assert.Equal(t, &linkstat.State{
				Up: true, Cause: "NONE", ClockHz: 20_250_000, Period: bitClocks, Baud: 1_500_000,
				Counters: st.Counters, UART: st.UART,
			}, st)
			u, n := st.UART, st.Counters
			between(t, want.apart, u.Glitches, board.short, "GLITCHES")
			between(t, want.long, u.Breaks, board.long, "BREAKS")
			assert.Equal(t, uint32(1), n.Sessions)
			assert.Zero(t, n.Packets)
			if f == (pins.Faults{}) {
				assert.Zero(t, u.Framing+u.Glitches+u.Breaks+n.Refused+n.Repeated+n.Naks)
				assert.Equal(t, 0, board.short+board.long)
			} else {
				assert.Positive(t, n.Refused)
				assert.Positive(t, n.Naks+n.Repeated)
			}
			switch name {
			case "bit":
				assert.Positive(t, u.Framing)
			case "glitch":
				assert.Greater(t, u.Glitches, uint32(10))
			case "break":
				assert.Positive(t, u.Breaks)
			}
		})
	}
}

// between checks a counter that was read while it could count.
func between(t *testing.T, from int, got uint32, to int, name string) {
	t.Helper()
	assert.GreaterOrEqual(t, int(got), from, name)
	assert.LessOrEqual(t, int(got), to, name)
}

// TestReset: a reset clears the registers, and the end of a session stays in them until then.
func TestReset(t *testing.T) {
	m, err := New(0)
	require.NoError(t, err)
	w, err := pins.New(pins.NewSerial(m, Hz, []int{115_200, 1_500_000}, 0), pins.Options{Hz: Hz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	read := func(sessions uint32, cause string) {
		st, err := linkstat.Read(link)
		require.NoError(t, err)
		assert.Equal(t, sessions, st.Counters.Sessions)
		assert.Equal(t, cause, st.Cause)
	}
	read(1, "NONE")
	require.NoError(t, link.Reopen())
	read(2, "CLOSED")
	m.Reset()
	require.NoError(t, link.Reopen())
	read(1, "NONE")
}
