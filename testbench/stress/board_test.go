package stress

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// A fault that the board cannot recover from, or that hits nothing on it, is refused when the board is open.
func TestFaultsOfABoard(t *testing.T) {
	const (
		reads   = "stress: invalid options: the fault host-read on the board "
		preempt = "stress: invalid options: the fault ignore-preempt on the board "
	)
	for _, tt := range []struct {
		name, board string
		fault       Fault
		drivers     testbench.Drivers
		want        string // beginning of the error; "": there is none
	}{
		{"no time-out of reads", "emu?vram=64KiB&readtimeout=0", HostRead, testbench.HostDrivers(), reads + "emu?vram=64KiB&readtimeout=0, want a GPU with CAPS2.READTIMEOUT"},
		{"a small GPU and reads", "emu?config=small", HostRead, testbench.HostDrivers(), reads + "emu?config=small, want "},
		{"no time-out of reads on a line", "line?vram=64KiB&readtimeout=0", HostRead, testbench.HostDrivers(), reads},
		{"a small GPU with a time-out of reads", "emu?config=small&readtimeout=1", HostRead, testbench.HostDrivers(), ""},
		{"reads and drivers that claim nothing", "emu?vram=64KiB", HostRead, testbench.HostDrivers().WithoutNodeRecovery(), ""},
		{"a small GPU and PREEMPT", "emu?config=small", IgnorePreempt, testbench.HostDrivers(), preempt + "emu?config=small, want a GPU whose driver claims preemption"},
		{"preemption without contexts", "emu?vram=64KiB&contexts=0", IgnorePreempt, testbench.HostDrivers(), preempt},
		{"drivers that claim no preemption", "emu?vram=64KiB", IgnorePreempt, testbench.HostDrivers().WithoutNodeRecovery(), preempt},
		{"preemption", "emu?vram=64KiB", IgnorePreempt, testbench.HostDrivers(), ""},
		{"preemption without a time-out of reads", "emu?vram=64KiB&readtimeout=0", IgnorePreempt, testbench.HostDrivers(), ""},
		{"a small GPU and another fault", "emu?config=small", IgnoreReset, testbench.HostDrivers(), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t, tt.board)
			o.Processes, o.Frames, o.Drivers = 1, 1, tt.drivers
			fault(BadPacket, 0)(&o)
			fault(tt.fault, 0.5)(&o)
			b, err := open(o)
			if tt.want == "" {
				require.NoError(t, err)
				require.NoError(t, b.sys.Close())
				return
			}
			require.ErrorIs(t, err, ErrInput)
			assert.True(t, strings.HasPrefix(err.Error(), tt.want), err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// caps2 is the offset of ID.CAPS2 in BAR 0.
const caps2 = idreg.Base + idreg.Caps2

// The capabilities are those in BAR 0, wherever the driver maps it. Those that it does not read are not known.
func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bar   int
		off   uint64 // of the mapping
		reads uint32 // offset in the mapping
		known bool
	}{
		{"all of BAR 0", 0, 0, 0x20, false},
		{"CAPS2", 0, 0, caps2, true},
		{"CAPS2 in another mapping", 0, caps2 - 4, 4, true},
		{"another register at its offset", 0, 4, caps2, false},
		{"another BAR", 2, 0, caps2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			th, c := new(ddi.Thread), claims{}
			cb := &kmddi.DxgkrnlInterface{
				MapMemory: func(*ddi.Thread, kmddi.HDxgkrnl, int, uint64, uint64) (kmddi.HMapping, ddi.Status) {
					return kmddi.HMapping{System: 1}, ddi.StatusSuccess
				},
				ReadRegister: func(*ddi.Thread, kmddi.HDxgkrnl, kmddi.HMapping, uint32) (uint32, ddi.Status) {
					return 1, ddi.StatusSuccess
				},
			}
			seen := c.seen(th, cb)
			m, _ := seen.MapMemory(th, kmddi.HDxgkrnl{}, tt.bar, tt.off, 0x100)
			_, st := seen.ReadRegister(new(ddi.Thread), kmddi.HDxgkrnl{}, m, tt.reads)
			require.Equal(t, ddi.StatusSuccess, st)
			assert.False(t, c.known, "the read of another thread")
			seen.ReadRegister(th, kmddi.HDxgkrnl{}, m, tt.reads)
			assert.Equal(t, tt.known, c.known)
		})
	}
}

// A heldLog passes on what the miniport has logged after the start of the system, except what the error already says.
func TestHeldLog(t *testing.T) {
	lacks := "miniport: no firmware queues: the GPU lacks mcu"
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"no error", nil, []string{lacks, "miniport: a notice", "plain"}},
		{"the error has the text", errors.New("testbench: no firmware queues: the GPU lacks mcu; want mcu=1"), []string{"miniport: a notice", "plain"}},
		{"another error", errors.New("testbench: the device did not start"), []string{lacks, "miniport: a notice", "plain"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var told []string
			log, release := hold(func(text string) { told = append(told, text) })
			for _, text := range []string{lacks, "miniport: a notice", "plain"} {
				log(text)
			}
			assert.Empty(t, told)
			release(tt.err)
			assert.Equal(t, tt.want, told)
			log("later")
			assert.Equal(t, append(tt.want, "later"), told)
		})
	}
	log, release := hold(nil)
	assert.Nil(t, log)
	release(nil)
}

// A board without what the queues of the firmware need is one error, and no event tells the same.
func TestQueuesAreRefusedOnce(t *testing.T) {
	var told []string
	o := small(t, "emu?vram=64KiB")
	o.System.Queues.Use = true
	o.System.Log = func(text string) { told = append(told, text) }
	_, err := Run(o)
	require.ErrorIs(t, err, testbench.ErrQueues)
	assert.ErrorContains(t, err, "the GPU lacks mcu")
	assert.Empty(t, told)

	o.Board = "emu?config=full&mcumem=8KiB"
	_, err = Run(o)
	require.ErrorIs(t, err, testbench.ErrDevice)
	assert.NotEmpty(t, told, "the error does not have the reason")
}
