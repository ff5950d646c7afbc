package testbench

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/privdata"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// The size of the surfaces, in elements of 4 bytes. There are 4 bytes more in a row.
const canvasW, canvasH, canvasPitch = 40, 30, 164

// A canvas is a device without a user-mode driver, with surfaces.
type canvas struct {
	t        testing.TB
	sys      *System
	dev      ddi.KMHandle
	ctx      umddi.CreateContext
	surfaces []ddi.KMHandle
	readable ddi.KMHandle               // a surface in host memory
	want     [][canvasH][canvasW]uint32 // by surface
}

func newCanvas(t testing.TB, sys *System, n int) *canvas {
	c := &canvas{t: t, sys: sys, want: make([][canvasH][canvasW]uint32, n)}
	var s ddi.Status
	c.dev, s = sys.Thunks().CreateDevice(sys.thread)
	c.ok(s)
	c.ok(sys.Thunks().CreateContext(sys.thread, c.dev, &c.ctx))
	for range n {
		c.surfaces = append(c.surfaces, c.surface(privdata.Local))
	}
	c.readable = c.surface(privdata.System)
	return c
}

func (c *canvas) ok(s ddi.Status) { require.Equal(c.t, ddi.StatusSuccess, s) }

func (c *canvas) surface(place privdata.Place) ddi.KMHandle {
	return c.allocate(privdata.Allocation{
		Place: place, Bytes: canvasPitch * canvasH, Width: canvasW, Height: canvasH, Pitch: canvasPitch, Format: pkt.Format32,
	})
}

func (c *canvas) allocate(a privdata.Allocation) ddi.KMHandle {
	arg := &umddi.Allocate{AllocationInfo: []umddi.AllocationInfo{{PrivateDriverData: a.Append(nil)}}}
	c.ok(c.sys.Thunks().CreateAllocation(c.sys.thread, c.dev, arg))
	return arg.AllocationInfo[0].Allocation
}

// rect returns a random rectangle of a size.
func rect(r *rand.Rand, w, h int32) kmddi.Rect {
	x, y := r.Int32N(canvasW-w+1), r.Int32N(canvasH-h+1)
	return kmddi.Rect{Left: x, Top: y, Right: x + w, Bottom: y + h}
}

// each calls do for the elements of a rectangle.
func each(r kmddi.Rect, do func(x, y int32)) {
	for y := r.Top; y < r.Bottom; y++ {
		for x := r.Left; x < r.Right; x++ {
			do(x, y)
		}
	}
}

// fill fills parts of a surface by the kernel.
func (c *canvas) fill(r *rand.Rand) {
	i, v := r.IntN(len(c.want)), r.Uint32()
	to := rect(r, 1+r.Int32N(canvasW), 1+r.Int32N(canvasH))
	parts := []kmddi.Rect{to}
	if to.Right-to.Left > 2 {
		parts = []kmddi.Rect{{Left: to.Left, Top: to.Top, Right: to.Left + 1, Bottom: to.Bottom}, {Left: to.Right - 1, Top: to.Top, Right: to.Right, Bottom: to.Top + 1}}
	}
	require.NoError(c.t, c.sys.FillRectangle(c.surfaces[i], to, v, parts...))
	for _, p := range parts {
		each(p, func(x, y int32) { c.want[i][y][x] = v })
	}
}

// copy copies a rectangle by the kernel, between surfaces or inside of one.
func (c *canvas) copy(r *rand.Rand) {
	src, dst := r.IntN(len(c.want)), r.IntN(len(c.want))
	w, h := 1+r.Int32N(canvasW), 1+r.Int32N(canvasH)
	from, to := rect(r, w, h), rect(r, w, h)
	require.NoError(c.t, c.sys.CopyRectangle(c.surfaces[dst], to, c.surfaces[src], from))
	before := c.want[src]
	each(to, func(x, y int32) { c.want[dst][y][x] = before[y-to.Top+from.Top][x-to.Left+from.Left] })
}

