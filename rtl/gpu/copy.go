package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/mem"
)

// Buffers passes the words of all memories except VRAM to v.
func (g *GPU) Buffers(v hdl.Visitor) {
	logic := *g
	logic.vram = mem.Module{}
	logic.Memories(v)
}

// Clone returns a GPU in the same state that shares nothing with g.
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

// Follow puts g in the state of o, a GPU of the same configuration. From then on g uses the VRAM of
// o. It shares nothing else with it.
func (g *GPU) Follow(o *GPU) {
	g.vram = o.vram
	words := make([]uint64, GPUWords)
	o.Snapshot(words)
	g.Restore(words)
	var all hdl.Copier
	o.Buffers(&all)
	all.Back()
	g.Buffers(&all)
}

// Hash returns a hash of the complete state. GPUs of one configuration with the
// same hash have, almost certainly, the same state.
func (g *GPU) Hash() uint64 {
	words := make([]uint64, GPUWords)
	g.Snapshot(words)
	var h hasher
	h.Words(words)
	g.Memories(&h)
	return h.sum
}

// hasher is a Visitor that hashes the words.
type hasher struct {
	hdl.Scratch
	sum uint64
}

// Words implements hdl.Visitor. The factor is that of FNV-1a for 64 bits.
func (h *hasher) Words(p []uint64) {
	for _, v := range p {
		h.sum = (h.sum ^ v) * 0x100000001b3
		h.sum ^= h.sum >> 29
	}
}

// SetVRAMWord sets a word outside of any clock; off is a multiple of 8.
func (g *GPU) SetVRAMWord(off, v uint64) { g.vram.SetWord(uint32(off>>3), v) }

// VRAMWord returns a word outside of any clock; off is a multiple of 8.
func (g *GPU) VRAMWord(off uint64) uint64 { return g.vram.Word(uint32(off >> 3)) }
