package why

import (
	"fmt"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A command is a function of the immediate context that moves data or executes a list. It is silent if it has
// returned, and has neither written a packet nor locked memory.
type command struct {
	frame
	call *call
	line eventlog.Line // its entry
	list *list         // that it executes, or nil
}

// begins notes a function of the immediate context that must write packets. executed is the list that it executes,
// or nil.
func (b *builder) begins(e *eventlog.Event, at Point, name string, executed *list) {
	f := frame{Point: at, name: name, process: e.Process, thread: e.Thread}
	b.commands[e.ID] = &command{frame: f, call: b.caller(e), line: e.Line(), list: executed}
}

// ends takes the return of a function of the driver. A command that is still in commands then has written no packet. Only
// a function inside a call of the API is a command of the application.
func (b *builder) ends(e *eventlog.Event) {
	c := b.commands[e.Cause]
	if c == nil {
		return
	}
	delete(b.commands, e.Cause)
	if c.call != nil && !b.pattern(e).fails {
		b.silent = append(b.silent, c)
	}
}

// skipped returns the last silent command of the resource that an allocation belongs to, between two events, or
// nil. A log without the packets of command buffers has none.
func (r *Run) skipped(allocation, from, to uint64) *command {
	if !r.emits {
		return nil
	}
	known := map[uint32]owners{}
	for i := len(r.silent) - 1; i >= 0; i-- {
		c := r.silent[i]
		if c.Event <= from || c.Event >= to {
			continue
		}
		o, ok := known[c.process]
		if !ok {
			o = r.resources(c.process)
			known[c.process] = o
		}
		of := o.of[fmt.Sprintf("%#x", allocation)]
		for _, w := range c.works() {
			if t := o.task(w); of != "" && t.owner == of {
				return c
			}
		}
	}
	return nil
}

// works returns what a command must move.
func (c *command) works() []work {
	if c.list != nil {
		return c.list.moves
	}
	return []work{{moving[c.name], c.line}}
}

// describe tells what a command has not done.
func (c *command) describe() string {
	text := fmt.Sprintf("call %d, %s, gave the GPU no packet: %s returned and wrote none", c.call.number, c.call.name, c.name)
	if c.list != nil {
		text += fmt.Sprintf(", and %s has %s", c.list.name, count(len(c.list.moves), "function that moves data", "functions that move data"))
	}
	return text
}

// order returns the event of the call of the API that wrote the packet of a move. It is false for what the kernel moves.
func (m move) order() (uint64, bool) {
	if m.sub.kind == pagingKind {
		return 0, false
	}
	for _, f := range m.sub.calls(m.packet) {
		if f.number != 0 {
			return f.Event, true
		}
	}
	return 0, false
}

// pagingKind is the kind of a submission that is a paging buffer.
const pagingKind = "paging buffer"
