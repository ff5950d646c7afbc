package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
)

// A Twin is a copy of a GPU that continues without changing it. A host that reads a register of
// the twin reads what the GPU would answer. It is a port.Device.
type Twin struct {
	gpu    *GPU
	words  []uint64
	copier hdl.Copier
	before []vramWord // of the writes since Follow
}

// A vramWord is a word of VRAM before a write.
type vramWord struct{ off, value uint64 }

var _ port.Device = (*Twin)(nil)

// Twin returns a twin for GPUs of the configuration of g. It has no state before Follow.
func (g *GPU) Twin() *Twin {
	c, err := New(g.config)
	hdl.Assert(err == nil, "gpu: the configuration of a GPU cannot be built")
	return &Twin{gpu: c, words: make([]uint64, GPUWords)}
}

// Follow puts the twin in the state of g. The twin uses the VRAM of g and copies everything
// else. Leave must be called before g is used again.
func (t *Twin) Follow(g *GPU) {
	t.gpu.vram = g.vram
	g.Snapshot(t.words)
	t.gpu.Restore(t.words)
	t.copier.Clear()
	g.Buffers(&t.copier)
	t.copier.Back()
	t.gpu.Buffers(&t.copier)
}

// Leave undoes the writes of VRAM since Follow. The twin must not tick before the next Follow.
func (t *Twin) Leave() {
	for i := len(t.before) - 1; i >= 0; i-- {
		t.gpu.SetVRAMWord(t.before[i].off, t.before[i].value)
	}
	t.before = t.before[:0]
}

// Target returns the outputs of the target port.
func (t *Twin) Target() (cpl port.Completion, reqReady, dataReady bool) { return t.gpu.Target() }

// Initiator returns the outputs of the initiator port.
func (t *Twin) Initiator() (req port.Request, beat port.Beat) { return t.gpu.Initiator() }

// Tick advances one clock.
func (t *Twin) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if off, written := t.gpu.WritingVRAM(); written.Valid {
		t.before = append(t.before, vramWord{off, t.gpu.VRAMWord(off)})
	}
	t.gpu.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// IdleFor returns that of the GPU.
func (t *Twin) IdleFor() uint64 { return t.gpu.IdleFor() }

// Skip advances n clocks, at most IdleFor, without a write of VRAM.
func (t *Twin) Skip(n uint64) { t.gpu.Skip(n) }
