package umd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// listScenario is a scenario of two recorded and nested lists that need chunks. It
// records the result of each step, by name, and returns the last finished list.
type listScenario struct {
	*rig
	a, b, dyn umddi.HResource
	large     umddi.HResource
	q         umddi.HQuery
	copies    int // in the first list
	c         *recorder
	finished  []ddi.HRESULT // result of each FinishCommandList
	copied    bool          // the last list was created
}

func newListScenario(r *rig, copies int) *listScenario {
	return &listScenario{
		rig: r, copies: copies, a: r.filledBuffer(umddi.UsageDefault, 1), b: r.filledBuffer(umddi.UsageDefault, 2),
		dyn: r.create(buf(64, umddi.UsageDynamic)), large: r.create(buf(3*chunkBytes, umddi.UsageDefault)), q: r.queryOf(umddi.QueryOcclusionPredicate),
	}
}

// finish finishes a list as the runtime does: it abandons a lost recording, and
// there is no list.
func (s *listScenario) finish() (umddi.HCommandList, bool) {
	if len(s.c.errs) > 0 {
		s.c.errs = nil
		s.c.abandon()
		s.finished = append(s.finished, ddi.EOutOfMemory)
		return umddi.HCommandList{}, false
	}
	list, hr := s.c.finish()
	s.finished = append(s.finished, hr)
	return list, hr == ddi.OK
}

func (s *listScenario) run() {
	s.c = s.tryRecorder()
	if s.c.h.Driver == nil {
		return
	}
	c := s.c
	big := seq(1, 3*chunkBytes)
	for range 2 {
		for range s.copies {
			c.copy(s.a, s.b)
		}
		c.update(s.large, buf(3*chunkBytes, umddi.UsageDefault), 0, nil, big)
		m := c.discard(s.dyn, 0)
		for i := range m.Data {
			m.Data[i] = 5
		}
		c.copy(s.a, s.dyn)
		c.f.QueryEnd(c.th, c.h, c.q(s.q))
		inner, made := s.finish()
		if made {
			s.execute(inner)
			c.execute(inner)
		}
		c.copy(s.b, s.a)
		outer, both := s.finish()
		if made {
			c.release(inner)
		}
		if both {
			s.execute(outer)
			c.release(outer)
		}
	}
	c.copy(s.b, s.a)
	last, made := s.finish()
	if made {
		s.update(s.a, buf(64, umddi.UsageDefault), 0, nil, seq(33, 64))
		s.execute(last)
		s.f.DestroyCommandList(s.th, s.rig.h, last)
	}
	s.copied = made
	c.destroy()
}

// Each allocation of the driver's memory fails once. The list that needs it is
// lost and the loss reported once; the next list works, and nothing is leaked.
func TestEveryAllocationFails(t *testing.T) {
	r, m := newListRig(t)
	clean := newListScenario(r, 700)
	clean.run()
	require.Empty(t, r.errs)
	require.Len(t, clean.finished, 5)
	require.NotContains(t, clean.finished, ddi.EOutOfMemory)
	require.Greater(t, m.allocs, 6)
	for i := range m.allocs {
		r, m := newListRig(t)
		s := newListScenario(r, 700)
		m.failAt = i + 1
		s.run()
		require.True(t, m.failed)
		if i == 0 {
			assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, r.errors(), "the context")
		} else {
			assert.Empty(t, r.errors(), "allocation %d", i+1)
			lost := 0
			for _, hr := range s.finished {
				if hr == ddi.EOutOfMemory {
					lost++
				}
			}
			assert.Equal(t, 1, lost, "allocation %d: %v", i+1, s.finished)
			assert.True(t, s.copied, "allocation %d", i+1)
			assert.Equal(t, seq(33, 64), r.buffer(s.b), "the last list was executed")
		}
		assert.Empty(t, m.live, "allocation %d", i+1)
	}
}

// Until it is recycled, a context with a lost recording ignores calls without
// reporting again, except maps, which have no memory to return.
func TestLostRecording(t *testing.T) {
	memory := []ddi.HRESULT{ddi.EOutOfMemory}
	r, m := newListRig(t)
	a, dyn := r.filledBuffer(umddi.UsageDefault, 1), r.create(buf(64, umddi.UsageDynamic))
	c := r.recorder()
	first := c.discard(dyn, 0)
	for range 5 { // a discard of 96 bytes; five of them fill the head
		c.copy(a, a)
	}
	m.failAt = 1
	c.copy(a, a)
	assert.Equal(t, memory, c.errs)
	assert.Empty(t, r.errs, "not to the device's core layer")
	c.errs = nil
	c.copy(a, a)
	c.update(a, buf(64, umddi.UsageDefault), 0, nil, seq(0, 64))
	c.f.QueryEnd(c.th, c.h, c.q(r.query()))
	c.f.IaSetTopology(c.th, c.h, 1)
	assert.Empty(t, c.errors(), "once")
	fillMap(t, first, 1)
	c.f.DynamicResourceUnmap(c.th, c.h, c.res(dyn), 0)
	assert.Empty(t, c.errors(), "mapped memory remains valid")
	assert.Nil(t, c.discard(dyn, 0).Data)
	assert.Equal(t, memory, c.errors())
	assert.Nil(t, c.f.DynamicIABufferMapNoOverwrite(c.th, c.h, c.res(dyn), 0, umddi.MapWriteNoOverwrite, 0).Data)
	assert.Equal(t, memory, c.errors())
	_, hr := c.makeList()
	assert.Equal(t, ddi.EOutOfMemory, hr, "and there is no list")
	c.abandon()
	c.copy(a, a)
	l := c.done()
	assert.Len(t, listHead(l.Object), copyCommand)
	assert.Empty(t, c.errors())
}

