package why

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// ways returns the begins of the tasks in each way to split pieces among them, by trying all.
func ways(tasks []task, pieces []piece) (all [][]int) {
	var try func(i, from int, begins []int)
	try = func(i, from int, begins []int) {
		begins = append(begins[:i:i], from)
		if i == len(tasks) {
			if from == len(pieces) {
				all = append(all, begins)
			}
			return
		}
		for to := from + 1; to <= len(pieces); to++ {
			var s share
			good, ends := true, false
			for k := from; k < to && good; k++ {
				good, ends = tasks[i].take(&s, &pieces[k])
			}
			if good && ends {
				try(i+1, to, begins)
			}
		}
	}
	try(0, 0, nil)
	return all
}

// A packet is known if it belongs to the same function in all ways to split, and only then.
func TestSplit(t *testing.T) {
	copied, filled := task{name: "pfnResourceCopy"}, task{name: "pfnClearRenderTargetView", fills: true}
	c, f := piece{rect: true}, piece{rect: true, fill: true}
	assert.Equal(t, []int{0, 1, 2}, split([]task{copied, copied}, []piece{c, c}))
	assert.Equal(t, []int{0, -1, 3}, split([]task{copied, copied}, []piece{c, c, c}), "the second packet may be of either")
	assert.Equal(t, []int{0, 2, 3, 4}, split([]task{copied, filled, copied}, []piece{c, c, f, c}))
	assert.Equal(t, []int{0, -1, 3, 4}, split([]task{copied, copied, filled}, []piece{c, c, c, f}))
	assert.Nil(t, split([]task{copied, filled}, []piece{c, c}), "no packet fills")
	assert.Nil(t, split([]task{copied, copied}, []piece{c}), "too few packets")
	assert.Nil(t, split([]task{copied}, nil))
	line := func(owner string, at, bytes uint64) piece {
		return piece{owner: owner, at: at, bytes: bytes, known: true}
	}
	assert.Equal(t, []int{0, 2, 3}, split([]task{{owner: "a", bytes: 10}, {owner: "a", bytes: 4}}, []piece{line("a", 0, 6), line("a", 6, 4), line("a", 10, 4)}))
	assert.Equal(t, []int{0, 1, 3}, split([]task{{owner: "a"}, {owner: "b"}}, []piece{line("a", 0, 6), line("b", 6, 4), line("b", 10, 4)}))
	assert.Nil(t, split([]task{{owner: "a", bytes: 10}}, []piece{line("a", 0, 6), line("a", 7, 4)}), "they do not follow each other")

	unknown := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tasks []task
		var pieces []piece
		at := uint64(0)
		for range 1 + r.IntN(4) {
			k := task{owner: []string{"", "a", "a", "b"}[r.IntN(4)], fills: r.IntN(4) == 0}
			n := 1 + r.IntN(3)
			if r.IntN(2) == 0 {
				at = 0 // otherwise it goes on where the task before ends
			}
			for range n {
				pieces = append(pieces, piece{fill: k.fills, owner: k.owner, at: at, bytes: 8, known: r.IntN(6) > 0})
				at += 8
			}
			if r.IntN(2) == 0 {
				k.bytes = 8 * uint64(n)
			}
			tasks = append(tasks, k)
		}
		got, all := split(tasks, pieces), ways(tasks, pieces)
		if len(all) == 0 {
			assert.Nil(t, got, "seed %d", seed)
			continue
		}
		want := append([]int(nil), all[0]...)
		for _, w := range all[1:] {
			for i := range w {
				if w[i] != want[i] {
					want[i] = -1
				}
			}
		}
		assert.Equal(t, want, got, "seed %d", seed)
		if len(all) > 1 {
			unknown++
		}
	}
	assert.Greater(t, unknown, 20, "splits that are not known")
}
