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
	moves    []work // functions of the driver that move data
	finished *call
	executed []*call
}

// executes is the function that executes a list.
const executes = "pfnCommandListExecute"

// finishes is the call that makes a list of what a context has recorded.
const finishes = "FinishCommandList"

// moving are the functions of the driver that record packets that move data, and whether these fill.
var moving = map[string]bool{
	"pfnResourceCopyRegion": false, "pfnResourceCopy": false, "pfnResourceUpdateSubresourceUP": false, "pfnClearRenderTargetView": true,
}

// recorded notes a function that a deferred context or a command list is given to. executed is the list that it
// executes, or nil.
func (b *builder) recorded(e *eventlog.Event, p *pattern, name string, executed *list) {
	c := b.caller(e)
	if _, ok := e.Number(0); c == nil || p.deferred && !ok {
		return
	}
	switch {
	case p.deferred && name == "pfnCreateCommandList" && strings.Contains(e.Text(), `"arg":null`):
		// A context opens the list of another one, to execute it.
		b.lists[keyOf(e, "list")] = b.lists[keyOf(e, "rt")]
		return
	case p.deferred && name == "pfnCreateCommandList":
		l := b.recording(e)
		key := keyOf(e, "list")
		l.name, l.finished = key.name, c
		b.lists[key] = l
		delete(b.records, contextKey(e))
	case p.deferred && name == "pfnAbandonCommandList":
		delete(b.records, contextKey(e))
	case executed != nil:
		executed.executed = append(executed.executed, c)
	}
	if p.deferred && c.list == nil && c.name != finishes {
		c.list = b.recording(e)
		c.before = len(c.list.moves)
		c.list.calls = append(c.list.calls, c)
	}
	if !p.deferred || c.list != b.recording(e) {
		return
	}
	var moves []work
	if fills, ok := moving[name]; ok {
		moves = []work{{fills, e.Line()}}
	} else if executed != nil && executed != c.list {
		moves = executed.moves
	}
	c.moves += len(moves)
	c.list.moves = append(c.list.moves, moves...)
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

// A listKey identifies a command list.
type listKey struct {
	process uint32
	name    string
}

// keyOf returns the list whose name an event has for a key.
func keyOf(e *eventlog.Event, key string) listKey { return listKey{e.Process, e.Value(key)} }

// A part is what a call moves in a list, also through other lists: a number of moves, after a number of others.
type part struct{ before, moves int }

// maxPlayed bounds the executions of lists in an answer.
const maxPlayed = 16

// played answers what a part of a list led to. It reports whether its work was given to the GPU. seen are the
// calls that the answer came through.
func (r *Run) played(a *Answer, l *list, of part, seen map[*call]bool) bool {
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
		if seen[x] {
			continue
		}
		if seen[x] = true; len(seen) > maxPlayed {
			a.unknown("what later executions of the list led to: the answer has only %d", maxPlayed)
			return given
		}
		a.frames([]frame{x.frame})
		if x.list != nil { // a context recorded the execution too
			given = r.played(a, x.list, part{x.before + of.before, of.moves}, seen) || given
			continue
		}
		mine, known := r.ofPart(l, of, x)
		if !known {
			a.unknown("which packets of the list are of this call")
		}
		for _, e := range x.emitted {
			given = true
			s := r.subs[e.serial]
			a.step(s.queued, "%s in %s", count(int(e.packets), "packet of the list enters the queue", "packets of the list enter the queue"), s.name())
			first := r.chain(s)[0]
			for i := range mine {
				p := s.sameAs(mine[i].packet)
				if mine[i].sub == first && p != nil {
					at := p.executed
					if !at.In() {
						at = s.queued
					}
					a.step(at, "its packet is %s%s", s.describePacket(p), r.predicated(s, p))
				}
			}
			a.end(s)
			r.unended(a, s)
		}
	}
	return given
}

// ofPart returns the packets that a part of a list made, which the call x executed, and whether they are known.
func (r *Run) ofPart(l *list, of part, x *call) (mine []piece, known bool) {
	if of.moves == 0 {
		return nil, true
	}
	o := r.resources(x.process)
	var tasks []task
	for _, w := range l.moves {
		tasks = append(tasks, o.task(w))
	}
	var all []piece
	for _, e := range x.emitted {
		s := r.subs[e.serial]
		if len(r.preceding(s)) > 0 {
			continue // it has the packets of the one that it continues
		}
		var dst *packet
		for i := range s.packets {
			switch p := &s.packets[i]; {
			case !p.writtenIn(x):
			case p.setsDest():
				dst = p
			case p.movesData():
				all = append(all, o.pieceOf(s, p, dst))
			}
		}
	}
	at := split(tasks, all)
	if at == nil {
		return nil, false
	}
	from, to := at[of.before], at[of.before+of.moves]
	if from < 0 || to < 0 {
		return nil, false
	}
	return all[from:to], true
}

// setsDest reports whether a packet is a SET_STATE of the surface that packets write.
func (p *packet) setsDest() bool {
	return len(p.data) >= 8 && p.data[3] == pkt.OpSetState && pkt.Surface(p.data[4]&1) == pkt.Dest
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
