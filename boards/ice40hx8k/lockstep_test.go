package ice40hx8k

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var readsFlag = flag.Int("ice40hx8k.reads", 3, "reads of TestLockstep")

// locked is the board in lockstep with its Verilog.
type locked struct {
	*Module
	both *lockstep.Module
}

func (l locked) Tick(rx bool) { l.both.Tick(rx) }

// TestLockstep compares the complete board with its Verilog in every clock, while a host
// begins a session, enumerates it, and uses registers and VRAM.
func TestLockstep(t *testing.T) {
	tooltest.Need(t, lockstep.Tools(lockstep.Verilator)...)
	m, err := New(0)
	require.NoError(t, err)
	both, err := lockstep.NewModule("../..", m, lockstep.Options{Hz: Hz}, Outputs()...)
	require.NoError(t, err)
	s := pins.NewSerial(locked{m, both}, Hz, Baud, 0)
	w, err := pins.New(s, pins.Options{Hz: Hz, Clocks: s.ByteClocks()})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	want, got := make([]byte, 256), make([]byte, 256)
	for i := range *readsFlag {
		for j := range want {
			want[j] = byte(i + 3*j)
		}
		require.NoError(t, link.Write(2, uint64(64*i), want))
		require.NoError(t, link.Read(2, uint64(64*i), got))
		require.Equal(t, want, got)
		require.NoError(t, both.Err())
	}
	require.NoError(t, both.Close())
	t.Logf("%d clocks", both.Clocks())
}
