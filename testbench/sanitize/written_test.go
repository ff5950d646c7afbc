package sanitize

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A set of ranges has the same bytes as an array of flags, and its ranges are in order and apart.
func TestRanges(t *testing.T) {
	const size = 64
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var set ranges
		var model [size]bool
		for range 60 {
			from := r.Uint64N(size)
			s := span{from, from + r.Uint64N(size-from+1)}
			on := r.IntN(3) > 0
			if on {
				set.add(s)
			} else {
				set.remove(s)
			}
			for i := s.from; i < s.to; i++ {
				model[i] = on
			}
			for i, e := range set {
				require.Less(t, e.from, e.to, "seed %d", seed)
				require.True(t, i == 0 || set[i-1].to < e.from, "seed %d: %v", seed, set)
			}
			from = r.Uint64N(size)
			s = span{from, from + r.Uint64N(size-from+1)}
			at, missing := set.missing(s)
			want := s.from
			for want < s.to && model[want] {
				want++
			}
			require.Equal(t, want < s.to, missing, "seed %d: %v of %v", seed, s, set)
			require.True(t, !missing || at == want, "seed %d: %v of %v", seed, s, set)
		}
	}
}

// Rows have the parts in a range, with their offsets.
func TestRows(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		width := 1 + r.Uint64N(8)
		all := rows{r.Uint64N(20), width + r.Uint64N(4), width, 1 + r.Uint64N(5)}
		from := r.Uint64N(60)
		in := span{from, from + r.Uint64N(40)}
		got := map[uint64]uint64{} // offset by address
		all.each(in, func(part span, offset uint64) bool {
			for i := part.from; i < part.to; i++ {
				got[i] = offset + i - part.from
			}
			return true
		})
		want := map[uint64]uint64{}
		for y := range all.n {
			for x := range all.width {
				if at := all.from + y*all.pitch + x; at >= in.from && at < in.to {
					want[at] = y*all.width + x
				}
			}
		}
		require.Equal(t, want, got, "seed %d: %v in %v", seed, all, in)
	}
}
