// Package events writes the log of a run: a [Recorder] listens to the runtime, to the driver
// interfaces, to the graphics kernel, to the host's accesses and, where the GPU is emulated,
// to its nodes, and ties each event to its cause.
package events

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A Sink takes events: an eventlog.Writer.
type Sink interface {
	Add(e eventlog.Event) uint64
	Flush() error
}

// A Recorder turns what its methods are told into events. It is safe for concurrent use.
type Recorder struct {
	sink Sink
	now  func() uint64 // of the device's clock
	hz   uint64        // of that clock

	mu    sync.Mutex
	calls uint64 // of the API
	last  uint64 // last time that an event had
	open  map[*ddi.Thread][]opened
	wait  uint64 // the wait of the kernel

	packets  map[uint64]uint64 // events of the packets of submissions and rings, by address
	pending  [pendingJobs]pending
	nak      uint64 // event of the last Nak that was received
	refused  uint64 // event of the last frame that was refused
	rate     uint64 // of the link; 0: not known
	area     shadow // of the message area
	given    given
	fetches  fetches
	executed uint64 // the last event of an emulated GPU, 0 if there is none
	down     bool   // the link was found down
}

// An opened event is a call that has not returned.
type opened struct {
	id   uint64
	name string // of a DDI function; "" for a call of the API
	api  string // name of a call of the API
}

// New returns a recorder for the board of a header. now returns the time of the device's clock; it is not called in a
// method that the device calls.
func New(sink Sink, h eventlog.Header, now func() uint64) *Recorder {
	sink.Add(eventlog.New(eventlog.Open, h.Hz, flag(h.Observed), h.TdrDelay).WithText(h.Board))
	return &Recorder{sink: sink, now: now, hz: h.Hz, open: map[*ddi.Thread][]opened{}, packets: map[uint64]uint64{}}
}

// Flush writes all events to the sink's file.
func (r *Recorder) Flush() error { return r.sink.Flush() }

// add adds an event of a thread at a time. Its cause is the innermost open call, unless it has
// one.
func (r *Recorder) add(t *ddi.Thread, time uint64, e eventlog.Event) uint64 {
	r.last = max(r.last, time)
	e.Time = r.last
	if t != nil {
		e.Process, e.Thread = t.Process, t.ID
		if calls := r.open[t]; e.Cause == 0 && len(calls) > 0 {
			e.Cause = calls[len(calls)-1].id
		}
	}
	return r.sink.Add(e)
}

// Enter notes that a call of the API begins. It implements d3d11.Observer.
func (r *Recorder) Enter(t *ddi.Thread, api string) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	id := r.add(t, now, eventlog.New(eventlog.Call, r.calls).WithText(api))
	if t != nil {
		r.open[t] = append(r.open[t], opened{id: id, api: api})
	}
}

// Leave notes that a call of the API returns.
func (r *Recorder) Leave(t *ddi.Thread, _ string) {
	if t == nil {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(t, now, "", eventlog.New(eventlog.CallEnd))
}

// Failed notes that a call of the API fails or is dropped. One that has not entered gets its own events.
func (r *Recorder) Failed(t *ddi.Thread, api, text string) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := eventlog.New(eventlog.CallFailed).WithText(text)
	for _, c := range slices.Backward(r.open[t]) {
		if c.api == api {
			e.Cause = c.id
			r.add(t, now, e)
			return
		}
	}
	r.calls++
	e.Cause = r.add(t, now, eventlog.New(eventlog.Call, r.calls).WithText(api))
	r.add(t, now, e)
	end := eventlog.New(eventlog.CallEnd)
	end.Cause = e.Cause
	r.add(t, now, end)
}

// leave closes the innermost open call with a name, and those in it, which have unwound.
func (r *Recorder) leave(t *ddi.Thread, now uint64, name string, e eventlog.Event) {
	calls := r.open[t]
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].name != name {
			continue
		}
		e.Cause = calls[i].id
		r.add(t, now, e)
		if r.open[t] = calls[:i]; i == 0 {
			delete(r.open, t)
		}
		return
	}
}

// DDI notes a line of the trace of the driver interfaces, as verifier.NewTraceFunc gives it. number is that of
// verifier.Monitor.Number at the entry, or 0 without a monitor.
func (r *Recorder) DDI(t *ddi.Thread, f *verifier.Func, enter bool, number uint64, line []byte) {
	now := r.now()
	text := string(bytes.TrimSuffix(line, []byte("\n")))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !enter {
		r.leave(t, now, f.Name, eventlog.New(eventlog.DDIEnd).WithText(text))
		return
	}
	id := r.add(t, now, eventlog.New(eventlog.DDI, number).WithText(text))
	r.open[t] = append(r.open[t], opened{id: id, name: f.Name})
}

// Emitted notes that the outermost function of a driver on a thread has written packets into the
// command buffer of a context, for cmdbuf.Listener.
func (r *Recorder) Emitted(t *ddi.Thread, context ddi.KMHandle, from, to int) {
	e := eventlog.New(eventlog.Emit, uint64(context), uint64(from), uint64(to))
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.open[t] {
		if c.name != "" {
			e.Cause = c.id
			break
		}
	}
	r.add(t, now, e)
}

