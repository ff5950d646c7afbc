package synth

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// A Storage is the kind of cells that a memory is built from.
type Storage string

// The storages.
const (
	InBlock     Storage = "block"       // block RAM
	InLUT       Storage = "distributed" // RAM made of LUTs
	InFlipFlops Storage = "flip-flops"
	InLogic     Storage = "logic" // ROM made of LUTs
)

// A Memory is a memory of the flattened design and its storage.
type Memory struct {
	Name    string  `json:"name"` // hierarchical, below the top: "dma.order.mem"
	Storage Storage `json:"storage"`
}

// memories reads from the log the storage of each memory, sorted by name. It
// leaves out the tables that yosys makes from a switch: they are logic.
func memories(log, top string) []Memory {
	line := regexp.MustCompile(`(?m)^(?:using FF mapping for memory (\S+)|mapping memory (\S+) via (\S+))$`)
	unwritten := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^Mapping memory \\(\S+) in module .*\n(?:[^M\n].*\n)*? +write interface: 0 write`).FindAllStringSubmatch(log, -1) {
		unwritten[m[1]] = true
	}
	out := []Memory{}
	for _, m := range line.FindAllStringSubmatch(log, -1) {
		name, place := m[1]+m[2], InFlipFlops
		switch {
		case strings.Contains(name, "$proc_rom"):
			continue
		case strings.Contains(m[3], "RAM4K") || strings.Contains(m[3], "16KD"):
			place = InBlock
		case m[3] != "":
			place = InLUT
		case unwritten[strings.TrimPrefix(name, top+".")]:
			place = InLogic
		}
		out = append(out, Memory{strings.TrimPrefix(name, top+"."), place})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// An Expectation is the expected result of synthesis.
type Expectation struct {
	RAM      int // block RAMs of the complete design
	Memories []Memory
	LUT      int            // most LUTs of the complete design, 0 if there is no limit
	Budgets  map[string]int // most LUTs of an instance of each block, by the block's name without parameters
}

// compare returns the differences of r from the expectation.
func (e Expectation) compare(r *Report) []Finding {
	var out []Finding
	add := func(format string, args ...any) {
		out = append(out, Finding{RAM, fmt.Sprintf(format, args...)})
	}
	if r.Total.RAM != e.RAM {
		add("%d block RAMs, want %d", r.Total.RAM, e.RAM)
	}
	want := map[string]Storage{}
	for _, m := range e.Memories {
		want[m.Name] = m.Storage
	}
	for _, m := range r.Memories {
		switch place, ok := want[m.Name]; {
		case !ok:
			add("%s is not in the table of expected memories; it is in %s", m.Name, m.Storage)
		case place != m.Storage:
			add("%s is in %s, want %s", m.Name, m.Storage, place)
		}
		delete(want, m.Name)
	}
	for _, m := range e.Memories {
		if _, left := want[m.Name]; left {
			add("%s is missing, want it in %s", m.Name, m.Storage)
		}
	}
	return out
}
