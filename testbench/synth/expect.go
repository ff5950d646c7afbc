package synth

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

// node returns the memories of the command processor cpN: its two packet
// queues.
func node(n string) []Memory {
	return []Memory{{"cp" + n + ".ib_fifo.slots", InBlock}, {"cp" + n + ".ring_fifo.slots", InBlock}}
}

// shared returns the memories that every configuration has. The queue of the
// DMA engine is read without a clock and has few slots.
func shared(queue Storage) []Memory {
	return []Memory{
		{"dma.order.mem", InBlock}, {"dma.queue.slots", queue},
		{"pcie.back.slots", InBlock}, {"vram.ram.mem", InBlock},
	}
}

func expectations() []expectation {
	small := func(queue Storage) []Memory { return append(node("0"), shared(queue)...) }
	full := func(queue Storage) []Memory { return append(append(node("0"), node("1")...), shared(queue)...) }
	return []expectation{
		{"small", ICE40, 34, small(InFlipFlops)},
		{"small", ECP5, 0, small(InLUT)},
		{"default", ICE40, 0, full(InFlipFlops)},
		{"default", ECP5, 0, full(InLUT)},
	}
}