// render fills a row of a surface, as an application does.
func (c *canvas) render(r *rand.Rand) {
	i, y, v := r.IntN(len(c.want)), r.IntN(canvasH), r.Uint32()
	c.submit(c.surfaces[i], uint32(y*canvasPitch), 4*canvasW, v)
	for x := range canvasW {
		c.want[i][y][x] = v
	}
}

// submit fills bytes of an allocation by a command buffer.
func (c *canvas) submit(a ddi.KMHandle, off, bytes, v uint32) {
	for n, w := range []uint32{0x06000005, 0, 0, bytes, v, v} {
		binary.LittleEndian.PutUint32(c.ctx.CommandBuffer[4*n:], w)
	}
	c.ctx.AllocationList[0] = umddi.AllocationList{Allocation: a, WriteOperation: true}
	c.ctx.PatchLocationList[0] = umddi.PatchLocation{PatchOffset: 4, AllocationOffset: off}
	arg := &umddi.Render{Context: c.ctx.Context, CommandLength: 24, NumAllocations: 1, NumPatchLocations: 1}
	c.ok(c.sys.Thunks().Render(c.sys.thread, c.dev, arg))
	c.ctx.CommandBuffer, c.ctx.AllocationList, c.ctx.PatchLocationList = arg.NewCommandBuffer, arg.NewAllocationList, arg.NewPatchLocationList
}

// read returns the pixels of a surface, which the kernel copies to host memory.
func (c *canvas) read(i int) (got [canvasH][canvasW]uint32) {
	all := kmddi.Rect{Right: canvasW, Bottom: canvasH}
	require.NoError(c.t, c.sys.CopyRectangle(c.readable, all, c.surfaces[i], all))
	lock := &umddi.Lock{Allocation: c.readable, ReadOnly: true}
	c.ok(c.sys.Thunks().Lock(c.sys.thread, c.dev, lock))
	each(all, func(x, y int32) { got[y][x] = binary.LittleEndian.Uint32(lock.Data[canvasPitch*y+4*x:]) })
	c.ok(c.sys.Thunks().Unlock(c.sys.thread, c.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{c.readable}}))
	return got
}

// The kernel and an application draw in turn to surfaces that VRAM does not hold together. The pixels are
// those of a model that does one after the other, and the sanitizer finds nothing.
//
// docs/properties.md: S11.
func TestKernelDraws(t *testing.T) {
	for _, tt := range []struct {
		name, board string
		queues      Queues
	}{
		{"emu", "emu?vram=16KiB", Queues{}},
		{"small", "emu?config=small&vram=16KiB", Queues{}},
		{"an aperture", "emu?vram=64KiB&gart=1", Queues{}},
		{"queues of the firmware", "emu?config=full&vram=64KiB", Queues{Use: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys, err := Open(tt.board, HostDrivers(), Options{Queues: tt.queues, Sanitize: true, Record: eventstest.Record(t)})
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 0))
			list := []*canvas{newCanvas(t, sys, 3), newCanvas(t, sys, 3)}
			for step := range 150 {
				c := list[r.IntN(2)]
				switch r.IntN(8) {
				case 0, 1:
					c.fill(r)
				case 2, 3:
					c.copy(r)
				case 4, 5, 6:
					c.render(r)
				default:
					i := r.IntN(3)
					require.Equal(t, c.want[i], c.read(i), "step %d", step)
				}
			}
			for _, c := range list {
				for i := range c.want {
					require.Equal(t, c.want[i], c.read(i), "surface %d", i)
				}
				c.ok(sys.Thunks().DestroyDevice(sys.thread, c.dev))
			}
			assert.Empty(t, sys.Findings())
			require.NoError(t, sys.Close())
		})
	}
}

