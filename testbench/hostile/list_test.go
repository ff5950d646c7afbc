package hostile

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// copyFrom returns a COPY of 8 bytes with an address in the words of its source. With a patch, the source is at an offset of the
// allocation source. The destination is the last 8 bytes of an allocation.
func copyFrom(address uint64, patch bool, offset uint32) *command {
	c := &command{words: []uint32{4<<24 | 5, uint32(address), uint32(address >> 32), 0, 0, 8}}
	c.patches = []kmddi.PatchLocation{{AllocationIndex: destination, AllocationOffset: 4088, PatchOffset: 12}}
	if patch {
		c.patches = append(c.patches, kmddi.PatchLocation{AllocationIndex: source, AllocationOffset: offset, PatchOffset: 4})
	}
	return c
}

// A packet cannot read the ring, the buffer of commands or the table of the aperture: not with their addresses in its words, and
// not with an offset from an allocation. With a patch the words do not matter, and the GPU reads only the allocation, to its last
// byte.
//
// docs/validator.md: V27.
func TestV27(t *testing.T) {
	for name, aperture := range map[string]bool{"": false, " with an aperture": true} {
		c, err := newCommands(aperture)
		require.NoError(t, err)
		c.rtl, err = newHardware(aperture)
		require.NoError(t, err)
		places := []uint64{ringAt, bufferAt, tableAt}
		t.Run("refused"+name, func(t *testing.T) {
			for _, at := range places {
				for _, cmd := range []*command{
					copyFrom(at, false, 0),
					copyFrom(0, true, uint32(at-allocations[source].at)),
					copyFrom(0, true, uint32(allocations[source].bytes)-7),
				} {
					passes, s := c.render(cmd.bytes(), cmd.patches, 4096, 64)
					assert.Equal(t, ddi.StatusInvalidParameter, s, "%#x, %v", at, cmd.patches)
					assert.Empty(t, passes)
				}
			}
		})
		t.Run("accepted"+name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed, 0))
			for _, at := range places {
				require.NoError(t, c.check(r, copyFrom(at, true, uint32(allocations[source].bytes)-8), 24, 2), "%#x", at)
			}
			assert.Equal(t, len(places), c.legal)
			assert.Equal(t, len(places), c.rtl.portions)
		})
	}
}
