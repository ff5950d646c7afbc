package verifier

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// TraceVersion is the version of the format that Trace writes.
const TraceVersion = 1

// traceHeader is the first line of a trace.
var traceHeader = fmt.Sprintf(`{"trace":"hilgpu-ddi","version":%d}`+"\n", TraceVersion)

// Trace is a Hook that writes two lines of JSON for each DDI call and callback:
// one at its entry, with the arguments, and one at its return, with the results
// and the changed arguments. Event describes a line. Each line is one Write
// that completes before the call continues, so the trace of a call that hangs
// ends with its entry. A call that unwinds has no second line.
//
// Lines are in order of arrival. Lines of contexts that record concurrently
// interleave differently in each run; Merge puts them in an order that is the
// same in each run. The text of each line is always the same in each run.
type Trace struct {
	now func() uint64

	mu       sync.Mutex
	write    func(t *ddi.Thread, f *Func, enter bool, line []byte) error
	err      error
	enc      encoder
	seq      []uint64 // calls entered, by context
	nested   map[*ddi.Thread][]*tracedCall
	contexts map[*ddi.Root]int   // numbers of deferred contexts, from 1 in order of creation
	threads  map[*ddi.Thread]int // deferred context that records on a thread
}

// A tracedCall is a call that has not returned.
type tracedCall struct {
	f       *Func
	context int // order of calls that it belongs to; 0: the immediate context's
	seq     uint64
	args    []any
	shown   []byte // the arguments as shown at its entry
	ends    []int  // where each of them ends
}

// NewTrace returns a Trace that writes to w. now returns the device's cycle.
func NewTrace(w io.Writer, now func() uint64) *Trace {
	tr := NewTraceFunc(func(_ *ddi.Thread, _ *Func, _ bool, line []byte) error {
		_, err := w.Write(line)
		return err
	}, now)
	_, tr.err = w.Write(TraceHeader())
	return tr
}

// NewTraceFunc returns a Trace that calls write with each line after the header, which
// includes its newline and is valid during the call: at the entry of f on a thread, or at its
// return. It calls write no more after an error. now returns the device's cycle.
func NewTraceFunc(write func(t *ddi.Thread, f *Func, enter bool, line []byte) error, now func() uint64) *Trace {
	return &Trace{
		now: now, write: write, enc: encoder{names: newNames()}, seq: make([]uint64, 1),
		nested: map[*ddi.Thread][]*tracedCall{}, contexts: map[*ddi.Root]int{}, threads: map[*ddi.Thread]int{},
	}
}

// TraceHeader returns the first line of a trace.
func TraceHeader() []byte { return []byte(traceHeader) }

// Err returns the first write error. Nothing is written after it.
func (tr *Trace) Err() error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.err
}

// Enter writes the line of an entry.
func (tr *Trace) Enter(t *ddi.Thread, f *Func, args ...any) {
	cycle := tr.now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	c := &tracedCall{f: f, context: tr.contextOf(t, f, args), args: args}
	tr.seq[c.context]++
	c.seq = tr.seq[c.context]
	tr.nested[t] = append(tr.nested[t], c)
	tr.name(c)

	e := tr.begin("enter", t, c, cycle)
	e.key("direction")
	if f.Callback {
		e.text("callback")
	} else {
		e.text("call")
	}
	e.key("depth")
	e.signed(int64(len(t.Stack()) - 1))
	e.key("irql")
	e.text(t.IRQL().String())
	if len(args) > 0 {
		e.key("args")
		e.open('{')
		c.ends = make([]int, len(args))
		from := len(e.b)
		for i, a := range args {
			e.argument(nameAt(f.Params, i), a)
			c.ends[i] = len(e.b) - from
		}
		c.shown = bytes.Clone(e.b[from:])
		e.close('}')
	}
	tr.end(t, f, true)
}

// Leave writes the line of the return from the innermost call on t.
func (tr *Trace) Leave(t *ddi.Thread, f *Func, results ...any) {
	cycle := tr.now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	stack := tr.nested[t]
	for len(stack) > 0 && stack[len(stack)-1].f != f {
		stack = stack[:len(stack)-1] // skip calls that unwound
	}
	if len(stack) == 0 {
		return
	}
	c := stack[len(stack)-1]
	if tr.nested[t] = stack[:len(stack)-1]; len(stack) == 1 {
		delete(tr.nested, t)
	}
	e := tr.begin("leave", t, c, cycle)
	tr.changed(c)
	if len(results) > 0 {
		e.key("results")
		e.open('{')
		for i, r := range results {
			e.argument(nameAt(f.Results, i), r)
		}
		e.close('}')
	}
	tr.end(t, f, false)
	tr.forget(c)
}

