package testbench

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// A copier is a device with two buffers, and one that the CPU reads.
type copier struct {
	dev     *d3d11.Device
	ctx     *d3d11.Context
	source  *d3d11.Buffer
	target  *d3d11.Buffer
	staging *d3d11.Buffer
	data    []byte
}

func newCopier(t *testing.T, s *System, size int, v byte) *copier {
	dev, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	p := &copier{dev: dev, ctx: ctx, data: bytes.Repeat([]byte{v}, size)}
	desc := d3d11.BufferDesc{ByteWidth: uint32(size), Usage: d3d11.UsageDefault, BindFlags: d3d11.BindShaderResource}
	p.source, err = dev.CreateBuffer(desc, &d3d11.SubresourceData{SysMem: p.data})
	require.NoError(t, err)
	p.target, err = dev.CreateBuffer(desc, nil)
	require.NoError(t, err)
	p.staging, err = dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: uint32(size), Usage: d3d11.UsageStaging, CPUAccessFlags: d3d11.CPUAccessRead}, nil)
	require.NoError(t, err)
	return p
}

// copies copies n times and sends the work to the kernel.
func (p *copier) copies(n int) {
	for range n {
		p.ctx.CopyResource(p.target, p.source)
	}
	p.ctx.Flush()
}

// close releases the buffers that a device with work in the hardware holds, and the device.
func (p *copier) close() {
	p.source.Release()
	p.target.Release()
	p.dev.Close()
}

