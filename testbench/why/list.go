package why

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A list is a command list: what a deferred context recorded, and the calls that executed it.
type list struct {
	name     string
	calls    []*call
	moves    int // functions of the driver that move data
	finished *call
	executed []*call
}

// finishes is the call that makes a list of what a context has recorded.
const finishes = "FinishCommandList"

// moving are the functions of the driver that record one packet that moves data.
var moving = map[string]bool{
	"pfnResourceCopyRegion": true, "pfnResourceCopy": true, "pfnClearRenderTargetView": true,
}

// recorded notes a function that a deferred context or a command list is given to.
func (b *builder) recorded(e *eventlog.Event, p pattern, name string) {
	c := b.caller(e)
	if _, ok := e.Number(0); c == nil || p.deferred && !ok {
		return
	}
	switch {
	case p.deferred && name == "pfnCreateCommandList":
		l := b.recording(e)
		l.name, l.finished = valueOf(e.Text(), "list"), c
		b.lists[listKey(e, l.name)] = l
		delete(b.records, contextKey(e))
	case p.deferred && name == "pfnAbandonCommandList":
		delete(b.records, contextKey(e))
	case name == "pfnCommandListExecute":
		if l := b.lists[listKey(e, valueOf(e.Text(), "list"))]; l != nil {
			l.executed = append(l.executed, c)
		}
	}
	if p.deferred && c.list == nil && c.name != finishes {
		c.list = b.recording(e)
		c.before = c.list.moves
		c.list.calls = append(c.list.calls, c)
	}
	if p.deferred && moving[name] && c.list == b.recording(e) {
		c.moves++
		c.list.moves++
	}
}

// recording returns the list that the deferred context of an event records.
func (b *builder) recording(e *eventlog.Event) *list {
	key := contextKey(e)
	if b.records[key] == nil {
		b.records[key] = &list{}
	}
	return b.records[key]
}

// contextKey identifies a deferred context: its number is the first of a line.
func contextKey(e *eventlog.Event) uint64 {
	n, _ := e.Number(0)
	return uint64(e.Process)<<32 | n
}

func listKey(e *eventlog.Event, name string) string { return fmt.Sprintf("%d %s", e.Process, name) }

// valueOf returns the string of a key in a line of the trace.
func valueOf(line, key string) string {
	_, rest, _ := strings.Cut(line, `"`+key+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// played answers what a call led to that a deferred context recorded. It reports whether the work
// of the call was given to the GPU.
func (r *Run) played(a *Answer, c *call) bool {
	l := c.list
	if l.finished == nil {
		a.Verdict = "it was recorded, but its list was not finished"
		return false
	}
	a.frames([]frame{l.finished.frame})
	a.step(l.finished.end, "the commands are in %s; calls that recorded it: %d", l.name, len(l.calls))
	if len(l.executed) == 0 {
		a.Verdict = fmt.Sprintf("it was recorded, but %s was not executed", l.name)
	}
	given := false
	for _, x := range l.executed {
		a.frames([]frame{x.frame})
		if x.list != nil { // a context recorded the execution too
			given = r.played(a, x) || given
			continue
		}
		for _, serial := range x.order {
			given = true
			s := r.subs[serial]
			a.step(s.queued, "%d packets of the list enter the queue in %s", x.emitted[serial], s.name())
			r.ofCall(a, s, c, x)
			a.step(s.retired, "submission %d has ended", serial)
			if !s.retired.In() && a.Missing == "" {
				r.missing(a, s, map[*submission]bool{})
			}
		}
	}
	return given
}

// ofCall adds the packets of a submission that a recorded call made. The list has one packet that moves
// data for each function of the driver that does, in order. If it has another number of them, it
// is unknown which are those of the call.
func (r *Run) ofCall(a *Answer, s *submission, c, x *call) {
	var all []*packet
	for i := range s.packets {
		if p := &s.packets[i]; p.writtenIn(x) && p.movesData() {
			all = append(all, p)
		}
	}
	if len(all) != c.list.moves {
		a.unknown("which packets of the list are of this call")
		return
	}
	for _, p := range all[c.before : c.before+c.moves] {
		at := p.executed
		if !at.In() {
			at = s.queued
		}
		a.step(at, "its packet is %s", s.describePacket(p))
	}
}

// writtenIn reports whether a packet was written in a call.
func (p *packet) writtenIn(c *call) bool {
	for _, f := range p.origin {
		if f.number == c.number {
			return true
		}
	}
	return false
}

// movesData reports whether a packet writes memory other than a fence or a time.
func (p *packet) movesData() bool {
	if len(p.data) < 4 {
		return false
	}
	switch p.data[3] {
	case pkt.OpCopy, pkt.OpFill, pkt.OpCopy2D, pkt.OpFill2D:
		return true
	}
	return false
}
