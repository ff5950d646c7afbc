package dxgkrnl

import "fmt"

// A line is work that completes in the order in which it is made: that of a context,
// or all paging buffers. Its submissions are numbered from 1.
//
// made >= submitted >= completed.
type line struct {
	node      *node
	context   *context // nil: of the paging buffers
	made      uint64   // last number given to a submission
	submitted uint64   // last number submitted to the hardware and not preempted
	completed uint64   // last number retired
	cut       bool     // what is not in the hardware is cancelled
}

// settle completes what was cancelled, when all that is in the hardware has completed.
func (l *line) settle() {
	if l.cut && l.completed == l.submitted {
		l.submitted, l.completed = l.made, l.made
	}
}

// A mark is a submission of a line.
type mark struct {
	line   *line
	number uint64
}

// String describes the submission, by its fence if it is in the hardware.
func (m mark) String() string {
	for _, s := range m.line.node.hardware {
		if s.mark == m {
			return fmt.Sprintf("node %d fence %d", m.line.node.ordinal, s.arg.SubmissionFenceID)
		}
	}
	if m.line.context == nil {
		return fmt.Sprintf("paging buffer %d", m.number)
	}
	return fmt.Sprintf("submission %d of context %#x", m.number, m.line.context.handle)
}

// completed reports whether the submission has completed.
func (m mark) completed() bool { return m.number <= m.line.completed }

// running reports whether the submission is in the hardware.
func (m mark) running() bool { return !m.completed() && m.number <= m.line.submitted }

// given returns the last submission of the line that the hardware has got, at most m itself:
// m may wait while earlier work of its line is executed.
func (m mark) given() mark { return mark{m.line, min(m.number, m.line.submitted)} }

// precedes reports whether the submission has completed, or is in the hardware of n
// and so completes before whatever is submitted to n later.
func (m mark) precedes(n *node) bool {
	return m.completed() || m.line.node == n && m.running()
}

// marks is a set of submissions, at most one of each line: the last one, which
// completes after all earlier ones.
type marks []mark

// add adds a submission and drops those that have completed.
func (s *marks) add(m mark) {
	kept := (*s)[:0]
	for _, o := range *s {
		switch {
		case o.line == m.line:
			m.number = max(m.number, o.number)
		case !o.completed():
			kept = append(kept, o)
		}
	}
	if !m.completed() {
		kept = append(kept, m)
	}
	*s = kept
}

// passed reports whether all have completed.
func (s marks) passed() bool {
	for _, m := range s {
		if !m.completed() {
			return false
		}
	}
	return true
}