// Work of a device with a higher priority stops a node in the middle of a long buffer. Both
// devices have their results.
func TestPriorityOfDevices(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		queues      Queues
	}{
		{"registers", "emu?preemption=1&contexts=1&vram=4MiB", Queues{}},
		{"all options", "emu?config=full", Queues{}},
		{"firmware", "emu?config=full", Queues{Use: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ring := eventlog.NewRing(64<<20, eventlog.Header{})
			sys, err := Open(tt.board, HostDrivers(), Options{Queues: tt.queues, Sanitize: true, Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
			require.NoError(t, err)
			low, high := newCopier(t, sys, 1<<20, 3), newCopier(t, sys, 64, 5)
			require.NoError(t, low.dev.SetGPUThreadPriority(-7))
			require.NoError(t, high.dev.SetGPUThreadPriority(7))
			require.NoError(t, sys.WaitForIdle())
			low.copies(8)
			high.copies(1)
			for _, p := range []*copier{high, low} {
				assert.Equal(t, p.data, p.result(t))
				p.dev.Close()
			}
			assert.NotZero(t, sys.Stats().Preemptions)
			require.NoError(t, sys.Close())
			stopped := stoppedAndContinued(t, ring)
			assert.NotEmpty(t, stopped)
		})
	}
}

// result returns what the target of a device has.
func (p *copier) result(t *testing.T) []byte {
	p.ctx.CopyResource(p.staging, p.target)
	var m d3d11.MappedSubresource
	require.NoError(t, p.ctx.Map(p.staging, 0, d3d11.MapRead, 0, &m))
	defer p.ctx.Unmap(p.staging, 0)
	return bytes.Clone(m.Data)
}

// stoppedAndContinued returns the fences that a preemption has ended, from the log of a run
// in which nothing is missing.
func stoppedAndContinued(t *testing.T, ring *eventlog.Ring) (stopped []uint32) {
	r := runOf(t, ring)
	for node := range 2 {
		missed := 0 // fences of preemptions have no submission
		for id := uint32(1); missed < 3; id++ {
			a, err := r.Fence(node, id)
			if err != nil {
				missed++
				continue
			}
			missed = 0
			assert.Empty(t, a.Missing, "%v", a)
			if strings.Contains(a.Verdict, "it goes on as submission") {
				stopped = append(stopped, id)
			}
		}
	}
	return stopped
}

// A device of high priority that copies 64 bytes at a time waits 20,000 clocks at most, in 99
// of 100 copies, beside three devices that copy megabytes.
//
// docs/properties.md: S3.
func TestPriorityLatency(t *testing.T) {
	tooltest.Long(t)
	const copies, limit = 100, 20_000
	for _, tt := range []struct {
		name, board string
		queues      Queues
	}{
		{"registers", "emu?preemption=1&contexts=1&vram=16MiB&latency=1", Queues{}},
		{"all options", "emu?config=full&vram=16MiB&latency=1", Queues{}},
		{"firmware", "emu?config=full&vram=16MiB&latency=1", Queues{Use: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys, err := Open(tt.board, HostDrivers(), Options{NoVerify: true, Queues: tt.queues})
			require.NoError(t, err)
			waits := waitsOfPriority(t, sys, copies)
			at := len(waits) * 99 / 100
			t.Logf("median %d, 99th percentile %d, longest %d clocks, %d preemptions", waits[len(waits)/2], waits[at], waits[len(waits)-1], sys.Stats().Preemptions)
			assert.LessOrEqual(t, waits[at], uint64(limit))
			assert.GreaterOrEqual(t, sys.Stats().Preemptions, uint64(copies), "the node is busy when each begins")
			require.NoError(t, sys.Close())
		})
	}
}

// The devices that keep the node busy in TestPriorityLatency, their copies, and the bytes of each.
const (
	busyDevices = 3
	busyCopies  = 4
	busyBytes   = 1 << 20
)

// longestPause is the limit of the random time between two waits, in clocks: more than the GPU
// takes from the end of a wait until it is inside a copy of megabytes again.
const longestPause = 8000

// waitsOfPriority returns how many clocks each copy of a device of high priority waits, in order
// of their length. Three devices of priority 0 have enough work for all of them. They go on for a
// random time between two waits, so a wait begins anywhere in a copy.
func waitsOfPriority(t *testing.T, sys *System, copies int) (waits []uint64) {
	high := newCopier(t, sys, 64, 5)
	require.NoError(t, high.dev.SetGPUThreadPriority(7))
	var low []*copier
	for range busyDevices {
		low = append(low, newCopier(t, sys, busyBytes, 3))
	}
	for _, p := range append(low, high) {
		p.copies(1) // then everything is in VRAM
		p.result(t)
	}
	require.NoError(t, sys.WaitForIdle())
	for _, p := range low {
		p.copies(busyCopies)
	}
	rng := rand.New(rand.NewPCG(1, 20_000))
	for range copies {
		for end := sys.clock.Now() + rng.Uint64N(longestPause); sys.clock.Now() < end; {
			_, err := sys.clock.Wait(end)
			require.NoError(t, err)
		}
		began := sys.clock.Now()
		high.result(t)
		waits = append(waits, sys.clock.Now()-began)
	}
	slices.Sort(waits)
	for _, p := range append(low, high) {
		p.dev.Close()
	}
	return waits
}

// The priority of a device is -7 to 7.
func TestGPUThreadPriority(t *testing.T) {
	sys, err := Open("emu", HostDrivers(), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	dev, _, err := sys.CreateDevice()
	require.NoError(t, err)
	for _, p := range []int{-8, 8} {
		err := dev.SetGPUThreadPriority(p)
		assert.ErrorIs(t, err, ddi.EInvalidArg)
		assert.ErrorContains(t, err, "want -7 to 7")
		assert.Zero(t, dev.GetGPUThreadPriority())
	}
	for _, p := range []int{-7, 7} {
		require.NoError(t, dev.SetGPUThreadPriority(p))
		assert.Equal(t, p, dev.GetGPUThreadPriority())
	}
	dev.Stop(nil)
	assert.ErrorIs(t, dev.SetGPUThreadPriority(0), ddi.DXGIDeviceRemoved)
	assert.Equal(t, 7, dev.GetGPUThreadPriority())
	dev.Close()
	require.NoError(t, sys.Close())
}
