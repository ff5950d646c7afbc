package session_test

import (
	"image"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/session"
)

func TestSummary(t *testing.T) {
	frame := image.NewNRGBA(image.Rect(0, 0, 1, 1)) // four bytes of 0
	stats := testbench.Stats{Cycles: 3_000_000, Packets: 7, DMABuffers: 2, PagingBuffers: 1, Fences: 3, Interrupts: 4, Lost: 5, DPCs: 6, Late: 9, BytesMoved: 8}
	s := session.NewSummary(frame, stats, 2*time.Second)
	assert.Equal(t, "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119", s.FrameSHA256)
	assert.Equal(t, `gpu      3000000 cycles, 7 packets, 8 bytes moved
kernel   2 DMA buffers, 1 paging buffers, 3 fences, 4 interrupts, 6 DPCs
         5 interrupts were lost: the kernel found their fences by polling, after its time-out
         9 submissions made no progress: the kernel stopped their nodes after its time-out, and they went on
host     2000 ms, 1.50 million cycles/s
`, s.Text())
	s = session.NewSummary(frame, testbench.Stats{}, 0)
	assert.Equal(t, "kernel   0 DMA buffers, 0 paging buffers, 0 fences, 0 interrupts, 0 DPCs\nhost     0 ms\n", s.Text(), "a board without counts")
}

func TestOnBoard(t *testing.T) {
	plan, err := compose.SamplePlan(compose.Options{Width: 16, Height: 16, Contexts: 1})
	require.NoError(t, err)
	out, err := session.OnBoard("emu?config=small", testbench.HostDrivers(), testbench.Options{}, plan)
	require.NoError(t, err)
	_, n := compose.Diff(out.Frame, plan.Reference())
	assert.Zero(t, n)
	assert.NotZero(t, out.Stats.Fences)
	assert.Empty(t, out.Findings)
	_, err = session.OnBoard("vapour", testbench.HostDrivers(), testbench.Options{}, plan)
	assert.ErrorIs(t, err, boards.ErrSelector)
}

// A call that does not return ends the session with its violation.
func TestOnBoardOfAHang(t *testing.T) {
	plan, err := compose.SamplePlan(compose.Options{Width: 16, Height: 16, Contexts: 1})
	require.NoError(t, err)
	drivers := testbench.HostDrivers()
	open := drivers.UserMode
	drivers.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			var mu sync.Mutex
			arg.DeviceFuncs.Flush = func(*ddi.Thread, umddi.HDevice) {
				mu.Lock()
				mu.Lock() // a deadlock
			}
			return hr
		}
		return hr
	}
	out, err := session.OnBoard("emu?config=small", drivers, testbench.Options{CallLimit: 2 * time.Second}, plan)
	var broken *verifier.Violation
	require.ErrorAs(t, err, &broken)
	assert.Equal(t, "call-hang", broken.Rule.Name)
	assert.Equal(t, "pfnFlush", broken.Function)
	assert.Nil(t, out.Frame)
}
