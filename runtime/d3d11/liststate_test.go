package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

func TestStateAfterFinish(t *testing.T) {
	b := newBench(t)
	def := b.deferred()
	full := setAll(b, def)
	state := def.state
	first := b.finish(def, true)
	assert.Equal(t, state, def.state, "TRUE keeps it")
	second := b.finish(def, false)
	defaults(t, def)
	third := b.finish(def, true)
	defaults(t, def)
	var during fakeState
	buf := b.constant()
	probe := b.deferred()
	probe.CopyResource(buf, b.constant())
	seen := b.finish(probe, false)
	b.drv.hook = func(_ *ddi.Thread, name string) {
		if name == "ResourceCopy" {
			during = b.drv.state
		}
	}
	for _, tt := range []struct {
		name string
		list *CommandList
		want fakeState
	}{{"a list", first, full}, {"the next list has the kept state", second, full}, {"the one after FALSE", third, fakeState{}}} {
		outer := b.deferred()
		outer.ExecuteCommandList(tt.list, false)
		outer.ExecuteCommandList(seen, false)
		b.ctx.ExecuteCommandList(b.finish(outer, false), false)
		assert.Equal(t, fakeState{}, during, "a list begins with the default state")
		during = fakeState{}
		b.ctx.ExecuteCommandList(stateThenCopy(b, tt.list, buf), false)
		assert.Equal(t, fakeState{}, b.drv.state, tt.name)
	}
	final := fakeState{}
	b.drv.hook = func(_ *ddi.Thread, name string) {
		if name == "SetScissorRects" && len(b.drv.state.Viewports) != 0 {
			final = b.drv.state
		}
	}
	b.ctx.ExecuteCommandList(second, false)
	final.Scissors = full.Scissors
	assert.Equal(t, full, final, "the kept state is part of the next list")
}

// stateThenCopy creates a list that executes another list and then copies to
// buf.
func stateThenCopy(b *bench, l *CommandList, buf *Buffer) *CommandList {
	def := b.deferred()
	def.ExecuteCommandList(l, true)
	def.CopyResource(buf, b.constant())
	return b.finish(def, false)
}

func TestStateAfterExecute(t *testing.T) {
	b := newBench(t)
	def := b.deferred()
	setAll(b, def)
	list := b.finish(def, false)
	full := setAll(b, b.ctx)
	state := b.ctx.state
	b.ctx.ExecuteCommandList(list, true)
	assert.Equal(t, full, b.drv.state, "TRUE restores")
	assert.Equal(t, state, b.ctx.state)
	b.ctx.ExecuteCommandList(list, false)
	assert.Equal(t, fakeState{}, b.drv.state)
	defaults(t, b.ctx)

	setAll(b, def)
	state = def.state
	def.ExecuteCommandList(list, true)
	assert.Equal(t, state, def.state, "TRUE on a deferred context")
	def.ExecuteCommandList(list, false)
	defaults(t, def)
}

// TestStateDuringLists checks the topology in the driver at each copy of a list
// and after the list. The immediate context has topology 1.
func TestStateDuringLists(t *testing.T) {
	for _, tt := range []struct {
		name          string
		nested, outer bool // restore
		during        []Topology
		after         Topology
	}{
		{"both restored", true, true, []Topology{0, 2, 0, 3, 2}, 1},
		{"the nested one not restored", false, true, []Topology{0, 2, 0, 3, 0}, 1},
		{"the outer one not restored", true, false, []Topology{0, 2, 0, 3, 2}, 0},
		{"none", false, false, []Topology{0, 2, 0, 3, 0}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			dst, src := b.constant(), b.constant()
			inner, def := b.deferred(), b.deferred()
			inner.CopyResource(dst, src)
			inner.IASetPrimitiveTopology(TopologyLineStrip)
			inner.CopyResource(dst, src)
			list := b.finish(inner, false)
			def.CopyResource(dst, src)
			def.IASetPrimitiveTopology(TopologyLineList)
			def.CopyResource(dst, src)
			def.ExecuteCommandList(list, tt.nested)
			def.CopyResource(dst, src)
			outer := b.finish(def, false)
			var during []Topology
			b.drv.hook = func(_ *ddi.Thread, name string) {
				if name == "ResourceCopy" {
					during = append(during, b.drv.state.Topology)
				}
			}
			for range 2 {
				during = nil
				b.ctx.IASetPrimitiveTopology(TopologyPointList)
				b.ctx.ExecuteCommandList(outer, tt.outer)
				assert.Equal(t, tt.during, during)
				assert.Equal(t, tt.after, b.drv.state.Topology)
			}
		})
	}
}
