package boards

import (
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// A twin is a copy of a GPU that continues without changing it. A host that reads a register of
// the twin reads what the GPU would answer. It is a port.Device.
type twin struct {
	*gpu.GPU
	before []vramWord // of the writes since Follow
}

// A vramWord is a word of VRAM before a write.
type vramWord struct{ off, value uint64 }

// leave undoes the writes of VRAM since Follow. The twin must not tick before the next Follow.
func (t *twin) leave() {
	for i := len(t.before) - 1; i >= 0; i-- {
		t.SetVRAMWord(t.before[i].off, t.before[i].value)
	}
	t.before = t.before[:0]
}

// Tick advances one clock.
func (t *twin) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if off, written := t.WritingVRAM(); written.Valid {
		t.before = append(t.before, vramWord{off, t.VRAMWord(off)})
	}
	t.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// twinned is the link to an emulated GPU without injected faults. A fault is outside of the GPU,
// so a copy of the GPU does not have it.
type twinned struct {
	*emulated
	twin *twin // nil before the first use; guarded by Visit
}

// Twin implements Twinned.
func (t *twinned) Twin(f func(bus.Link, func(uint64, []byte) error)) {
	t.Visit(func() {
		if t.twin == nil {
			t.twin = &twin{GPU: t.dev.gpu.Clone()}
		}
		t.twin.Follow(t.dev.gpu)
		defer t.twin.leave()
		f(t.Fork(t.twin), func(addr uint64, p []byte) error { return peekMem(t.host, addr, p) })
	})
}

// A peeker is a host whose memory can be read without an access of the device.
type peeker interface {
	PeekMem(addr uint64, p []byte) error
}

// peekMem reads the memory of a host. It fails with bus.ErrUnsupported if that is not possible.
func peekMem(host bus.Host, addr uint64, p []byte) error {
	h, ok := host.(peeker)
	if !ok {
		return fmt.Errorf("%w: memory of this host at %#x, without an access", bus.ErrUnsupported, addr)
	}
	return h.PeekMem(addr, p)
}
