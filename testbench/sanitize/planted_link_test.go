package sanitize_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench"
)

// linkPlants is the number of mistakes that are planted on a link: by default each kind three times.
var linkPlants = flag.Uint64("sanitize.link", 48, "planted `mistakes` on a link, at most 352")

// linked are boards at the end of a link in this process, of which only the requests to host memory are seen.
var linked = [...]string{"line?vram=64KiB", "line?config=small&vram=16KiB", "line?nodes=1&vram=64KiB"}

// A mistake is named on a link too, where no packet of the GPU is seen: by what the kernel and the driver give to the
// hardware, and by the GPU's requests.
func TestPlantedMistakesAreNamedOnALink(t *testing.T) {
	named, n := uint64(0), min(*linkPlants, plants)
	for seed := range n {
		m, rule := planted(t, linked[seed%uint64(len(linked))], seed)
		if rule != m.rule {
			t.Logf("seed %d, %s: %q, want %q", seed, m.name, rule, m.rule)
			continue
		}
		named++
	}
	t.Logf("%d of %d", named, n)
	assert.GreaterOrEqual(t, 100*named, 99*n)
}

// Good drivers break no rule on a link.
func TestGoodDriversOnALink(t *testing.T) {
	for seed := range max(uint64(len(linked)), *linkPlants/16) {
		board := linked[seed%uint64(len(linked))]
		assert.Empty(t, outcomeOn(t, board, testbench.HostDrivers(), seed), fmt.Sprintf("%s, seed %d", board, seed))
	}
}
