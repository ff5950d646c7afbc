package sanitize

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// pending takes a DMA buffer that enters its software queue. The GPU owns the host memory
// that it uses from now on. DxgkDdiPatch writes the addresses later, so they are taken
// from the patch locations: host memory does not move.
func (s *Sanitizer) pending(t *ddi.Thread, e dxgkrnl.Event) {
	if r := s.renders[t]; r != nil {
		r.made += moves(e.Commands)
	}
	commands := append([]byte(nil), e.Commands...)
	of := map[uint32]ddi.KMHandle{}
	for _, use := range e.Uses {
		if a := s.allocations[use.Allocation]; a != nil && uint64(use.At)+8 <= uint64(len(commands)) {
			binary.LittleEndian.PutUint64(commands[use.At:], a.memory.from+use.Offset)
			of[use.At] = use.Allocation
		}
	}
	u := &submission{job: e.Job, device: e.Device, function: e.Text}
	all, _ := accesses(commands, 0)
	for _, x := range all {
		a := s.allocations[of[x.field]]
		if x.allocation = of[x.field]; a != nil && a.placed && (a.mapped || a.place.from&pkt.Host != 0) {
			u.accesses = append(u.accesses, x)
		}
	}
	if s.own(u); len(u.owned) > 0 {
		s.jobs[e.Job] = u
	}
}

// made compares the host memory of a DMA buffer when the first submission is made of it. That
// owns the memory from then on.
func (s *Sanitizer) made(job uint64) {
	s.mu.Lock()
	u := s.jobs[job]
	s.mu.Unlock()
	if u == nil {
		return
	}
	s.compareOwned(u.owned)
	s.mu.Lock()
	delete(s.jobs, job)
	s.mu.Unlock()
}
