package testbench

import (
	"strings"

	"github.com/hilgpu/hilgpu/boards"
)

// Stats counts what a System did. All of it is in simulated units: the same run
// gives the same numbers. Packets and BytesMoved are 0 on a board that does not
// count them.
type Stats struct {
	Cycles        uint64 `json:"cycles"`  // ticks of the device's clock since it was opened
	Packets       uint64 `json:"packets"` // retired by the command processors
	DMABuffers    uint64 `json:"dma_buffers"`
	PagingBuffers uint64 `json:"paging_buffers"`
	Fences        uint64 `json:"fences"`
	Interrupts    uint64 `json:"interrupts"`
	DPCs          uint64 `json:"dpcs"`
	BytesMoved    uint64 `json:"bytes_moved"` // written by the DMA engine
}

// Stats returns the counts so far.
func (s *System) Stats() Stats {
	k := s.kernel.Stats()
	out := Stats{
		Cycles: s.clock.Now(), DMABuffers: k.DMABuffers, PagingBuffers: k.PagingBuffers,
		Fences: k.Fences, Interrupts: k.Interrupts, DPCs: k.DPCs,
	}
	board, ok := s.link.(boards.Counters)
	if !ok {
		return out
	}
	for _, c := range board.Counters() {
		switch {
		case strings.HasPrefix(c.Name, "packets_node"):
			out.Packets += c.Value
		case c.Name == "bytes_moved":
			out.BytesMoved = c.Value
		}
	}
	return out
}
