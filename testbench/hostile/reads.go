package hostile

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Tags of the reads of node 0 that fetch packets. A read of a packet's operand has another tag.
const (
	tagRing   = noc.ReadCP0 << 4
	tagBuffer = tagRing | 1
)

// A readChannel follows the read channel of VRAM, in the registers of a GPU.
type readChannel struct {
	words                  []uint64 // the registers after the last clock
	valid, word, left, tag int      // indexes of those of the read in progress
	last                   [3]uint64
}

func newReadChannel(g *gpu.GPU) (c readChannel, err error) {
	signals := g.Signals("gpu", nil)
	for name, i := range map[string]*int{"Valid": &c.valid, "Word": &c.word, "Left": &c.left, "Tag": &c.tag} {
		*i = slices.IndexFunc(signals, func(s hdl.Signal) bool { return s.Name == "gpu.vram.read_"+name })
		if *i < 0 {
			return c, fmt.Errorf("hostile: the GPU has no signal gpu.vram.read_%s", name)
		}
	}
	c.words = make([]uint64, gpu.GPUWords)
	g.Snapshot(c.words)
	return c, nil
}

// next must be called after each clock. It returns the word of VRAM that is read next, and the tag of its read. It reports false
// if there is none, or if it is that of the last call.
func (c *readChannel) next(g *gpu.GPU) (word refmodel.Range, tag uint8, ok bool) {
	g.Update(c.words)
	if c.words[c.valid] == 0 {
		c.last = [3]uint64{}
		return word, 0, false
	}
	now := [3]uint64{c.words[c.word], c.words[c.left], c.words[c.tag]}
	again := now == c.last
	c.last = now
	return refmodel.Range{At: 8 * now[0], N: 8}, uint8(now[2]), !again
}

// readVRAM notes a read of a word, unless node 0 fetches its ring or the indirect buffer, or the aperture reads its table.
func (h *hardware) readVRAM(word refmodel.Range, tag uint8) {
	var own refmodel.Range
	switch tag {
	case tagRing:
		own = refmodel.Range{At: ringAt, N: 1 << ringLog2}
	case tagBuffer:
		own = refmodel.Range{At: bufferAt, N: (h.bytes + 7) &^ 7}
	case noc.TagGART:
		own = refmodel.Range{At: tableAt, N: gartreg.EntryBytes * hostPages}
	}
	if !own.Holds(word.At, word.N) {
		h.read++
		h.accessed(word, false)
	}
}
