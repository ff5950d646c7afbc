package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A thread has the calls that are open on it.
type thread struct {
	track *Track
	calls []call // innermost last
}

// A call has not returned. For an interrupt routine or a DPC irq is its other slice.
type call struct {
	open *open
	irq  **open
}

// thread returns the thread of an event.
func (b *builder) thread(e *eventlog.Event) *thread {
	key := [2]uint32{e.Process, e.Thread}
	t := b.threads[key]
	if t == nil {
		name := fmt.Sprintf("thread %d", e.Thread)
		if e.Process == 0 && e.Thread == 0 {
			name = "system"
		}
		t = &thread{track: b.newTrack(Track{Group: Threads, Process: e.Process, Number: int(e.Thread), Name: name})}
		b.threads[key] = t
		b.inOrder = append(b.inOrder, t)
	}
	return t
}

// enter begins a call, a DDI call or a wait.
func (b *builder) enter(e *eventlog.Event) {
	t := b.thread(e)
	name := cmp.Or(e.Text(), e.Name())
	switch e.Kind {
	case eventlog.DDI:
		name = Function(name)
	case eventlog.Wait:
		name = "wait: " + name
	case eventlog.Call:
		if e.Process == 0 && e.Thread == 0 { // a call without a thread has no end in the log
			b.sink.Mark(Mark{Track: t.track, Name: name, Time: b.now, Event: e.ID})
			return
		}
	}
	c := call{open: b.open(t.track, name, e.ID, 0)}
	switch name {
	case "DxgkDdiInterruptRoutine":
		b.closeMessages()
		c.irq = b.routine(&b.isr, routineTrack, name, e)
	case "DxgkDdiDpcRoutine":
		c.irq = b.routine(&b.dpc, dpcTrack, name, e)
	}
	t.calls = append(t.calls, c)
}

// routine begins the slice of an interrupt routine or of a DPC in the group of interrupts.
func (b *builder) routine(o **open, number int, name string, e *eventlog.Event) **open {
	b.close(o)
	*o = b.open(b.interruptTrack(number), name, e.ID, 0)
	return o
}

// closeMessages ends the messages that wait for the interrupt routine.
func (b *builder) closeMessages() {
	for _, o := range b.messages {
		b.close(&o)
	}
	b.messages = b.messages[:0]
}

// leave ends the call that is the cause of e, and those in it.
func (b *builder) leave(e *eventlog.Event) {
	t := b.threads[[2]uint32{e.Process, e.Thread}]
	if t == nil {
		return
	}
	if i := slices.IndexFunc(t.calls, func(c call) bool { return c.open.Event == e.Cause }); i >= 0 {
		b.unwind(t, i)
	}
}

// unwind ends the calls from number n on. Each ends at the same time as those around it.
func (b *builder) unwind(t *thread, n int) {
	for i := len(t.calls) - 1; i >= n; i-- {
		c := t.calls[i]
		b.close(&c.open)
		if c.irq != nil {
			b.close(c.irq)
		}
	}
	t.calls = t.calls[:n]
}

// innermost returns the open slice of the thread of an event, or nil: that of an interrupt
// routine or a DPC if it is in one.
func (b *builder) innermost(e *eventlog.Event) *open {
	t := b.threads[[2]uint32{e.Process, e.Thread}]
	if t == nil || len(t.calls) == 0 {
		return nil
	}
	for i := len(t.calls) - 1; i >= 0; i-- {
		if irq := t.calls[i].irq; irq != nil && *irq != nil {
			return *irq
		}
	}
	return t.calls[len(t.calls)-1].open
}

// Function returns the name of the function in a line of the DDI trace.
func Function(line string) string {
	_, rest, _ := strings.Cut(line, `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return cmp.Or(name, "unknown")
}
