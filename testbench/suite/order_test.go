package suite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A request for a DPC that is queued already is no step of its own.
func TestQueuedTwice(t *testing.T) {
	r := new(recorder)
	queue, dpc := &verifier.Func{Name: "DxgkCbQueueDpc", Callback: true}, &verifier.Func{Name: "DxgkDdiDpcRoutine"}
	for _, fresh := range []bool{true, false} {
		r.Enter(nil, queue)
		r.Leave(nil, queue, fresh)
	}
	r.Enter(nil, dpc)
	r.Leave(nil, dpc)
	assert.Equal(t, []string{"10 QueueDpc", "11 DpcRoutine"}, r.since(0))
}

// Several paging buffers count as one, whether or not their interrupts come before
// the DMA buffer.
func TestOnePaging(t *testing.T) {
	begin := []string{"1 Flush", "2 RenderCb", "3 Render"}
	twice := append([]string{"4 BuildPagingBuffer"}, paging...)
	want := slices.Concat(begin, paging, done, submit, done)
	for name, list := range map[string][]string{
		"one":              want,
		"two":              slices.Concat(begin, paging, done, paging, done, submit, done),
		"two at once":      slices.Concat(begin, paging, paging, done, done, submit, done),
		"a small buffer":   slices.Concat(begin, twice, done, submit, done),
		"three after each": slices.Concat(begin, paging, done, twice, done, paging, done, submit, done),
	} {
		assert.Equal(t, want, onePaging(list), name)
	}
	one := slices.Concat(begin, shared, done, done)
	assert.Equal(t, one, onePaging(one))
	two := slices.Concat(begin, shared[:1], shared[:3], shared[2:], done, done, done)
	assert.Equal(t, one, onePaging(two), "on one node")
}

// The second of two interrupts may come at any time after the first. Each needs a DPC after the report.
func TestTogether(t *testing.T) {
	steps := func(numbers ...int) (list []string) {
		for _, n := range numbers {
			list = append(list, done[n-8])
		}
		return list
	}
	for _, list := range [][]int{{8, 9, 10, 8, 11}, {8, 9, 10, 8, 9, 11}, {8, 9, 10, 8, 9, 10, 11}, {8, 9, 10, 11, 8}} {
		assert.True(t, together(steps(list...)), list)
	}
	for _, list := range [][]int{{}, {8, 9, 10}, {8, 9, 10, 11}, {8, 9, 10, 8}, {8, 10, 8, 11}, {8, 9, 10, 11, 8, 9}, {8, 8, 9, 10, 11, 11}, {9, 10, 11}} {
		assert.False(t, together(steps(list...)), list)
	}
}
