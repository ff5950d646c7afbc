package verifier

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// An Event is one DDI call or callback, one line of a trace.
type Event struct {
	Seq       uint64 `json:"seq"`       // order of entry, from 1
	Name      string `json:"name"`      // as in the WDK
	Direction string `json:"direction"` // "call" into a driver or "callback" out of it
	Depth     int    `json:"depth"`     // DDI functions around this one on its thread
	Process   uint32 `json:"process"`   // 0 is the system
	Thread    uint32 `json:"thread"`
	IRQL      string `json:"irql"`
	Cycle     uint64 `json:"cycle"` // of the device's clock, at entry

	Device     uint64 `json:"device,omitempty"`  // user-mode device or deferred context, in order of appearance
	Context    uint64 `json:"context,omitempty"` // kernel-mode context in order of appearance, or user-mode handle
	Fence      uint32 `json:"fence,omitempty"`
	Node       *int   `json:"node,omitempty"`
	Paging     bool   `json:"paging,omitempty"`
	Result     string `json:"result,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty"` // it did not return before the trace was closed
}

// Trace is a Hook that writes an Event for each call, in order of entry. A line
// is written when its call and all before it have returned.
type Trace struct {
	now func() uint64

	mu       sync.Mutex
	w        *json.Encoder
	err      error
	seq      uint64
	open     []*Event                 // entered, not yet written, in order
	nested   map[*ddi.Thread][]*Event // calls that each thread is in, outermost first
	contexts map[*ddi.Root]uint64
	devices  map[*ddi.Root]uint64
}

// NewTrace returns a Trace that writes to w; now returns the device's cycle.
func NewTrace(w io.Writer, now func() uint64) *Trace {
	return &Trace{now: now, w: json.NewEncoder(w), nested: map[*ddi.Thread][]*Event{}, contexts: map[*ddi.Root]uint64{}, devices: map[*ddi.Root]uint64{}}
}

// Enter records the start of a call.
func (tr *Trace) Enter(t *ddi.Thread, f *Func, args ...any) {
	cycle := tr.now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seq++
	ev := &Event{
		Seq: tr.seq, Name: f.Name, Direction: "call", Depth: len(t.Stack()) - 1,
		Process: t.Process, Thread: t.ID, IRQL: t.IRQL().String(), Cycle: cycle, Unfinished: true,
	}
	if f.Callback {
		ev.Direction = "callback"
	}
	for _, a := range args {
		tr.describe(ev, a)
	}
	tr.nested[t] = append(tr.nested[t], ev)
	tr.open = append(tr.open, ev)
}

// Leave records the end of the call entered last on t.
func (tr *Trace) Leave(t *ddi.Thread, f *Func, results ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	stack := tr.nested[t]
	for len(stack) > 0 && stack[len(stack)-1].Name != f.Name {
		stack = stack[:len(stack)-1] // a call that unwound
	}
	if len(stack) == 0 {
		return
	}
	ev := stack[len(stack)-1]
	tr.nested[t] = stack[:len(stack)-1]
	ev.Unfinished = false
	for _, r := range results {
		describeResult(ev, r)
	}
	n := 0
	for n < len(tr.open) && !tr.open[n].Unfinished {
		tr.write(tr.open[n])
		n++
	}
	tr.open = append(tr.open[:0], tr.open[n:]...)
}

func (tr *Trace) write(ev *Event) {
	if tr.err == nil {
		tr.err = tr.w.Encode(ev)
	}
}

// Close writes what did not return and reports the first error of writing. It
// does not close the writer.
func (tr *Trace) Close() error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, ev := range tr.open {
		tr.write(ev)
	}
	tr.open = nil
	return tr.err
}

// describe adds what an argument tells.
func (tr *Trace) describe(ev *Event, arg any) {
	switch a := arg.(type) {
	case umddi.HDevice:
		ev.Device = number(tr.devices, a.Root)
	case umddi.Present:
		ev.Device = number(tr.devices, a.Device.Root)
	case *umddi.CreateDevice:
		ev.Device = number(tr.devices, a.Device.Root)
	case *umddi.CreateDeferredContext:
		number(tr.devices, a.Context.Root)
	case kmddi.HContext:
		ev.Context = tr.context(a)
	case kmddi.SubmitCommand:
		ev.Context, ev.Fence, ev.Node, ev.Paging = tr.context(a.Context), a.SubmissionFenceID, node(a.NodeOrdinal), a.Flags.Paging
	case kmddi.Patch:
		ev.Context, ev.Fence, ev.Node = tr.context(a.Context), a.SubmissionFenceID, node(a.NodeOrdinal)
	case kmddi.BuildPagingBuffer:
		ev.Paging = true
	case kmddi.NotifyInterrupt:
		ev.Fence, ev.Node = a.FenceID, node(a.NodeOrdinal)
	case kmddi.QueryCurrentFence:
		ev.Node = node(a.NodeOrdinal)
	case *umddi.Render:
		ev.Context = uint64(a.Context)
	case *umddi.PresentCB:
		ev.Context = uint64(a.Context)
	}
}

func node(n uint32) *int {
	i := int(n)
	return &i
}

func (tr *Trace) context(h kmddi.HContext) uint64 { return number(tr.contexts, h.Root) }

// number numbers objects in order of appearance, from 1; none is 0.
func number(of map[*ddi.Root]uint64, r *ddi.Root) uint64 {
	if r == nil {
		return 0
	}
	n, ok := of[r]
	if !ok {
		n = uint64(len(of)) + 1
		of[r] = n
	}
	return n
}

func describeResult(ev *Event, result any) {
	switch r := result.(type) {
	case ddi.Status:
		ev.Result = r.Error()
	case ddi.HRESULT:
		ev.Result = r.Error()
	case bool:
		ev.Result = fmt.Sprint(r)
	case kmddi.QueryCurrentFenceOut:
		ev.Fence = r.CurrentFence
	}
}
