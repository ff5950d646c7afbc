package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The state of a submission on a board that does not tell what its nodes do is not known until its fence is in memory.
func TestCycleOnASilentBoard(t *testing.T) {
	s := &submission{serial: 3, fence: 2, node: 1, queued: Point{1, 100}, submitted: Point{2, 200}, written: Point{5, 500}, retired: Point{6, 600}}
	for clock, want := range map[uint64]string{
		300: "submission 3 (fence 2 of node 1) is in the hardware of node 1, unknown: what node 1 does with it, since this board does not tell",
		550: "submission 3 (fence 2 of node 1) is in the hardware of node 1, and its fence is in host memory",
	} {
		r := &Run{last: Point{9, 900}, order: []*submission{s}}
		a, err := r.Cycle(clock)
		require.NoError(t, err)
		require.Len(t, a.Chain, 1)
		assert.Equal(t, want, a.Chain[0].What)
		r.Header.Observed = true
		a, err = r.Cycle(clock)
		require.NoError(t, err)
		assert.Contains(t, a.Chain[0].What, "and has not begun", "it would have an event")
	}
}
