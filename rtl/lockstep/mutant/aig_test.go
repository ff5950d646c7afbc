package mutant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A proof has the latches that a difference depends on within the number of clocks of its depth.
func TestDepth(t *testing.T) {
	g := newGraph()
	line := []lit{g.input()}
	for i := range 4 { // a shift register of 4
		line = append(line, g.latch())
		g.next[i] = line[i]
	}
	for depth, latches := range map[int]int{everyState: 0, 1: 1, 2: 2, 3: 3, 4: 4, everyDepth: 4} {
		var size [5]int
		_, err := fmt.Fscanf(strings.NewReader(string(g.write(line[4], depth))), "aig %d %d %d %d %d\n", &size[0], &size[1], &size[2], &size[3], &size[4])
		require.NoError(t, err)
		assert.Equal(t, [5]int{latches + 1, 1, latches, 1, 0}, size, "depth %d", depth)
	}
}

// Gates with equal inputs are one gate, and constants and equal inputs need none.
func TestGates(t *testing.T) {
	g := newGraph()
	a, b := g.input(), g.input()
	ab := g.and(a, b)
	for _, tt := range []struct {
		name      string
		got, want lit
	}{
		{"other order", g.and(b, a), ab}, {"again", g.and(a, b), ab}, {"0", g.and(a, low), low}, {"1", g.and(high, b), b},
		{"itself", g.and(a, a), a}, {"its inverse", g.and(a^1, a), low}, {"equal", g.xor(ab, ab), low}, {"or", g.or(a, high), high},
	} {
		assert.Equal(t, tt.want, tt.got, tt.name)
	}
	assert.NotEqual(t, ab, g.and(a^1, b))
}
