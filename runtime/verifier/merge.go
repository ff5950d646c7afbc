package verifier

import (
	"io"
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
// errors of r and w. It holds the whole trace in memory.
func Merge(r io.Reader, w io.Writer) error {
	traces, err := readLines(r)
	if err != nil {
		return err
	}
	for _, lines := range traces {
		m := &merger{w: w, needs: map[string]need{}}
		m.index(lines)
		if _, err := io.WriteString(w, traceHeader); err != nil {
			return err
		}
		for c := range m.orders {
			m.through(need{c, len(m.orders[c])})
		}
		if m.err != nil {
			return m.err
		}
	}
	return nil
}

// A merger writes the lines of a trace.
type merger struct {
	w      io.Writer
	err    error
	orders [][]*mergedLine // by context
	done   []int           // lines written, by context
	needs  map[string]need // by object: the lines up to the return of the call that made it
}

// A need is the first lines of a context.
type need struct{ context, lines int }

// A mergedLine is a line and the objects of deferred contexts in it.
type mergedLine struct {
	traceLine
	objects []string
}

// index sorts the lines by context, and finds what made each object.
func (m *merger) index(lines []traceLine) {
	type call struct {
		context int
		seq     uint64
	}
	makers := map[string]call{}
	ends := map[call]int{}
	for i := range lines {
		l := &mergedLine{traceLine: lines[i], objects: objectsIn(nil, lines[i].Args)}
		l.objects = objectsIn(l.objects, l.Results)
		slices.Sort(l.objects)
		for len(m.orders) <= l.Context {
			m.orders = append(m.orders, nil)
			m.done = append(m.done, 0)
		}
		m.orders[l.Context] = append(m.orders[l.Context], l)
		if l.At == "leave" {
			ends[call{l.Context, l.Seq}] = len(m.orders[l.Context])
		}
		for _, o := range l.objects {
			if _, ok := makers[o]; !ok && contextOfObject(o) == l.Context {
				makers[o] = call{l.Context, l.Seq}
			}
		}
	}
	for o, c := range makers {
		n, returned := ends[c]
		if !returned {
			n = len(m.orders[c.context])
		}
		m.needs[o] = need{c.context, n}
	}
}

// through writes the lines of n that are not written yet.
func (m *merger) through(n need) {
	for m.done[n.context] < n.lines && m.err == nil {
		l := m.orders[n.context][m.done[n.context]]
		m.done[n.context]++
		for _, o := range l.objects {
			if of, ok := m.needs[o]; ok && of.context != n.context {
				m.through(of)
			}
		}
		if c := endedContext(l); c != 0 && c < len(m.orders) {
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
func endedContext(l *mergedLine) int {
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