// Accessed notes an access of the host. It implements hal.Observer.
func (r *Recorder) Accessed(t *ddi.Thread, a hal.Access) {
	kind := eventlog.Read
	if a.Write {
		kind = eventlog.Write
	}
	var value uint64
	for i := min(len(a.Data), 4) - 1; i >= 0 && (a.Write || a.Err == nil); i-- {
		value = value<<8 | uint64(a.Data[i])
	}
	e := eventlog.New(kind, uint64(a.BAR), a.Offset, uint64(len(a.Data)), value)
	if a.Err != nil {
		e = e.WithText(a.Err.Error())
	}
	register := a.BAR == 0 && len(a.Data) == 4 && a.Err == nil
	var given []eventlog.Event
	if register && a.Write {
		given = r.given.register(a.Offset, uint32(value))
	}
	now := r.now()
	r.mu.Lock()
	id := r.add(t, now, e)
	if register {
		r.area.register(a.Write, a.Offset, uint32(value), id)
	}
	for _, p := range given {
		p.Cause = id
		r.packets[p.Fields[1]] = r.add(t, now, p)
	}
	r.mu.Unlock()
	if errors.Is(a.Err, bus.ErrLinkDown) {
		r.linkDown(t, a.Err)
	}
}

// linkDown notes once that the link is down.
func (r *Recorder) linkDown(t *ddi.Thread, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.down {
		r.down = true
		r.add(t, 0, eventlog.New(eventlog.Link).WithText(eventlog.LinkDown+err.Error()))
	}
}

// LinkUp notes that the link is back.
func (r *Recorder) LinkUp(t *ddi.Thread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		r.down = false
		r.add(t, 0, eventlog.New(eventlog.Link).WithText("up"))
	}
}

// Arrived notes that an interrupt message arrives, at the time of the event before it.
func (r *Recorder) Arrived(vector uint32) {
	r.device(eventlog.New(eventlog.Message, uint64(vector)))
}

// maxMemory is the length of the longest write to host memory that is noted: a fence.
const maxMemory = 8

// Wrote notes that the GPU writes host memory, if it is a short write.
func (r *Recorder) Wrote(addr uint64, p []byte) {
	if len(p) > maxMemory {
		return
	}
	var value uint64
	for i, b := range p {
		value |= uint64(b) << (8 * i)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caused(eventlog.New(eventlog.Memory, addr, uint64(len(p)), value))
	if r.area.wrote(addr, p) {
		r.firmware()
	}
}

// Refused notes an access of the device to n bytes at an address without memory.
func (r *Recorder) Refused(addr uint64, n int, write bool) {
	r.device(eventlog.New(eventlog.Refused, addr, uint64(n), flag(write)))
}

// Expect notes that a node is given work that must fault, with a cause in FAULT_INFO and an address in FAULT_ADDR.
func (r *Recorder) Expect(node int, cause uint32, addr uint64) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(nil, now, eventlog.New(eventlog.Expect, uint64(node), uint64(cause), addr))
}

// Inject notes that the command injects a fault, with a name, into the work of a device, or for all if that is 0. It may
// end in a time-out of a node, a fault of a node, or a stop of the adapter.
func (r *Recorder) Inject(device ddi.KMHandle, name string, timeout, fault, stop bool) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(nil, now, eventlog.New(eventlog.Inject, uint64(device), flag(timeout), flag(fault), flag(stop)).WithText(name))
}

// device adds an event of the device, within an access of the host.
func (r *Recorder) device(e eventlog.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caused(e)
}

// caused adds an event whose cause is the last one of an emulated GPU, while the lock is held.
func (r *Recorder) caused(e eventlog.Event) {
	e.Cause = r.executed
	r.add(nil, 0, e)
}

// Observe notes what an emulated GPU has done.
func (r *Recorder) Observe(o boards.Observation) {
	e := eventlog.New(eventlog.Executed, uint64(o.Node), o.Address, uint64(o.Header), o.Clock)
	switch {
	case o.Desc.Op != dma.None:
		e = eventlog.New(eventlog.Descriptor, uint64(o.Node), o.Address, o.Desc.Dst, o.Desc.Src, uint64(o.Desc.Len), flag(o.Desc.Op == dma.Fill), o.Clock)
	case o.Cause != 0:
		e = eventlog.New(eventlog.Fault, uint64(o.Node), 0, uint64(o.Cause), o.Address, o.Clock)
	}
	high, low := bits.Mul64(o.Clock, r.hz)
	time, _ := bits.Div64(high%o.Hz, low, o.Hz)
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Cause = r.packets[o.Address]
	if id := r.add(nil, time, e); e.Kind != eventlog.Descriptor {
		r.executed = id
	}
}

// Broken notes a broken rule, and whether it stops the system.
func (r *Recorder) Broken(v *verifier.Violation, stops bool) {
	var w verifier.Work
	if v.Work != nil {
		w = *v.Work
	}
	e := eventlog.New(eventlog.Broken, flag(stops), w.Submission, flag(w.Packet), uint64(w.Offset)).WithText(v.Error())
	r.mu.Lock()
	var thread *ddi.Thread
	for t := range r.open {
		if t.Process == v.Process && t.ID == v.Thread {
			thread = t // there is one
		}
	}
	r.add(thread, 0, e)
	r.mu.Unlock()
	r.sink.Flush() // the writer keeps its error
}

// Text notes a line of the driver.
func (r *Recorder) Text(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(nil, 0, eventlog.New(eventlog.Text).WithText(line))
}

var _ hal.Observer = (*Recorder)(nil)
var _ func(*ddi.Thread, dxgkrnl.Event) = (*Recorder)(nil).Kernel
