package verifier

import (
	"bytes"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
)

// Merge reads a trace and writes its lines in an order that depends on the
// calls alone, not on the timing of threads.
//
// Lines of the immediate context and the kernel keep their order. Lines of a
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
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return MergeFrom(func() (io.Reader, error) { return bytes.NewReader(text), nil }, w)
}

// MergeFrom is Merge of a trace that open opens twice. It holds in memory the lines that the order
// delays, such as those of a command list that is not yet executed, and the names of the objects of
// deferred contexts. It writes nothing of a bad trace.
func MergeFrom(open func() (io.Reader, error), w io.Writer) error {
	var parts []*merger // one for each header
	err := readTrace(open, func() error {
		parts = append(parts, &merger{w: w, needs: map[string]*need{}, making: map[madeIn][]*need{}})
		return nil
	}, func(l traceLine) { parts[len(parts)-1].learn(l) })
	if err != nil {
		return err
	}
	var m *merger
	err = readTrace(open, func() error {
		if err := m.end(); err != nil {
			return err
		}
		if m = new(merger); len(parts) > 0 { // a trace that grows may have another part
			m, parts = parts[0], parts[1:]
		}
		m.w = w
		_, err := io.WriteString(w, traceHeader)
		return err
	}, func(l traceLine) {
		m.add(l)
		m.advance()
	})
	if err != nil {
		return err
	}
	return m.end()
}

// readTrace calls begin and do for the lines of the trace that open opens.
func readTrace(open func() (io.Reader, error), begin func() error, do func(l traceLine)) error {
	r, err := open()
	if err != nil {
		return err
	}
	return eachLine(r, begin, do)
}

// A merger writes the lines of a trace. It first learns what the lines need, and then takes them.
type merger struct {
	w      io.Writer
	err    error
	counts []int           // lines that exist, by context
	orders [][]*mergedLine // lines that were taken, by context; nil: written
	done   []int           // lines written, by context
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

// learn notes what a line needs and what it makes.
func (m *merger) learn(l traceLine) {
	for len(m.counts) <= l.Context {
		m.counts = append(m.counts, 0)
	}
	m.counts[l.Context]++
	call := madeIn{l.Context, l.Seq}
	for _, o := range objectsOf(l) {
		if m.needs[o] == nil && contextOfObject(o) == l.Context {
			m.needs[o] = &need{l.Context, math.MaxInt}
			m.making[call] = append(m.making[call], m.needs[o])
		}
	}
	if l.At == "leave" {
		for _, n := range m.making[call] {
			n.lines = m.counts[l.Context]
		}
		delete(m.making, call)
	}
}

// objectsOf returns the objects of deferred contexts that a line names, in order.
func objectsOf(l traceLine) []string {
	objects := objectsIn(objectsIn(nil, l.Args), l.Results)
	slices.Sort(objects)
	return objects
}

// add takes a line.
func (m *merger) add(l traceLine) {
	for len(m.orders) <= max(l.Context, len(m.counts)-1) {
		m.orders = append(m.orders, nil)
		m.done = append(m.done, 0)
	}
	m.orders[l.Context] = append(m.orders[l.Context], &mergedLine{l.text, objectsOf(l), endedContext(l.Event)})
}

// advance writes the lines of the immediate context and the kernel up to the first that needs a line
// which was not taken.
func (m *merger) advance() {
	for n := m.done[0]; m.err == nil && n < len(m.orders[0]) && m.taken(need{0, n + 1}, map[int]int{}); n++ {
		m.through(need{0, n + 1})
	}
	if m.done[0] == len(m.orders[0]) { // only lines of a deferred context are counted from the beginning
		m.orders[0], m.done[0] = m.orders[0][:0], 0
	}
}

// taken reports whether the lines of n, and those that they need, were taken. seen counts the lines of each context
// that the search came through.
func (m *merger) taken(n need, seen map[int]int) bool {
	lines := n.lines
	if n.context < len(m.counts) {
		lines = min(lines, m.counts[n.context])
	}
	if lines > len(m.orders[n.context]) {
		return false
	}
	for at := max(m.done[n.context], seen[n.context]); at < lines; at++ {
		seen[n.context] = at + 1
		l := m.orders[n.context][at]
		for _, o := range l.objects {
			if of, ok := m.needs[o]; ok && of.context != n.context && !m.taken(*of, seen) {
				return false
			}
		}
		if c := l.ends; c != 0 && c < len(m.orders) && !m.taken(need{c, math.MaxInt}, seen) {
			return false
		}
	}
	return true
}

// end writes all lines that are left. A nil merger has none.
func (m *merger) end() error {
	if m == nil {
		return nil
	}
	for c := range m.orders {
		m.through(need{c, len(m.orders[c])})
	}
	return m.err
}

// through writes the lines of n that are not yet written.
func (m *merger) through(n need) {
	for m.done[n.context] < min(n.lines, len(m.orders[n.context])) && m.err == nil {
		at := m.done[n.context]
		l := m.orders[n.context][at]
		m.orders[n.context][at] = nil // it is not held
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