// A command of many rectangles takes several DMA buffers.
func TestKernelDrawsInSeveralBuffers(t *testing.T) {
	sys, err := Open("emu?vram=64KiB", HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
	require.NoError(t, err)
	c := newCanvas(t, sys, 1)
	var parts []kmddi.Rect
	for n := range int32(5000) { // 20 bytes each, and a DMA buffer has 64 KiB
		x, y := n%canvasW, n/canvasW%canvasH
		parts = append(parts, kmddi.Rect{Left: x, Top: y, Right: x + 1, Bottom: y + 1})
	}
	before := sys.kernel.Stats().DMABuffers
	require.NoError(t, sys.FillRectangle(c.surfaces[0], kmddi.Rect{Right: canvasW, Bottom: canvasH}, 0xabcd, parts...))
	require.NoError(t, sys.WaitForIdle())
	assert.EqualValues(t, 2, sys.kernel.Stats().DMABuffers-before)
	each(kmddi.Rect{Right: canvasW, Bottom: canvasH}, func(x, y int32) { c.want[0][y][x] = 0xabcd })
	assert.Equal(t, c.want[0], c.read(0))
	require.NoError(t, sys.Close())
}

// The miniport refuses what is not in the surface, and the kernel says so.
func TestKernelDrawingsAreRefused(t *testing.T) {
	sys, err := Open("emu?vram=64KiB", HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
	require.NoError(t, err)
	c := newCanvas(t, sys, 2)
	buffer := c.allocate(privdata.Allocation{Place: privdata.Local, Bytes: 4096})
	all := kmddi.Rect{Right: canvasW, Bottom: canvasH}
	wide := kmddi.Rect{Right: canvasW + 1, Bottom: canvasH}
	for name, err := range map[string]error{
		"a wide fill":        sys.FillRectangle(c.surfaces[0], wide, 1),
		"a wide copy":        sys.CopyRectangle(c.surfaces[0], wide, c.surfaces[1], wide),
		"a stretch":          sys.CopyRectangle(c.surfaces[0], all, c.surfaces[1], wide),
		"no surface":         sys.FillRectangle(buffer, kmddi.Rect{Right: 1, Bottom: 1}, 1),
		"a copy of that":     sys.CopyRectangle(c.surfaces[0], all, buffer, all),
		"a part outside":     sys.FillRectangle(c.surfaces[0], kmddi.Rect{Right: 4, Bottom: 4}, 1, all),
		"a part upside down": sys.FillRectangle(c.surfaces[0], all, 1, kmddi.Rect{Top: 2, Right: 1, Bottom: 1}),
	} {
		assert.ErrorIs(t, err, ddi.StatusInvalidParameter, name)
	}
	assert.ErrorIs(t, sys.FillRectangle(c.ctx.Context, all, 1), ddi.StatusInvalidHandle)
	assert.Equal(t, c.want[0], c.read(0))
	require.NoError(t, sys.Close())
}

// A drawing that faults, or takes longer than TdrDelay, costs no application its device. The next
// call tells of it, and the one after it draws.
//
// docs/properties.md: S11.
func TestKernelDrawingHangs(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		queues      Queues
		kind        dxgkrnl.Kind
	}{
		{"fault", "emu?vram=64KiB", Queues{}, dxgkrnl.Fault},
		{"fault in a queue of the firmware", "emu?config=full&vram=64KiB", Queues{Use: true}, dxgkrnl.Fault},
		{"long work", "emu?vram=8MiB", Queues{}, dxgkrnl.Timeout},
		{"long work in a queue of the firmware", "emu?config=full&vram=8MiB", Queues{Use: true}, dxgkrnl.Timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &spoiler{spoil: unknownPacket}
			o := Options{Queues: tt.queues, Sanitize: true, Record: eventstest.Record(t)}
			if tt.kind == dxgkrnl.Timeout {
				o.TdrDelay = 200_000
			}
			sys, err := Open(tt.board, s.drivers(), o)
			require.NoError(t, err)
			s.system = sys
			other, c := newCopier(t, sys, 1000, 3), newCanvas(t, sys, 2)
			c.fill(rand.New(rand.NewPCG(1, 0))) // makes the context of the kernel, which is the last
			require.NoError(t, sys.WaitForIdle())
			other.copies(1)
			if tt.kind == dxgkrnl.Timeout {
				big := c.allocate(privdata.Allocation{Place: privdata.Local, Bytes: 512 << 10, Width: 512, Height: 256, Pitch: 2048, Format: pkt.Format32})
				all := kmddi.Rect{Right: 512, Bottom: 256}
				require.NoError(t, sys.FillRectangle(big, all, 1, slices.Repeat([]kmddi.Rect{all}, 60)...))
			} else {
				s.armed = true
				require.NoError(t, sys.FillRectangle(c.surfaces[1], kmddi.Rect{Right: 1, Bottom: 1}, 1))
			}
			other.copies(3)
			require.Equal(t, other.data, other.result(t))
			require.NoError(t, sys.WaitForIdle())
			require.NoError(t, other.dev.GetDeviceRemovedReason())
			require.NoError(t, sys.kernel.Lost(c.dev))
			var e *dxgkrnl.DeviceError
			require.ErrorAs(t, sys.kernel.Lost(0), &e)
			assert.Equal(t, tt.kind, e.Kind)
			assert.EqualValues(t, 1, sys.kernel.Stats().NodeResets)
			assert.Zero(t, sys.kernel.Stats().Recoveries)
			assert.ErrorIs(t, sys.FillRectangle(c.surfaces[0], kmddi.Rect{Right: 1, Bottom: 1}, 1), ddi.StatusDeviceRemoved)
			for range 9 {
				c.fill(rand.New(rand.NewPCG(2, 0)))
			}
			assert.Equal(t, c.want[0], c.read(0))
			for _, f := range sys.Findings() {
				assert.Contains(t, []string{"gpu-fault", "gpu-time-out", "preempt-time-out"}, f.Rule, "%v", f)
			}
			other.dev.Close()
			require.NoError(t, sys.Close())
		})
	}
}

