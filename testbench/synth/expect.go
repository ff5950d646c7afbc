package synth

import "fmt"

// Expected returns what a configuration, default or small, must come to on a
// target with VRAMBytes of VRAM, and whether the table has it.
func Expected(config string, target Target) (Expectation, bool) {
	for _, e := range expectations() {
		if e.config == config && e.target == target {
			return Expectation{RAM: e.ram, Memories: e.memories}, true
		}
	}
	return Expectation{}, false
}

// An expectation is a row of the table.
type expectation struct {
	config   string
	target   Target
	ram      int
	memories []Memory
}

// expectations returns the table. On iCE40 a memory of 64 bits takes 4 block RAMs
// up to 256 words, the 81 bits of pcie.back take 6, and VRAM 16. On ECP5 the
// small memories are in LUTs; VRAM takes 4 block RAMs and dma.order 2. The queue
// of the DMA engine is read without a clock and has four places.
func expectations() []expectation {
	memories := func(nodes int, queue, fifo Storage) []Memory {
		out := []Memory{
			{"dma.order.mem", InBlock}, {"dma.queue.slots", queue},
			{"pcie.back.slots", fifo}, {"vram.ram.mem", InBlock},
		}
		for n := range nodes {
			out = append(out, Memory{fmt.Sprintf("cp%d.ib_fifo.slots", n), fifo}, Memory{fmt.Sprintf("cp%d.ring_fifo.slots", n), fifo})
		}
		return out
	}
	return []expectation{
		{"small", ICE40, 34, memories(1, InFlipFlops, InBlock)},
		{"small", ECP5, 6, memories(1, InLUT, InLUT)},
		{"default", ICE40, 42, memories(2, InFlipFlops, InBlock)},
		{"default", ECP5, 6, memories(2, InLUT, InLUT)},
	}
}
