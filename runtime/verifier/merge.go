package verifier

import (
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Merge reads a trace and writes it in an order that depends on what the contexts
// do and not on which of them was faster.
//
// The lines of the executing context and the kernel stay in order. The lines of a
// deferred context stand before the first line that needs them: one that names an
// object which the context has made, such as the execution of its command list, or
// the end of the context. Only as many of them stand there as that line needs. Lines
// that nothing needs come at the end, context by context.
//
// Calls to which the program gives no order, such as creating objects on several
// threads at once, stay in order of arrival. Merge fails with ErrTrace, and with the
// errors of r and w. It holds the text of a trace in memory.
func Merge(r io.Reader, w io.Writer) error {
	var m *merger
	err := eachLine(r, func() error {
		before := m
		m = newMerger(w)
		return before.end()
	}, func(l traceLine) { m.add(l) })
	if err != nil {
		return err
	}
	return m.end()
}

// A merger writes the lines of a trace.
type merger struct {
	w      io.Writer
	err    error
	orders [][]mergedLine // by context
	done   []int          // lines written, by context
	needs  map[string]*need
	making map[madeIn][]*need // calls that make objects and have not returned
}

// A need is the first lines of a context, up to the return of the call that makes an
// object.
type need struct{ context, lines int }

// A madeIn is a call.
type madeIn struct {
	context int
	seq     uint64
}

// A mergedLine is a line, the objects of deferred contexts in it, and the context that
// it ends, or 0.
type mergedLine struct {
	text    []byte
	objects []string
	ends    int
}

func newMerger(w io.Writer) *merger {
	return &merger{w: w, needs: map[string]*need{}, making: map[madeIn][]*need{}}
}

// add takes a line, and finds what makes each object.
func (m *merger) add(l traceLine) {
	for len(m.orders) <= l.Context {
		m.orders = append(m.orders, nil)
		m.done = append(m.done, 0)
	}
	objects := objectsIn(objectsIn(nil, l.Args), l.Results)
	slices.Sort(objects)
	order := append(m.orders[l.Context], mergedLine{l.text, objects, endedContext(l.Event)})
	m.orders[l.Context] = order
	call := madeIn{l.Context, l.Seq}
	for _, o := range objects {
		if m.needs[o] == nil && contextOfObject(o) == l.Context {
			m.needs[o] = &need{l.Context, math.MaxInt}
			m.making[call] = append(m.making[call], m.needs[o])
		}
	}
	if l.At == "leave" {
		for _, n := range m.making[call] {
			n.lines = len(order)
		}
		delete(m.making, call)
	}
}

// end writes all lines. There is nothing to write of a nil merger.
func (m *merger) end() error {
	if m == nil {
		return nil
	}
	if _, err := io.WriteString(m.w, traceHeader); err != nil {
		return err
	}
	for c := range m.orders {
		m.through(need{c, len(m.orders[c])})
	}
	return m.err
}

// through writes the lines of n that are not written yet.
func (m *merger) through(n need) {
	for m.done[n.context] < min(n.lines, len(m.orders[n.context])) && m.err == nil {
		l := m.orders[n.context][m.done[n.context]]
		m.done[n.context]++
		for _, o := range l.objects {
			if of, ok := m.needs[o]; ok && of.context != n.context {
				m.through(*of)
			}
		}
		if c := l.ends; c != 0 && c < len(m.orders) {
			m.through(need{c, len(m.orders[c])})
		}
		if m.err == nil {
			_, m.err = m.w.Write(l.text)
		}
	}
}

var (
	objectName  = regexp.MustCompile(`^[a-z_]+ (\d+)\.\d+(:\d+)?$`)
	contextName = regexp.MustCompile(`^context (\d+)$`)
)

// objectsIn adds the names of objects of deferred contexts in a JSON value, in any
// order.
func objectsIn(all []string, v any) []string {
	switch v := v.(type) {
	case string:
		if objectName.MatchString(v) {
			all = append(all, v)
		}
	case []any:
		for _, e := range v {
			all = objectsIn(all, e)
		}
	case map[string]any:
		for _, e := range v {
			all = objectsIn(all, e)
		}
	}
	return all
}

func contextOfObject(name string) int { return numberIn(objectName, name) }

// endedContext returns the deferred context that a line ends, or 0.
func endedContext(l Event) int {
	h, _ := l.Args["h"].(string)
	if l.Name != "pfnDestroyDevice" {
		return 0
	}
	return numberIn(contextName, h)
}

// numberIn returns the number that the first group of a pattern matches, or 0.
func numberIn(p *regexp.Regexp, s string) int {
	m := p.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}
