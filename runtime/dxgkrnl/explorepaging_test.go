package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// pagedIn returns a scene in which a submission of one device needs an allocation in video memory,
// with content, while the node of the paging buffers executes work of another device. On a GPU of
// one node, that node executes all of it.
func pagedIn(nodes int) func(t *testing.T, e *explorer) (*scene, []func()) {
	return func(t *testing.T, e *explorer) (*scene, []func()) {
		s := newScene(t, e, nodes)
		a, b := s.devices[0], s.devices[1]
		paged := a.alloc(64, local)
		a.write(paged, repeat(9, 64))
		s.results = []result{
			{0, paged, append(repeat(3, 32), repeat(9, 32)...)},
			{0, s.targets[0], append(repeat(3, 32), repeat(9, 32)...)},
			{1, s.targets[1], repeat(5, 64)},
		}
		return s, []func(){
			func() { b.submit(s.second, halves(s.targets[1], 5)...) },
			func() { a.submit(s.contexts[0], fill(paged, 0, 32, 3), copyTo(s.targets[0], 0, paged, 0, 64)) },
		}
	}
}

// pagingRuns is how many runs TestExplorePaging makes of each scene at most, unless it makes all.
const pagingRuns = 150

// Every interleaving, as in TestExplore, of a paging buffer and the work around it, or some at random. That no node is
// free while work for it is ready is not checked here.
//
// docs/properties.md: F13.
func TestExplorePaging(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes int
	}{{"on the other node", 2}, {"on the same node", 1}} {
		t.Run(tt.name, func(t *testing.T) { exploreAll(t, min(*explored, pagingRuns), pagedIn(tt.nodes)) })
	}
}

// The fingerprint tells apart what a paging buffer and the memory of the GPU have.
func TestFingerprintOfPaging(t *testing.T) {
	e := newExplorer()
	s, submissions := pagedIn(2)(t, e)
	states := map[fingerprint]bool{s.waiting(): true}
	s.gpu.acts, s.mini.preempt = func() bool { return false }, nil
	for _, submit := range submissions {
		submit()
		states[s.waiting()] = true
	}
	s.gpu.vram[0]++
	states[s.waiting()] = true
	s.kernel.paging.all[0].pages.Bytes[0]++
	states[s.waiting()] = true
	require.Len(t, states, 5)
	require.EqualValues(t, 1, s.kernel.Stats().PagingBuffers)
}
