package synth

import "fmt"

// Lean is the configuration small, with single-port VRAM and without the
// aperture.
const Lean = "small?aperture=0&vramports=1"

// Expected returns the expected result for a configuration (default, small or Lean), with
// VRAMBytes of VRAM, or for MCU on ICE40. It fails with ErrTarget, or ErrTable for something
// else.
func Expected(config string, target Target) (Expectation, error) {
	if err := target.Check(); err != nil {
		return Expectation{}, err
	}
	for _, e := range expectations() {
		if e.config == config && e.target == target {
			want := Expectation{RAM: e.ram, Memories: e.memories}
			if config == "default" && target == ECP5 {
				want.LUT, want.Budgets = LimitLUT, budgets()
			}
			if config == MCU {
				want.LUT, want.Budgets = mcuLUT, mcuBudgets()
			}
			return want, nil
		}
	}
	return Expectation{}, fmt.Errorf("%w for %s on %s, want default, small, %s, or %s on %s", ErrTable, config, target, Lean, MCU, ICE40)
}

// An expectation is a row of the table.
type expectation struct {
	config   string
	target   Target
	ram      int
	memories []Memory
}

// expectations returns the table. On iCE40 a memory of 64 bits takes 4 block RAMs
// for up to 256 words, and VRAM takes 16. Synthesis keeps 32 bits of the register
// RAM, too few for a block RAM of ECP5. On ECP5 VRAM takes 4 block RAMs and any
// other memory 2. The queue of the DMA engine is shallow and is read without a
// clock. With up to 4 tags it does not exist.
func expectations() []expectation {
	memories := func(nodes int, more ...Memory) []Memory {
		out := append(more, Memory{"dma.order.mem", InBlock}, Memory{"vram.ram.mem", InBlock})
		for n := range nodes {
			out = append(out, Memory{fmt.Sprintf("cp%d.file_ram.mem", n), InBlock})
		}
		return out
	}
	regram := func(in Storage) Memory { return Memory{"regram.words.mem", in} }
	queue := func(in Storage) Memory { return Memory{"dma.queue.slots", in} }
	counters := Memory{"perf.words.mem", InBlock}
	full := func(more ...Memory) []Memory {
		for n := range 2 {
			more = append(more, Memory{fmt.Sprintf("cp%d.trace_what.mem", n), InBlock}, Memory{fmt.Sprintf("cp%d.trace_where.mem", n), InBlock})
		}
		return memories(2, append(more, counters)...)
	}
	return []expectation{
		{"small", ICE40, 26, memories(1, regram(InBlock))},
		{"small", ECP5, 8, memories(1, regram(InLUT))},
		{Lean, ICE40, 26, memories(1, regram(InBlock))},
		{Lean, ECP5, 8, memories(1, regram(InLUT))},
		{"default", ICE40, 50, full(regram(InBlock), queue(InFlipFlops))},
		{"default", ECP5, 20, full(regram(InLUT), queue(InLUT))},
		{MCU, ICE40, 22, []Memory{{"core.left.mem", InBlock}, {"core.ram.mem", InBlock}, {"core.right.mem", InBlock}, {"rows.mem", InBlock}}},
	}
}
