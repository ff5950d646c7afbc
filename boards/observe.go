package boards

import (
	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// An Observation is something that an emulated GPU has done: a node has executed a packet, the DMA
// engine has taken a descriptor of a node, or a node has stopped on a fault.
//
//	Clock    of the GPU, from power on
//	Hz       of that clock
//	Cause    of a fault, as in FAULT_INFO; otherwise 0
//	Header   of an executed packet; otherwise 0
//	Address  of the header, also that of the packet of a descriptor; of a fault, as in
//	         FAULT_LO and FAULT_HI
//	Desc     the descriptor; otherwise its Op is dma.None
type Observation struct {
	Clock   uint64
	Hz      uint64
	Node    int
	Cause   uint32
	Header  uint32
	Address uint64
	Desc    dma.Desc
}

// Observes reports whether Options.Observe is told the packets of the board of a selector: its
// GPU is emulated in this process and has CAPS.TRACE.
func Observes(selector string) bool {
	s, o, err := find(selector)
	if err != nil || !s.emulated {
		return false
	}
	v := values{Values: o.values}
	return v.config().Caps.Has(caps.Trace) && v.err == nil
}

// Sizes returns the bytes of VRAM and the clocks a second of the board of a selector, or zeros if its options do
// not tell, or are invalid.
func Sizes(selector string) (vram, hz uint64) {
	s, o, err := find(selector)
	if err != nil || !s.takes("vram") {
		return 0, 0
	}
	v := values{Values: o.values}
	c := v.config()
	if v.err != nil {
		return 0, 0
	}
	return c.VRAMBytes, uint64(c.ClockHz)
}

// observed is a GPU that is looked at after each clock.
type observed struct {
	hwfault.GPU
	gpu   *gpu.GPU
	see   func(Observation)
	clock uint64
	hz    uint64
	nodes int
	count [2]uint8 // of packets, as gpu.Executed counts

	stopped [2]bool // the node is stopped on a fault that was reported
}

func newObserved(dev hwfault.GPU, g *gpu.GPU, see func(Observation)) *observed {
	o := &observed{GPU: dev, gpu: g, see: see, nodes: g.Config().Nodes, hz: uint64(g.Config().ClockHz)}
	for n := range o.nodes {
		o.count[n] = g.Executed(n)
	}
	return o
}

// Tick advances one clock.
func (o *observed) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	node, desc, from, taken := o.gpu.Descriptor()
	o.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
	o.clock++
	if taken {
		o.see(Observation{Clock: o.clock, Hz: o.hz, Node: node, Address: from, Desc: desc})
	}
	for n := range o.nodes {
		if count := o.gpu.Executed(n); count != o.count[n] {
			o.count[n] = count
			if header, addr, ok := o.gpu.Newest(n); ok {
				o.see(Observation{Clock: o.clock, Hz: o.hz, Node: n, Header: header, Address: addr})
			}
		}
	}
	if faulted := o.gpu.Faulted(); faulted || o.stopped != [2]bool{} {
		o.faults(faulted)
	}
}

// faults reports the nodes that have just stopped, if there is one.
func (o *observed) faults(faulted bool) {
	for n := range o.nodes {
		switch cause, addr := o.gpu.Faulting(n); {
		case cause == 0:
			o.stopped[n] = false
		case faulted && !o.stopped[n]:
			o.stopped[n] = true
			o.see(Observation{Clock: o.clock, Hz: o.hz, Node: n, Cause: cause, Address: addr})
		}
	}
}

// Skip advances n clocks in which nothing happens.
func (o *observed) Skip(n uint64) {
	o.GPU.Skip(n)
	o.clock += n
}