// begin starts a line. A call of a recording context has no cycle: recording
// takes no device time.
func (tr *Trace) begin(at string, t *ddi.Thread, c *tracedCall, cycle uint64) *encoder {
	e := &tr.enc
	e.b, e.order = e.b[:0], c.context
	e.open('{')
	e.key("at")
	e.text(at)
	if c.context != 0 {
		e.key("context")
		e.signed(int64(c.context))
	}
	e.key("seq")
	e.unsigned(c.seq)
	e.key("name")
	e.text(c.f.Name)
	e.key("process")
	e.unsigned(uint64(t.Process))
	e.key("thread")
	e.unsigned(uint64(t.ID))
	if c.context == 0 {
		e.key("cycle")
		e.unsigned(cycle)
	}
	return e
}

// end writes the line.
func (tr *Trace) end(t *ddi.Thread, f *Func, enter bool) {
	tr.enc.close('}')
	tr.enc.b = append(tr.enc.b, '\n')
	if tr.err == nil {
		tr.err = tr.write(t, f, enter, tr.enc.b)
	}
}

// changed adds the arguments that the call changed.
func (tr *Trace) changed(c *tracedCall) {
	e := &tr.enc
	begun, start := false, 0
	for i, a := range c.args {
		before := len(e.b)
		if !begun {
			e.key("args")
			e.open('{')
		}
		from := len(e.b)
		e.argument(nameAt(c.f.Params, i), a)
		shown := c.shown[start:c.ends[i]]
		start = c.ends[i]
		if bytes.Equal(bytes.TrimPrefix(e.b[from:], []byte(",")), bytes.TrimPrefix(shown, []byte(","))) {
			e.b = e.b[:before]
			continue
		}
		begun = true
	}
	if begun {
		e.close('}')
	}
}

// nameAt returns the name of argument or result i.
func nameAt(of []string, i int) string {
	if i < len(of) {
		return of[i]
	}
	return fmt.Sprintf("#%d", i)
}

// contextOf returns the deferred context whose order a call belongs to, or 0
// for the order of the immediate context and the kernel. A nested call belongs
// to the order of its outer call. Calls that create or end a context belong to
// the order of the immediate context.
//
// A few functions called during recording do not name the context; it follows
// from the thread.
func (tr *Trace) contextOf(t *ddi.Thread, f *Func, args []any) int {
	if outer := tr.nested[t]; len(outer) > 0 {
		return outer[len(outer)-1].context
	}
	for _, a := range args {
		switch a := a.(type) {
		case umddi.HDevice:
			if n := tr.contexts[a.Root]; n != 0 {
				return tr.recording(t, f, n)
			}
		case *umddi.CreateCommandList:
			if a != nil && tr.contexts[a.DeferredContext.Root] != 0 {
				return tr.recording(t, f, tr.contexts[a.DeferredContext.Root])
			}
		case *umddi.CreateDeferredContext:
			return tr.create(f, a)
		}
	}
	if strings.HasPrefix(f.Name, "pfnCalc") || f.Name == "pfnDestroyCommandList" {
		return tr.threads[t]
	}
	return 0
}

// recording returns the order of a call that names deferred context n.
func (tr *Trace) recording(t *ddi.Thread, f *Func, n int) int {
	if f.Name == "pfnDestroyDevice" {
		return 0
	}
	tr.threads[t] = n
	return n
}

// create returns the order of a function that creates or recycles a deferred
// context.
func (tr *Trace) create(f *Func, arg *umddi.CreateDeferredContext) int {
	if n := tr.contexts[arg.Context.Root]; n != 0 && f.Name != "pfnCreateDeferredContext" {
		return n
	}
	tr.seq = append(tr.seq, 0)
	n := len(tr.seq) - 1
	tr.contexts[arg.Context.Root] = n
	tr.enc.names.of[arg.Context.Root] = fmt.Sprintf("context %d", n)
	return 0
}

// name gives names to the objects that the call creates.
func (tr *Trace) name(c *tracedCall) {
	tr.enc.names.created(c.args, c.context)
	if c.f.Name == "pfnRecycleCreateCommandList" {
		for _, a := range c.args {
			tr.enc.names.recycled(objectOf(a))
		}
	}
}

// forget drops the objects that the call destroyed.
func (tr *Trace) forget(c *tracedCall) {
	tr.enc.names.destroyed(c.f, c.args)
	if c.f.Name != "pfnDestroyDevice" || len(c.args) == 0 {
		return
	}
	root := rootOf(c.args[0])
	if n := tr.contexts[root]; n != 0 {
		delete(tr.contexts, root)
		for t, of := range tr.threads {
			if of == n {
				delete(tr.threads, t)
			}
		}
	}
}
