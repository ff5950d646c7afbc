package testbench

import (
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
)

// Stats counts the work of a System, in simulated units: equal runs give equal
// numbers. Cycles, Packets and BytesMoved are 0, and absent from JSON, on a board
// that does not report them.
type Stats struct {
	Cycles        uint64 `json:"cycles,omitempty"`  // clocks of the device since it was opened
	Packets       uint64 `json:"packets,omitempty"` // retired by the command processors
	DMABuffers    uint64 `json:"dma_buffers"`
	PagingBuffers uint64 `json:"paging_buffers"`
	Fences        uint64 `json:"fences"`
	Interrupts    uint64 `json:"interrupts"`
	Lost          uint64 `json:"lost_interrupts,omitempty"` // found by polling the GPU
	DPCs          uint64 `json:"dpcs"`
	Late          uint64 `json:"late,omitempty"`        // submissions that went on after a time without progress
	NodeResets    uint64 `json:"node_resets,omitempty"` // after a time-out or a fault
	Recoveries    uint64 `json:"recoveries,omitempty"`  // resets of the adapter
	Preemptions   uint64 `json:"preemptions,omitempty"` // nodes that were stopped for other work
	BytesMoved    uint64 `json:"bytes_moved,omitempty"` // written by the DMA engine
}

// Stats returns the counts so far.
func (s *System) Stats() Stats {
	k := s.kernel.Stats()
	out := Stats{
		DMABuffers: k.DMABuffers, PagingBuffers: k.PagingBuffers,
		Fences: k.Fences, Interrupts: k.Interrupts, Lost: k.LostInterrupts, DPCs: k.DPCs, Preemptions: k.Preemptions,
		Late: k.Late, NodeResets: k.NodeResets, Recoveries: k.Recoveries,
	}
	board, ok := bus.As[boards.Counters](s.link)
	if !ok {
		return out
	}
	for _, c := range board.Counters() {
		switch {
		case strings.HasPrefix(c.Name, "packets_node"):
			out.Packets += c.Value
		case c.Name == "bytes_moved":
			out.BytesMoved = c.Value
		case c.Name == "clocks":
			out.Cycles = c.Value
		}
	}
	return out
}
