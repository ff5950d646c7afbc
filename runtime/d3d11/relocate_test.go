package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// movingDevice creates a device without the verifier.
func movingDevice(t *testing.T, seed uint64, change func(*fakeDriver)) (*bench, *fakeDriver) {
	t.Helper()
	drv, kern := newFakeDriver(), &fakeKernel{}
	cfg := Config{Driver: drv.openAdapter, Kernel: kern.thunks(), Seed: seed}
	natively(drv, &cfg)
	change(drv)
	dev, ctx, err := CreateDevice(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		dev.Close()
		assert.Empty(t, drv.broken)
	})
	return &bench{T: t, drv: drv, dev: dev, ctx: ctx}, drv
}

// TestTablesMove: with a seed the tables of both kinds of contexts move, always
// after the same calls, and the old ones are empty, which the fake driver
// checks. Without a seed, or if the driver does not want to know, none moves.
func TestTablesMove(t *testing.T) {
	type moves struct{ immediate, deferred []int }
	run := func(seed uint64, change func(*fakeDriver)) (m moves) {
		b, drv := movingDevice(t, seed, change)
		at := func(list *[]int, i int, do func()) {
			before := drv.moves
			if do(); drv.moves != before {
				*list = append(*list, i)
			}
		}
		dc := b.deferred()
		for i := range 50 {
			at(&m.immediate, i, func() { b.ctx.IASetPrimitiveTopology(Topology(1 + i%2)) })
			at(&m.deferred, i, func() { dc.IASetPrimitiveTopology(Topology(1 + i%2)) })
		}
		b.ctx.ExecuteCommandList(b.finish(dc, true), true)
		dc.Release()
		return m
	}
	none := func(*fakeDriver) {}
	first := run(1, none)
	assert.NotEmpty(t, first.immediate)
	assert.Equal(t, first.immediate, first.deferred, "contexts do not depend on each other")
	assert.Equal(t, first, run(1, none))
	assert.NotEqual(t, first, run(2, none))
	assert.Equal(t, moves{}, run(0, none))
	assert.Equal(t, moves{}, run(1, func(f *fakeDriver) {
		drop := func(d *umddi.DeviceFuncs) { d.RelocateDeviceFuncs = nil }
		f.editTable, f.native.editContextTable = drop, drop
	}))
}

// TestNothingMovesWhileMapped: any thread may release a mapped resource, and
// the unmap uses the immediate context's table.
func TestNothingMovesWhileMapped(t *testing.T) {
	b, drv := movingDevice(t, 1, func(*fakeDriver) {})
	s := b.staging(CPUAccessWrite)
	require.NoError(t, b.ctx.Map(s, 0, MapWrite, 0, new(MappedSubresource)))
	before := drv.moves
	for range 100 {
		b.ctx.Flush()
	}
	assert.Equal(t, before, drv.moves)
	s.Release()
	for range 100 {
		b.ctx.Flush()
	}
	assert.Greater(t, drv.moves, before)
}

// TestTableRelocateFires: a driver that replaces a free-threaded entry when its
// table moves is named.
func TestTableRelocateFires(t *testing.T) {
	b := newBench(t, func(f *fakeDriver, _ *Config) {
		f.editTable = func(d *umddi.DeviceFuncs) {
			relocate := d.RelocateDeviceFuncs
			d.RelocateDeviceFuncs = func(th *ddi.Thread, h umddi.HDevice, funcs *umddi.DeviceFuncs) {
				relocate(th, h, funcs)
				funcs.CalcPrivateQuerySize = func(*ddi.Thread, umddi.HDevice, umddi.CreateQuery) int { return fakePrivate }
			}
		}
	})
	b.breaks = []string{"table-relocate"}
	for range 100 {
		b.ctx.Flush()
	}
	var names []string
	for _, v := range b.monitor.Violations() {
		names = append(names, v.Rule.Name)
	}
	assert.Contains(t, names, "table-relocate")
}
