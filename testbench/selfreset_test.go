package testbench

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// A board that resets itself during the work, as after a brown-out, is a GPU that hangs: the system recovers without
// help, and no frame is wrong. One node may lose its ring, or the whole function its registers.
//
// docs/properties.md: T8.
func TestBoardResetsItself(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		queues      Queues
		off         uint64
		value       uint32
	}{
		{"function", "emu?vram=64KiB", Queues{}, idreg.Base + idreg.Reset, 1},
		{"node 0", "emu?vram=64KiB", Queues{}, cpreg.Base + cpreg.Ctl, cpreg.CtlReset},
		{"node 1", "emu?vram=64KiB", Queues{}, cpreg.Base + cpreg.Stride + cpreg.Ctl, cpreg.CtlReset},
		{"function with queues", "emu?config=full&vram=64KiB", Queues{Use: true}, idreg.Base + idreg.Reset, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(tt.board, HostDrivers(), Options{Queues: tt.queues, Record: eventstest.Record(t)})
			require.NoError(t, err)
			lost, resets := 0, 0
			for n := 1; n <= 5; n++ { // a sixth reset of the adapter within a minute would be a bugcheck
				plan := smallPlan(t, 1)
				at := 0
				plan.Think = func() {
					if at++; at == n {
						resets++
						assert.NoError(t, s.link.Write(0, tt.off, binary.LittleEndian.AppendUint32(nil, tt.value)))
					}
				}
				if _, err := compose.Run(s, plan); err != nil {
					lost++
				}
				composes(t, s, smallPlan(t, 2))
				require.NoError(t, s.Err())
				told := s.Stats().Lost
				composes(t, s, smallPlan(t, 3))
				assert.Equal(t, told, s.Stats().Lost, "interrupts arrive again")
			}
			assert.Equal(t, 5, resets)
			assert.NotZero(t, lost, "a reset in the middle of work is noticed")
			require.NoError(t, s.Close())
		})
	}
}

// An interrupt message that arrives twice has no effect but a call of the interrupt routine.
//
// docs/properties.md: T8.
func TestDoubledMessages(t *testing.T) {
	for _, board := range []string{"emu?vram=64KiB", "emu?config=small", "line?vram=64KiB"} {
		i := new(inject.Injector)
		s, err := Open(board, HostDrivers(), Options{Inject: i, Record: eventstest.Record(t)})
		require.NoError(t, err)
		composes(t, s, smallPlan(t, 1))
		once := s.Stats()
		i.DoubleMessages(true)
		composes(t, s, smallPlan(t, 1))
		twice := s.Stats()
		assert.Greater(t, twice.Interrupts, once.Interrupts, board)
		assert.Zero(t, twice.Lost, board)
		assert.Zero(t, twice.NodeResets+twice.Recoveries, board)
		require.NoError(t, s.Close())
	}
}
