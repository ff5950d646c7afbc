package why

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// An asked is a node that the kernel asks to stop for other work. Such a preemption has a fence of its own.
type asked struct {
	Point
	node, fence uint32
	stopped     Point // DxgkCbNotifyInterrupt says that the node has stopped
}

// answered notes that the miniport reports that a node has stopped.
func (b *builder) answered(e *eventlog.Event, at Point) {
	const preempted = "InterruptDMAPreempted"
	if !strings.Contains(e.Text(), preempted) {
		return
	}
	var l noticeLine
	if json.Unmarshal([]byte(e.Text()), &l) != nil || l.Args.Arg.InterruptType != preempted {
		return
	}
	for i := range slices.Backward(b.asks) {
		if p := &b.asks[i]; uint64(p.node) == l.Args.Arg.NodeOrdinal && uint64(p.fence) == l.Args.Arg.FenceID {
			p.stopped = at
			return
		}
	}
}

// preemption answers what became of a preemption with a fence. node is -1 for any. It returns nil if the log has none.
func (r *Run) preemption(node int, fence uint32) *Answer {
	for _, p := range slices.Backward(r.asks) {
		if p.fence != fence || node >= 0 && p.node != uint32(node) {
			continue
		}
		a := &Answer{Question: fmt.Sprintf("fence %d of node %d", p.fence, p.node), Verdict: "it is the fence of a preemption"}
		a.step(p.Point, "the kernel asks node %d to stop for other work", p.node)
		if p.stopped.In() {
			a.step(p.stopped, "DxgkCbNotifyInterrupt reports that it has stopped")
			a.Verdict += ", and the node stopped for it"
			return a
		}
		if h := r.afterwards(p); h != nil {
			a.step(Point{h.ID, h.Time}, "%s: %s", h.because(), strings.TrimPrefix(firstLine(h.Text()), kernelSays))
		}
		return a.lacks(MissingPreempt, "the miniport did not report that node %d stopped for it", p.node)
	}
	return nil
}

// afterwards returns the first stop of the adapter, or reset of a node, after it was asked to stop, or nil.
func (r *Run) afterwards(p asked) (first *happening) {
	for _, all := range [][]happening{r.stops, r.idle} {
		for i := range all {
			h := &all[i]
			if h.ID > p.Event && (h.Kind == eventlog.Stop || uint32(h.Fields[1]) == p.node) && (first == nil || h.ID < first.ID) {
				first = h
			}
		}
	}
	return first
}
