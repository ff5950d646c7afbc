package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A kernel without an observer allocates nothing where it would tell one.
func TestNoObserverNoAllocations(t *testing.T) {
	k := &Kernel{}
	s := &submission{paging: &pagingBuffer{ops: []pagingOp{{}}}, waits: []mark{{}}}
	a := &allocation{segment: &segment{}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		k.observe(Event{Kind: EventSubmit, Submission: s.serial})
		k.observe(Event{Kind: EventUnlock, Allocation: a.handle})
		k.observeQueue(s)
		k.noteWaits(s)
		k.observePlace(a)
	}))
}
