package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Work waits for work of another node that is not submitted when it is rendered, since that node is
// full. Other work of its own node passes it meanwhile.
//
// docs/properties.md: F6.
func TestWaitForWorkThatIsSubmittedLater(t *testing.T) {
	r := newRig(t, options{nodes: 2, capacity: 1})
	a, b, c := r.alloc(64, system), r.alloc(64, system), r.alloc(64, system)
	waits, passes := r.context(1), r.context(1)
	r.gpu.auto = false
	r.mini.log = nil
	r.render(fill(b, 32, 32, 9))
	r.render(fill(a, 0, 64, 1))
	assert.Equal(t, []string{"Submit buffer fence=1 node=0"}, r.logged("Submit"), "the node is full")
	r.ok(r.submit(waits, copyTo(b, 0, a, 0, 32)))
	assert.Empty(t, r.logged("Submit"), "what it waits for is not submitted")
	r.ok(r.submit(passes, fill(c, 0, 64, 2)))
	assert.Equal(t, []string{"Submit buffer fence=1 node=1"}, r.logged("Submit"), "other work goes on")
	r.gpu.complete(1)
	r.enter()
	assert.Empty(t, r.logged("Submit"), "its node is free")
	r.gpu.complete(0)
	r.enter()
	assert.Equal(t, []string{"Submit buffer fence=2 node=0"}, r.logged("Submit"), "what it waits for has not completed")
	r.gpu.complete(0)
	r.enter()
	assert.Equal(t, []string{"Submit buffer fence=2 node=1"}, r.logged("Submit"))
	r.gpu.auto = true
	assert.Equal(t, append(repeat(1, 32), repeat(9, 32)...), r.read(b))
	assert.Equal(t, repeat(2, 64), r.read(c))
	r.finish()
}