// A drawing stops long work of an application, which goes on with its result.
//
// docs/properties.md: S11.
func TestKernelDrawingPreempts(t *testing.T) {
	for _, config := range []string{"", "&nodes=1"} {
		sys, err := Open("emu?vram=2MiB"+config, HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
		require.NoError(t, err)
		c := newCanvas(t, sys, 1)
		long := privdata.Allocation{Place: privdata.Local, Bytes: 512 << 10, Width: 512, Height: 256, Pitch: 2048, Format: pkt.Format32}
		a := c.allocate(long)
		long.Place = privdata.System
		host := c.allocate(long)
		for v := range uint32(20) {
			c.submit(a, 0, 512<<10, v)
		}
		c.ok(sys.Thunks().SetContextSchedulingPriority(sys.thread, c.ctx.Context, dxgkrnl.MaxPriority))
		before := sys.kernel.Stats().Preemptions
		c.fill(rand.New(rand.NewPCG(1, 0)))
		assert.Equal(t, c.want[0], c.read(0))
		assert.Greater(t, sys.kernel.Stats().Preemptions, before)
		all := kmddi.Rect{Right: 512, Bottom: 256}
		require.NoError(t, sys.CopyRectangle(host, all, a, all))
		lock := &umddi.Lock{Allocation: host, ReadOnly: true}
		c.ok(sys.Thunks().Lock(sys.thread, c.dev, lock))
		assert.Equal(t, slices.Repeat([]byte{19, 0, 0, 0}, 128<<10), lock.Data)
		c.ok(sys.Thunks().Unlock(sys.thread, c.dev, &umddi.Unlock{Allocations: []ddi.KMHandle{host}}))
		assert.Empty(t, sys.Findings())
		require.NoError(t, sys.Close())
	}
}

// Drivers without DxgkDdiRenderKm work, and the kernel says that it cannot draw.
func TestKernelWithoutRenderKm(t *testing.T) {
	sys, err := Open("emu?vram=64KiB", withKernel(func(d *kmddi.DriverInitializationData) { d.RenderKm = nil }), Options{Record: eventstest.Record(t)})
	require.NoError(t, err)
	c := newCanvas(t, sys, 1)
	assert.ErrorIs(t, sys.FillRectangle(c.surfaces[0], kmddi.Rect{Right: 1, Bottom: 1}, 1), ddi.StatusNotSupported)
	require.NoError(t, sys.Close())
}
