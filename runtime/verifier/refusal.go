package verifier

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// A refusal is a failure in the graphics kernel: of a function of the miniport, or
// of the kernel itself.
type refusal struct {
	function string // of the miniport, or ""
	status   ddi.Status
}

// noteRefusal notes that a function of the miniport returned a failure on t. Its
// thunk, for which function is "", returns the same status or another one.
func (m *Monitor) noteRefusal(t *ddi.Thread, function string, s ddi.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.refusals[t]; function == "" && old.status == s {
		return
	}
	m.refusals[t] = refusal{function, s}
}

// forgetRefusal forgets the failure noted for t.
func (m *Monitor) forgetRefusal(t *ddi.Thread) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.refusals, t)
}

// refusalOf describes the failure noted for t, or returns "".
func (m *Monitor) refusalOf(t *ddi.Thread) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.refusals[t]
	switch {
	case !ok:
		return ""
	case r.function == "":
		return fmt.Sprintf(" since the kernel returned %v", r.status)
	}
	return fmt.Sprintf(" since %s returned %v", r.function, r.status)
}
