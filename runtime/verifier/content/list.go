package content

import "slices"

// maxOps is the number of operations of the longest list that is executed in the
// model. A longer one makes what it writes unknown.
const maxOps = 1 << 14

// A List has the operations of a command list, or of a context that records one. The
// zero List is empty.
type List struct {
	ops     []op
	length  int                // including those of inner lists
	writes  map[*Resource]bool // resources that it changes
	discard map[*Resource]int  // the last discard in ops of each resource, plus 1; 0: another list's
	after   map[*Resource]bool // resources that an operation changed after it
}

// An op is an operation of a list: it does its work, as part of the given call of
// CommandListExecute.
type op struct {
	inner *List
	do    func(m *Model, list uint64)

	// Discards only: the contents, and the bytes that are known.
	data  []byte
	known []bool
}

// Record adds an operation that changes the resource dst.
func (l *List) Record(dst *Resource, do func(m *Model, list uint64)) {
	l.add(op{do: do}, dst)
	if l.after == nil {
		l.after = map[*Resource]bool{}
	}
	l.after[dst] = true
}

func (l *List) add(o op, dst *Resource) {
	if l.writes == nil {
		l.writes = map[*Resource]bool{}
	}
	l.writes[dst] = true
	if l.length++; l.length <= maxOps {
		l.ops = append(l.ops, o)
	}
}

// Discard adds new contents of subresource 0 of dst: rows of data, pitch bytes apart.
func (l *List) Discard(dst *Resource, data []byte, pitch int, c Call) {
	l.add(op{}, dst)
	if l.length > maxOps {
		return
	}
	i := len(l.ops) - 1
	o := &l.ops[i]
	o.data = slices.Clone(data)
	contents := o.data
	o.do = func(m *Model, list uint64) {
		c.List = list
		m.write(dst, 0, dst.All(0), contents, pitch, l.ops[i].known, false, c)
	}
	if l.discard == nil {
		l.discard = map[*Resource]int{}
	}
	l.discard[dst] = i + 1
	delete(l.after, dst)
}

// Overwrite adds a change of the buffer dst without a discard: before and data are
// its contents before and after. Commands of the list that read the bytes that changed
// may get either value.
func (l *List) Overwrite(dst *Resource, before, data []byte, c Call) {
	i := l.discard[dst] - 1
	if i < 0 || l.length > maxOps || l.after[dst] || len(l.ops[i].data) != len(data) || len(before) != len(data) {
		l.Record(dst, func(*Model, uint64) { dst.forget(0) })
		return
	}
	o := &l.ops[i]
	if o.known == nil {
		o.known = slices.Repeat([]bool{true}, len(data))
	}
	changed, contents := make([]bool, len(data)), slices.Clone(data)
	for j := range data {
		if changed[j] = data[j] != before[j]; changed[j] {
			o.known[j] = false
		}
	}
	l.add(op{do: func(m *Model, list uint64) {
		c.List = list
		m.write(dst, 0, dst.All(0), contents, len(contents), changed, true, c)
	}}, dst)
}

// Execute adds the execution of another list.
func (l *List) Execute(inner *List) {
	if inner == nil || inner.length == 0 {
		return
	}
	if l.writes == nil {
		l.writes = map[*Resource]bool{}
	}
	for r := range inner.writes {
		l.writes[r] = true
		if l.after == nil {
			l.after = map[*Resource]bool{}
		}
		l.after[r] = true
	}
	if l.length += inner.length; l.length <= maxOps {
		l.ops = append(l.ops, op{inner: inner})
	}
}

// Run executes a list. call is the number of the call of CommandListExecute.
func (m *Model) Run(l *List, call uint64) {
	if l == nil {
		return
	}
	if l.length > maxOps {
		m.Lose(l)
		return
	}
	for i := range l.ops {
		if o := &l.ops[i]; o.inner != nil {
			m.Run(o.inner, call)
		} else {
			o.do(m, call)
		}
	}
}

// Lose makes everything unknown that a list writes.
func (m *Model) Lose(l *List) {
	if l == nil {
		return
	}
	for r := range l.writes {
		r.forgetAll()
	}
}
