package why

import (
	"fmt"
	"strings"
)

// An asked is a node that the kernel asks to stop for other work. Such a preemption has a fence of its own.
type asked struct {
	Point
	node, fence uint32
}

// preemption answers what became of a preemption with a fence. node is -1 for any. It returns nil if the log has none.
func (r *Run) preemption(node int, fence uint32) *Answer {
	for _, p := range r.asks {
		if p.fence != fence || node >= 0 && p.node != uint32(node) {
			continue
		}
		a := &Answer{Question: fmt.Sprintf("fence %d of node %d", p.fence, p.node), Verdict: "it is the fence of a preemption"}
		a.step(p.Point, "the kernel asks node %d to stop for other work", p.node)
		for _, all := range [][]happening{r.stops, r.idle} {
			for i := range all {
				if all[i].ID > p.Event && strings.Contains(firstLine(all[i].Text()), fmt.Sprintf("node %d, fence %d:", p.node, p.fence)) {
					a.step(Point{all[i].ID, all[i].Time}, "the kernel stops waiting: %s", strings.TrimPrefix(firstLine(all[i].Text()), kernelSays))
					return a.lacks(MissingPreempt, "node %d did not stop for it", p.node)
				}
			}
		}
		return a
	}
	return nil
}
