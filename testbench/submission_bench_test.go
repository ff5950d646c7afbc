package testbench_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/hostdriver/umd"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// Rounds of BenchmarkSubmission, and the work of a round.
const (
	submissionRounds = 501
	submissionsRound = 256
	copiesBatch      = 64 // copies that fit into a command buffer
)

// A quick link passes every access to the emulator until quick is set. Then it answers the
// accesses of a submission to node 0 itself, in no clocks: a doorbell completes the last FENCE packet
// of the ring and sends its message.
type quickLink struct {
	bus.Link
	machine *hal.Machine
	quick   bool
	clock   bus.Clock
	now     uint64

	ring, mask    uint64 // address and size of the ring in bytes - 1
	fence, events uint32
	word          [4]byte
	message       [4]byte // vector 0
	doorbells     uint64
}

// Now returns the time of the emulator, or that at which the link began to answer and a clock for
// each doorbell since.
func (q *quickLink) Now() uint64 {
	if q.quick {
		return q.now + q.doorbells
	}
	return q.clock.Now()
}

func (q *quickLink) Hz() uint64 { return q.clock.Hz() }

func (q *quickLink) Wait(deadline uint64) (bool, error) {
	if q.quick {
		panic("a submission waits")
	}
	return q.clock.Wait(deadline)
}

// dword returns a register of node 0.
func (q *quickLink) dword(b testing.TB, off uint64) uint64 {
	p := make([]byte, 4)
	require.NoError(b, q.Link.Read(0, cpreg.Base+off, p))
	return uint64(binary.LittleEndian.Uint32(p))
}

// take begins to answer.
func (q *quickLink) take(b testing.TB) {
	q.ring = q.dword(b, cpreg.RingLo) | (q.dword(b, cpreg.RingHi)&^(pkt.Host>>32))<<32
	q.mask = 1<<q.dword(b, cpreg.RingSize) - 1
	q.fence, q.now = uint32(q.dword(b, cpreg.Fence)), q.clock.Now()
	q.quick = true
}

func (q *quickLink) Read(bar int, off uint64, p []byte) error {
	switch {
	case !q.quick:
		return q.Link.Read(bar, off, p)
	case bar == 0 && off == intcreg.Base+intcreg.Status:
		binary.LittleEndian.PutUint32(p, q.events)
		return nil
	case bar == 0 && off == cpreg.Base+cpreg.Fence:
		binary.LittleEndian.PutUint32(p, q.fence)
		return nil
	}
	panic(fmt.Sprintf("a submission reads %#x of BAR %d", off, bar))
}

func (q *quickLink) Write(bar int, off uint64, p []byte) error {
	switch {
	case !q.quick:
		return q.Link.Write(bar, off, p)
	case bar == 0 && off == intcreg.Base+intcreg.Status:
		q.events &^= binary.LittleEndian.Uint32(p)
		return nil
	case bar == 0 && off == cpreg.Base+cpreg.Wptr:
		return q.ringsBell(binary.LittleEndian.Uint32(p))
	}
	panic(fmt.Sprintf("a submission writes %#x of BAR %d", off, bar))
}

// fenceID is the dword of a FENCE packet that has its fence, see docs/packets.md.
const fenceID = 3

// ringsBell completes the FENCE packet before a value of WPTR.
func (q *quickLink) ringsBell(wptr uint32) error {
	q.doorbells++
	at := 4 * (uint64(wptr) - (1 + pkt.FenceBody) + fenceID)
	if err := q.machine.ReadMem(q.ring+at&q.mask, q.word[:]); err != nil {
		return err
	}
	q.fence = binary.LittleEndian.Uint32(q.word[:])
	q.events |= intcreg.Done0
	return q.machine.WriteMem(hal.MessageBase, q.message[:])
}

// submissionBench is an application on a kernel above a quick link, without checks.
type submissionBench struct {
	b        testing.TB
	link     *quickLink
	kernel   *dxgkrnl.Kernel
	ctx      *d3d11.Context
	dst, src *d3d11.Buffer
}

