package bringup

import (
	"fmt"
	"strings"
)

// A stage is one step of the bring-up.
type stage struct {
	name  string // group.what
	title string
	needs []string
	run   func(s *session) outcome
}

func (st stage) group() string {
	group, _, _ := strings.Cut(st.name, ".")
	return group
}

// stages are all of them in dependency order. What a stage needs has run before
// it if it was asked for.
func stages() []stage {
	return []stage{
		{"link.trips", "round trips of configuration reads, and what the link counts", nil, linkTrips},
		{"ident.id", "magic, version, map hash, capabilities, time", []string{"link.trips"}, identity},
		{"config.header", "header, BAR sizes the standard way, MSI-X and PCI Express capabilities", []string{"link.trips"}, configHeader},
		{"config.command", "memory decode, bus master, INTx disable; what they gate", []string{"config.header"}, configCommand},
		{"regs.data", "walking ones and zeros on the scratch registers", []string{"link.trips"}, regsData},
		{"regs.reset", "values after reset of all that do not change by themselves", []string{"ident.id", "regs.data"}, regsReset},
		{"regs.access", "walking ones on what may be written, read-only bits stay", []string{"ident.id", "regs.data"}, regsAccess},
		{"regs.unmapped", "accesses to nothing are refused, counted and captured", []string{"ident.id", "regs.data"}, regsUnmapped},
		{"cp.start", "node 0 fetches a NOP from host memory and retires it", []string{"regs.access", "config.command"}, cpStart},
		{"mem.data", "data lines: walking ones and zeros on one word", []string{"config.header"}, memData},
		{"mem.addr", "address lines: probes at 2^n and at its complement", []string{"mem.data"}, memAddr},
		{"mem.enables", "byte enables: halves by the host, single bytes by the DMA engine", []string{"mem.addr", "cp.start"}, memEnables},
		{"mem.patterns", "march and random patterns, errors by bit", []string{"mem.addr"}, memPatterns},
		{"irq.message", "raise, mask, acknowledge; MSI-X address and data", []string{"regs.access", "config.command"}, irqMessage},
		{"dma.copy", "sizes, alignments and 4 KiB boundaries, host to VRAM and back", []string{"mem.enables", "mem.patterns"}, dmaCopy},
		{"ring.wrap", "a small ring goes round with NOP and COPY", []string{"cp.start"}, ringWrap},
		{"fence.order", "fences go up one by one, each after its data", []string{"cp.start"}, fenceOrder},
	}
}

// An outcome is what a stage found.
type outcome struct {
	status  Status
	summary string
	details []string
	likely  string
	bits    []int // wrong reads by data line
	err     error
	seconds float64
}

// failed is the outcome of a stage that an access ended.
func failed(summary, likely string, err error) outcome {
	return outcome{status: Fail, summary: summary, likely: likely, err: err}
}

// A finding collects what is wrong in a stage.
type finding struct {
	details []string
	likely  []string
}

// maxDetails is how many lines a stage prints of what is wrong.
const maxDetails = 12

// add adds a line, and its likely cause, each once.
func (f *finding) add(likely, format string, args ...any) {
	f.details = append(f.details, fmt.Sprintf(format, args...))
	for _, l := range f.likely {
		if l == likely {
			return
		}
	}
	if likely != "" {
		f.likely = append(f.likely, likely)
	}
}

// outcome returns ok with the summary if nothing was found, and otherwise what
// was.
func (f *finding) outcome(summary string) outcome {
	if len(f.details) == 0 {
		return outcome{status: OK, summary: summary}
	}
	o := outcome{status: Fail, summary: fmt.Sprintf("%d wrong", len(f.details)), details: f.details, likely: strings.Join(f.likely, "; ")}
	if n := len(f.details); n > maxDetails {
		o.details = append(f.details[:maxDetails:maxDetails], fmt.Sprintf("and %d more", n-maxDetails))
	}
	return o
}
