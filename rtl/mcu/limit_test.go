package mcu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// LIMIT is exact, and counts from its write, also from one below the clocks that have passed.
func TestLimitInClocks(t *testing.T) {
	hang := func(r *rig, most int) int {
		t.Helper()
		for n := 0; ; n++ {
			require.LessOrEqual(t, n, most, "no hang")
			if r.Hangs != 0 {
				return n
			}
			r.run(1)
		}
	}
	first := 0
	for _, limit := range []uint32{1, 2, 3, 100, 300} {
		r := newRig(t)
		r.start(newProgram(), 100)
		r.set(mcureg.Base+mcureg.Limit, 500)
		r.run(400)
		require.Zero(t, r.Hangs)
		r.set(mcureg.Base+mcureg.Limit, limit)
		n := hang(r, 400)
		if limit == 1 {
			first = n
			continue
		}
		assert.EqualValues(t, limit-1, n-first, "LIMIT %d", limit)
	}
}
