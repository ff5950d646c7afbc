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
	call     uint64   // of the function of the miniport, in the order of all calls
	culprit  *Culprit // that a checker knows, or nil
}

// noteRefusal notes that a function of the miniport returned a failure on t. Its
// thunk, for which function is "", returns the same status or another one.
func (m *Monitor) noteRefusal(t *ddi.Thread, function string, s ddi.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.refusals[t]
	if function == "" && old.status == s {
		return
	}
	r := refusal{function: function, status: s}
	if frames := m.running[t]; function != "" && len(frames) > 0 {
		r.call = frames[len(frames)-1].number
		if old.call == r.call {
			r.culprit = old.culprit
		}
	}
	m.refusals[t] = r
}

// BlameRefusal makes c the culprit if the innermost call on t, a function of the
// miniport, returns a failure that the user-mode driver gets.
func (m *Monitor) BlameRefusal(t *ddi.Thread, c *Culprit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if frames := m.running[t]; len(frames) > 0 {
		m.refusals[t] = refusal{call: frames[len(frames)-1].number, culprit: c}
	}
}

// lastRefusal returns the failure noted for t.
func (m *Monitor) lastRefusal(t *ddi.Thread) (r refusal, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.refusals[t]
	return r, ok
}

// forgetRefusal forgets the failure noted for t.
func (m *Monitor) forgetRefusal(t *ddi.Thread) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.refusals, t)
}

// refusalOf describes the failure noted for t, or returns "".
func (m *Monitor) refusalOf(t *ddi.Thread) string {
	r, ok := m.lastRefusal(t)
	switch {
	case !ok:
		return ""
	case r.function == "":
		return fmt.Sprintf(" since the kernel returned %v", r.status)
	}
	return fmt.Sprintf(" since %s returned %v", r.function, r.status)
}