func newSubmissionBench(b testing.TB) *submissionBench {
	m := hal.New(64 << 20)
	link, clock, err := boards.OpenWith("emu", m, boards.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, link.Close()) })
	s := &submissionBench{b: b, link: &quickLink{Link: link, clock: clock, machine: m}}
	thread := new(ddi.Thread)
	device, err := m.Attach(thread, s.link, s.link)
	require.NoError(b, err)
	s.kernel, err = dxgkrnl.Start(thread, dxgkrnl.Config{Machine: m, Device: device, Driver: miniport.DriverEntry()})
	require.NoError(b, err)
	var dev *d3d11.Device
	dev, s.ctx, err = d3d11.CreateDevice(d3d11.Config{Driver: umd.OpenAdapter, Kernel: s.kernel.Thunks(), Process: 1})
	require.NoError(b, err)
	for _, to := range []**d3d11.Buffer{&s.dst, &s.src} {
		*to, err = dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, nil)
		require.NoError(b, err)
	}
	s.ctx.CopyResource(s.dst, s.src) // both become resident
	s.ctx.Flush()
	require.NoError(b, s.kernel.WaitForIdle(thread))
	s.link.take(b)
	return s
}

// recorded is the time of CopyResource, in ns.
func (s *submissionBench) recorded() float64 {
	var took time.Duration
	for range submissionsRound / copiesBatch {
		begun := time.Now()
		for range copiesBatch {
			s.ctx.CopyResource(s.dst, s.src)
		}
		took += time.Since(begun)
		s.ctx.Flush()
	}
	return float64(took.Nanoseconds()) / submissionsRound
}

// submitted is the time of Flush after one CopyResource, in ns.
func (s *submissionBench) submitted() float64 {
	begun := time.Now()
	for range submissionsRound {
		s.ctx.CopyResource(s.dst, s.src)
		s.ctx.Flush()
	}
	return float64(time.Since(begun).Nanoseconds()) / submissionsRound
}

// countedSubmissions is how many submissions allocations counts.
const countedSubmissions = 20 * submissionsRound

// allocations returns how many Go objects countedSubmissions submissions allocate in total, on
// all goroutines. It is like testing.AllocsPerRun, which rounds the average down. The submissions
// run on one processor. They run twice, and only the second time counts. A collection in between
// would make the runtime allocate, so there is none.
func (s *submissionBench) allocations() uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	for range 2 {
		runtime.ReadMemStats(&before)
		for range countedSubmissions {
			s.ctx.CopyResource(s.dst, s.src)
			s.ctx.Flush()
		}
		runtime.ReadMemStats(&after)
	}
	return after.Mallocs - before.Mallocs
}

// Submissions with all of their allocations resident allocate no Go object: not one in thousands.
func TestSubmissionAllocatesNothing(t *testing.T) {
	s := newSubmissionBench(t)
	require.Zero(t, s.allocations(), "objects in %d submissions", countedSubmissions)
}

// BenchmarkSubmission measures the host time of a submission of one packet whose allocations are
// resident: user-mode driver, runtime, kernel and miniport from the call of CopyResource to the end
// of Flush. It has the doorbell, its interrupt and its DPC, and no clock of the GPU. The unit is
// the time of CopyResource, which is recorded without a submission in turn with it.
func BenchmarkSubmission(b *testing.B) {
	s := newSubmissionBench(b)
	s.submitted()
	s.recorded()
	for b.Loop() {
		var ratios, submitted, recorded []float64
		before, bells := s.kernel.Stats(), s.link.doorbells
		for range submissionRounds {
			r, v := s.recorded(), s.submitted()
			recorded, submitted, ratios = append(recorded, r), append(submitted, v), append(ratios, v/r)
		}
		after := s.kernel.Stats()
		made := uint64(submissionRounds * (submissionsRound + submissionsRound/copiesBatch))
		require.Equal(b, []uint64{made, made, made, made, made}, []uint64{s.link.doorbells - bells, after.DMABuffers - before.DMABuffers,
			after.Fences - before.Fences, after.Interrupts - before.Interrupts, after.DPCs - before.DPCs}, "one doorbell, fence, interrupt and DPC each")
		for _, list := range [][]float64{ratios, submitted, recorded} {
			slices.Sort(list)
		}
		ratio, allocations := ratios[submissionRounds/2], s.allocations()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(submitted[submissionRounds/2], "ns/submission")
		b.ReportMetric(recorded[submissionRounds/2], "ns/CopyResource")
		bustest.Figure(b, "a submission of one packet", ratio, "x CopyResource", ratio <= 40, "at most 40")
		bustest.Figure(b, fmt.Sprintf("Go allocations of %d submissions", countedSubmissions), float64(allocations), "", allocations == 0, "0")
	}
}
