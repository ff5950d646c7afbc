package sanitize

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A render is a pfnRenderCb that has not returned.
type render struct {
	commands int // packets of its command buffer that move data
	made     int // of its DMA buffers
}

// Render notes that a command buffer is submitted on a thread. commands are its packets. The
// function that it returns must be called when the callback has returned, with whether it
// succeeded.
func (s *Sanitizer) Render(t *ddi.Thread, commands []byte) (done func(ok bool)) {
	r := &render{commands: moves(commands)}
	s.mu.Lock()
	s.renders[t] = r
	s.mu.Unlock()
	return func(ok bool) {
		s.mu.Lock()
		delete(s.renders, t)
		dropped := ok && s.on && r.commands > 0 && r.made == 0
		s.mu.Unlock()
		if dropped {
			s.report(reportOf(t, "access-dropped", "DxgkDdiRender", "the command buffer has %d packets that move data, and no submission has one", r.commands))
		}
	}
}

// moves returns the number of accesses of a buffer that write.
func moves(commands []byte) (n int) {
	all, _ := accesses(commands, 0)
	for _, x := range all {
		if x.writes {
			n++
		}
	}
	return n
}