// RecycleCreateCommandList returns its error, and its handle remains usable.
func TestRecycleCreateWithoutMemory(t *testing.T) {
	r, m := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	c.release(c.done())
	m.failAt = 1
	for range 10 {
		c.copy(a, a)
	}
	require.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, c.errors())
	_, hr := c.finish()
	assert.Equal(t, ddi.EOutOfMemory, hr)
	require.Len(t, c.cached, 1)
	assert.Equal(t, uint32(listCached), listPhase(c.cached[0].Object))
	c.copy(a, a)
	l := c.done()
	r.execute(l)
	assert.Empty(t, c.errors(), "a returned error is not reported")
	c.destroy()
	r.f.DestroyCommandList(r.th, r.h, l)
	assert.Empty(t, m.live)
}

// A list above the size limit fails without allocating.
func TestListTooLarge(t *testing.T) {
	r, m := newListRig(t)
	a := r.filledBuffer(umddi.UsageDefault, 1)
	c := r.recorder()
	c.driver().bytes = maxListBytes - firstChunk + 1
	for range 10 {
		c.copy(a, a)
	}
	assert.Equal(t, []ddi.HRESULT{ddi.EOutOfMemory}, c.errors())
	assert.Equal(t, 1, m.allocs)
	c.abandon()
	c.driver().bytes = maxListBytes - firstChunk
	for range 10 {
		c.copy(a, a)
	}
	assert.Empty(t, c.errors())
}

// TestListsOfTheRuntimeFit: the runtime counts 64 bytes for each call and the data
// of updates and discards, and refuses a list of more than 1 GiB. The chunks of
// such a list take less than maxListBytes, whatever its commands, nested or not.
func TestListsOfTheRuntimeFit(t *testing.T) {
	const limit, calls = 1 << 30, 300
	sizes := []int{16, 500, 3000, chunkBytes/2 - 40 + 8, chunkBytes - 39, 5*chunkBytes/4 - 39}
	for _, size := range sizes {
		for kind, record := range map[string]func(c *recorder, size int) int{
			"regions": func(c *recorder, _ int) int {
				a := c.rig.filledBuffer(umddi.UsageDefault, 1)
				for range calls {
					c.f.ResourceCopyRegion(c.th, c.h, c.res(a), 0, 0, 0, 0, c.res(a), 0, &umddi.Box{Right: 1, Bottom: 1, Back: 1})
				}
				return calls * 64
			},
			"updates": func(c *recorder, size int) int {
				arg := buf(uint32(size), umddi.UsageDefault)
				a := c.rig.create(arg)
				for range calls {
					c.update(a, arg, 0, nil, make([]byte, size))
				}
				return calls * (64 + size)
			},
			"discards and copies": func(c *recorder, size int) int {
				a, b := c.rig.create(buf(uint32(size), umddi.UsageDynamic)), c.rig.filledBuffer(umddi.UsageDefault, 1)
				for range calls {
					c.discard(a, 0)
					c.copy(b, b)
				}
				return calls * (2*64 + size)
			},
		} {
			r, _ := newListRig(t)
			c := r.recorder()
			counted := record(c, size)
			assert.Less(t, float64(c.driver().bytes)/float64(counted)*limit, float64(maxListBytes), "%s of %d bytes", kind, size)
			l := c.done()
			for range 3 {
				c.execute(l)
			}
			counted = 3 * (64 + counted)
			assert.Less(t, float64(c.driver().bytes)/float64(counted)*limit, float64(maxListBytes), "nested %s of %d bytes", kind, size)
		}
	}
}

// Each callback fails once while lists execute: only permitted results are
// reported, and nothing is leaked.
func TestEveryCallbackFailsInLists(t *testing.T) {
	legal := []ddi.HRESULT{ddi.EOutOfMemory, ddi.DDIDeviceRemoved}
	run := func(failAt int, hr ddi.HRESULT) (*rig, *testHeap, int) {
		m := newHeap(t)
		k := newKernel(t)
		k.cmdBytes, k.nAllocs, k.nPatches = 400, 4, 12
		r := openRigWith(k, Options{Memory: m})
		require.Equal(t, ddi.OK, r.createDevice())
		s := newListScenario(r, 20)
		k.failAt, k.failHR = failAt, hr
		s.run()
		reported := 0
		for _, e := range r.errors() {
			reported++
			assert.Contains(t, legal, e, "callback %d", failAt)
		}
		r.f.DestroyDevice(r.th, r.h)
		return r, m, reported + len(r.errors())
	}
	clean, m, reported := run(0, ddi.OK)
	require.Zero(t, reported)
	require.Empty(t, clean.handles)
	require.Empty(t, m.live)
	seen := map[string]bool{}
	for i := range len(clean.log) {
		for _, hr := range []ddi.HRESULT{ddi.EOutOfMemory, ddi.DDIDeviceRemoved} {
			r, m, reported := run(i+1, hr)
			if r.failed == "" {
				continue // earlier calls ended sooner: calls that create the rig are not counted
			}
			seen[r.failed] = true
			name := fmt.Sprintf("callback %d, %s, returns %v", i+1, r.failed, hr)
			assert.Empty(t, r.handles, "%s: allocations left", name)
			assert.Empty(t, m.live, "%s: memory left", name)
			recovered := r.failed == "Allocate" && hr == ddi.EOutOfMemory
			assert.True(t, reported > 0 || recovered, "%s: nothing was reported", name)
		}
	}
	for _, name := range []string{"Allocate", "Deallocate", "Lock", "Unlock", "Render", "DestroyContext"} {
		assert.True(t, seen[name], name)
	}
}
