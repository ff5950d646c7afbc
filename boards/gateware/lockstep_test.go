package gateware

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	lockFlag   = flag.String("gateware.lock", "ice40-hx8k", "board of TestLockstep")
	simFlag    = flag.String("gateware.sim", string(lockstep.Verilator), "simulator of TestLockstep; netlist for what yosys makes for iCE40")
	clocksFlag = flag.Uint64("gateware.clocks", 100_000, "least number of clocks of TestLockstep")
)

// locked is a board in lockstep with its Verilog.
type locked struct {
	Top
	both *lockstep.Module
}

func (l locked) Tick(rx bool) { l.both.Tick(rx) }

// lockedEther is the same for a board on Ethernet.
type lockedEther struct {
	pins.EtherTop
	both *lockstep.Module
}

func (l lockedEther) Tick(rx mac.Byte, ready bool) { l.both.Tick(rx, ready) }

// lines returns the line in virtual time to a board in lockstep.
func lines(t *testing.T, b *Board, top any, both *lockstep.Module) *pins.Wire {
	t.Helper()
	o := pins.Options{Hz: b.Hz}
	var w *pins.Wire
	var err error
	if e, ok := top.(pins.EtherTop); ok {
		w, err = pins.NewEtherWire(pins.NewEther(pins.EtherClocked(lockedEther{e, both}), pins.EtherFaults{}), b.Address, o)
	} else {
		w, err = pins.New(pins.NewSerial(locked{top.(Top), both}, b.Hz, b.Rates, 0), o)
	}
	require.NoError(t, err)
	return w
}

// TestLockstep compares a complete board with its Verilog in every clock, while a host
// begins a session, enumerates the board, and uses VRAM.
func TestLockstep(t *testing.T) {
	tooltest.Long(t)
	sim := lockstep.Sim(*simFlag)
	tooltest.Need(t, lockstep.Tools(sim)...)
	b, err := Find(*lockFlag)
	require.NoError(t, err)
	top, err := b.Design(0)
	require.NoError(t, err)
	both, err := lockstep.NewModule("../..", top, lockstep.Options{Sim: sim, Hz: b.Hz}, b.Outputs...)
	require.NoError(t, err)
	w := lines(t, b, top, both)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	want, got := make([]byte, 256), make([]byte, 256)
	for i := 0; both.Clocks() < *clocksFlag; i++ {
		for j := range want {
			want[j] = byte(i + 3*j)
		}
		require.NoError(t, link.Write(2, uint64(64*(i%32)), want))
		require.NoError(t, link.Read(2, uint64(64*(i%32)), got))
		require.Equal(t, want, got)
		require.NoError(t, both.Err())
	}
	require.NoError(t, both.Close())
	t.Logf("%s, %s: %d clocks", b.Name, sim, both.Clocks())
}
