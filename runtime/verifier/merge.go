package verifier

import (
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Merge reads a trace and writes its lines in an order that depends on the
// calls alone, not on the timing of threads.
//
// Lines of the executing context and the kernel keep their order. Lines of a
// deferred context are written before the first line that needs them: a line
// that names an object created in the context, such as the execution of its
// command list, or the line that ends the context. Merge writes only the lines
// needed at each such point. Lines that no other line needs follow at the end,
// context by context.
//
// Calls that the program does not order, such as the creation of objects on
// several threads, stay in order of arrival. Errors wrap ErrTrace or are those
// of r and w. Merge holds the text of the trace in memory.
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
	making map[madeIn][]*need // unfinished calls that create objects
}

// A need is the first lines of a context, up to the return of the call that
// creates an object.
type need struct{ context, lines int }

// A madeIn identifies a call.
type madeIn struct {
	context int
	seq     uint64
}

// A mergedLine is a line, the objects of deferred contexts that it names, and
// the context that it ends, or 0.
type mergedLine struct {
	text    []byte
	objects []string
	ends    int
}

func newMerger(w io.Writer) *merger {
	return &merger{w: w, needs: map[string]*need{}, making: map[madeIn][]*need{}}
}

// add records a line and the lines that it needs.
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

// end writes all lines. A nil merger has none.
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

// through writes the lines of n that are not yet written.
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

// objectsIn appends the names of objects of deferred contexts in a JSON value,
// in any order.
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

// numberIn returns the number matched by the first group of a pattern, or 0.
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
