package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/mem"
)

// Buffers shows v the words of all memories but VRAM.
func (g *GPU) Buffers(v hdl.Visitor) {
	logic := *g
	logic.vram = mem.Module{}
	logic.Memories(v)
}

// Clone returns a GPU that is in the same state and shares nothing with g.
func (g *GPU) Clone() *GPU {
	c, err := New(g.config)
	hdl.Assert(err == nil, "gpu: the configuration of a GPU cannot be built")
	words := make([]uint64, GPUWords)
	g.Snapshot(words)
	c.Restore(words)
	var all hdl.Copier
	g.Memories(&all)
	all.Back()
	c.Memories(&all)
	return c
}

// SetVRAMWord sets a word outside of any clock; off is a multiple of 8.
func (g *GPU) SetVRAMWord(off, v uint64) { g.vram.SetWord(uint32(off>>3), v) }

// VRAMWord returns a word outside of any clock; off is a multiple of 8.
func (g *GPU) VRAMWord(off uint64) uint64 { return g.vram.Word(uint32(off >> 3)) }
