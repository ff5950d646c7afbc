package stress

import (
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// A judge knows which losses of devices, and which stops of the adapter, the faults that have hit
// may cause. Each cause explains one of them.
type judge struct {
	bench  *bench
	nodes  []nodeState
	causes []cause          // that may stop the adapter, since its last reset
	resets [][]cause        // of each reset of the adapter, those before it
	late   map[mark]int     // time-outs of devices after a lost PREEMPT, with their rounds
	hits   map[Fault]uint64 // of the faults that the injector does not count
}

// maxOutstanding is more than the submissions that a node can have at once.
const maxOutstanding = 256

// A mark is a submission.
type mark struct{ node, fence uint32 }

// A nodeState is what the kernel has asked of a node.
type nodeState struct {
	paging []uint32 // fences of the last paging buffers
	asked  bool     // a preemption is due
	lost   uint64   // writes of PREEMPT that were lost before it
}

// A cause is a fault that has hit, and may stop the adapter.
type cause struct {
	fault Fault
	node  uint32 // of the hit; Unplug and Firmware hit all
	round int    // in which it hit
	read  *spoiled
}

func newJudge(b *bench) *judge {
	return &judge{bench: b, late: map[mark]int{}, hits: map[Fault]uint64{}}
}

// node returns the state of a node.
func (j *judge) node(n uint32) *nodeState {
	for uint32(len(j.nodes)) <= n {
		j.nodes = append(j.nodes, nodeState{})
	}
	return &j.nodes[n]
}

// lostWrites returns how many writes of a register of a node were lost.
func (j *judge) lostWrites(node uint32, off uint64) uint64 {
	return j.bench.injector.LostWrites(registers(node) + off)
}

// watch makes the judge see the calls of the kernel.
func (j *judge) watch(table *kmddi.DriverInitializationData) {
	submit, preempt, reset := table.SubmitCommand, table.PreemptCommand, table.ResetEngine
	begin, restart := table.ResetFromTimeout, table.RestartFromTimeout
	table.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
		n := j.node(arg.NodeOrdinal)
		n.asked = false // the kernel submits nothing until the node has answered
		if arg.Flags.Paging {
			n.paging = append(n.paging[max(0, len(n.paging)-maxOutstanding+1):], arg.SubmissionFenceID)
		}
		return submit(t, h, arg)
	}
	if preempt != nil {
		table.PreemptCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.PreemptCommand) ddi.Status {
			n := j.node(arg.NodeOrdinal)
			n.asked, n.lost = true, j.lostWrites(arg.NodeOrdinal, cpreg.Preempt)
			return preempt(t, h, arg)
		}
	}
	if reset != nil {
		table.ResetEngine = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
			before := j.lostWrites(arg.NodeOrdinal, cpreg.Ctl)
			out, st := reset(t, h, arg)
			j.reset(arg.NodeOrdinal, out.LastAbortedFenceID, st, j.lostWrites(arg.NodeOrdinal, cpreg.Ctl) > before)
			return out, st
		}
	}
	if begin != nil {
		table.ResetFromTimeout = func(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
			if len(j.active()) == 0 {
				j.bench.unexplained()
			}
			return begin(t, h)
		}
		table.RestartFromTimeout = func(t *ddi.Thread, h kmddi.HAdapter) ddi.Status {
			st := restart(t, h)
			if !st.Failed() {
				j.resets, j.causes, j.nodes = append(j.resets, j.active()), nil, nil
			}
			return st
		}
	}
}

// reset notes a reset of a node, whose last aborted fence is given. A node that has not seen a PREEMPT
// may lose the work that it executes.
func (j *judge) reset(node, fence uint32, st ddi.Status, ignored bool) {
	n := j.node(node)
	asked := n.asked && j.lostWrites(node, cpreg.Preempt) > n.lost
	n.asked = false
	switch {
	case ignored:
		j.hits[IgnoreReset]++
		if st != ddi.StatusSuccess {
			j.stops(IgnoreReset, node)
		}
	case asked && st == ddi.StatusSuccess && slices.Contains(n.paging, fence):
		j.stops(IgnorePreempt, node)
	case asked && st == ddi.StatusSuccess:
		j.late[mark{node, fence}] = j.bench.round
	}
}

// stops notes a fault that has hit and may stop the adapter.
func (j *judge) stops(f Fault, node uint32) {
	j.causes = append(j.causes, cause{fault: f, node: node, round: j.bench.round})
}

// active returns the causes since the last reset of the adapter. A read that was lost stops the
// adapter in its round or the next one, if at all.
func (j *judge) active() []cause {
	return slices.DeleteFunc(slices.Clone(j.causes), func(c cause) bool {
		return c.read != nil && (c.read.over || !c.read.hit() || c.round+1 < j.bench.round)
	})
}

// explainsStop reports whether one of the causes explains that the adapter has stopped because of e.
func explainsStop(causes []cause, e *dxgkrnl.DeviceError) bool {
	return e != nil && slices.ContainsFunc(causes, func(c cause) bool {
		ended := e.Kind == dxgkrnl.Timeout || e.Kind == dxgkrnl.Fault
		switch c.fault {
		case Unplug:
			return e.Kind == dxgkrnl.Link
		case Firmware:
			return ended
		}
		return ended && e.Node == c.node
	})
}

// timedOut reports whether a lost PREEMPT explains a time-out, and uses it up.
func (j *judge) timedOut(e *dxgkrnl.DeviceError) bool {
	m := mark{e.Node, e.Fence}
	round, ok := j.late[m]
	if !ok || e.Kind != dxgkrnl.Timeout {
		return false
	}
	delete(j.late, m)
	return round+1 >= j.bench.round
}

// injected returns how often each fault has hit.
func (j *judge) injected() map[Fault]uint64 {
	all := map[Fault]uint64{}
	add := func(f Fault, n uint64) {
		if n > 0 {
			all[f] = n
		}
	}
	for f, n := range j.hits {
		add(f, n)
	}
	var preempts uint64
	for node := range uint32(j.bench.sys.Nodes()) {
		preempts += j.lostWrites(node, cpreg.Preempt)
	}
	counts := j.bench.injector.Counts()
	add(IgnorePreempt, preempts)
	add(HostRead, counts.Reads)
	add(LostInterrupt, counts.Messages)
	return all
}
