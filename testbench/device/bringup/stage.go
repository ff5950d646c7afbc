package bringup

import (
	"fmt"
	"strings"
)

// A stage is one step of the bring-up.
type stage struct {
	name  string // group and part, as in mem.data
	title string
	needs []string
	run   func(s *session) outcome
}

func (st stage) group() string {
	group, _, _ := strings.Cut(st.name, ".")
	return group
}

// stages returns all stages in dependency order: the stages that a stage needs run
// before it, if they are selected.
func stages() []stage {
	return []stage{
		{"link.trips", "round trips of configuration reads, and the link's error counters", nil, linkTrips},
		{"link.errors", "counters of both ends before and after a burst of reads: what the line does to frames", []string{"link.trips"}, linkErrors},
		{"link.rate", "rates of a serial line: a session at each, with what is lost", []string{"link.trips"}, linkRate},
		{"ident.id", "magic, version, map hash, capabilities, time", []string{"link.trips"}, identity},
		{"config.header", "header, BAR sizes by the standard method, MSI-X and PCI Express capabilities", []string{"link.trips"}, configHeader},
		{"config.command", "memory decode, bus master, INTx disable, and their effect", []string{"config.header"}, configCommand},
		{"regs.data", "walking ones and zeros in the scratch registers", []string{"link.trips"}, regsData},
		{"ident.time", "TIME against the clock of the host", []string{"link.trips", "regs.data"}, identTime},
		{"regs.reset", "reset values of registers that do not change by themselves", []string{"ident.id", "regs.data"}, regsReset},
		{"regs.access", "walking ones in writable registers; read-only bits keep their values", []string{"ident.id", "regs.data"}, regsAccess},
		{"regs.unmapped", "unmapped accesses are refused, counted and captured", []string{"ident.id", "regs.data"}, regsUnmapped},
		{"cp.start", "node 0 fetches a NOP from host memory and retires it", []string{"regs.access", "config.command"}, cpStart},
		{"mem.data", "data lines: walking ones and zeros in one word", []string{"config.header"}, memData},
		{"mem.addr", "address lines: probes at 2^n and at its complement", []string{"mem.data"}, memAddr},
		{"mem.enables", "byte enables: halves by the host, single bytes by the DMA engine", []string{"mem.addr", "cp.start"}, memEnables},
		{"mem.patterns", "march and random patterns, errors by bit", []string{"mem.addr"}, memPatterns},
		{"irq.message", "raise, mask, acknowledge; MSI-X address and data", []string{"regs.access", "config.command"}, irqMessage},
		{"dma.copy", "sizes, alignments and 4 KiB boundaries, host to VRAM and back", []string{"mem.enables", "mem.patterns"}, dmaCopy},
		{"ring.wrap", "a small ring wraps with NOP and COPY packets", []string{"cp.start"}, ringWrap},
		{"fence.order", "fences increase one by one, each after its data", []string{"cp.start"}, fenceOrder},
		{"mcu.load", "microcontroller: load of a program with its CRC, memory for the firmware bit by bit", []string{"regs.access"}, ifMCU(mcuLoad)},
		{"mcu.regs", "debug unit, registers of the processor, step, breakpoint, watchdog", []string{"mcu.load"}, ifMCU(mcuRegs)},
		{"mcu.boot", "the firmware boots with its self-test", []string{"mcu.regs", "mem.addr"}, ifMCU(mcuBoot)},
		{"mcu.message", "messages of the firmware: HELLO and PING, doorbell and event", []string{"mcu.boot", "cp.start"}, ifMCU(mcuMessage)},
	}
}

// An outcome is the result of a stage.
type outcome struct {
	status  Status
	summary string
	details []string
	likely  string
	bits    []int // wrong reads by data line
	err     error
	seconds float64
	absent  bool // with Skip: the board does not have what the stage tests
}

// absent returns the outcome of a stage that does not apply to the board.
func absent(why string) outcome {
	return outcome{status: Skip, summary: "not run: " + why, absent: true}
}

// failed returns the outcome of a stage that an error ended.
func failed(summary, likely string, err error) outcome {
	return outcome{status: Fail, summary: summary, likely: likely, err: err}
}

// A finding collects the problems that a stage finds.
type finding struct {
	details []string
	likely  []string
	absent  string // why there is nothing to test, or ""
}

// maxDetails is the largest number of details that a stage prints.
const maxDetails = 12

// add adds a detail and its likely cause, each once.
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

// outcome returns a success with the summary if nothing was found, or that there was nothing to
// test, and a failure with the details otherwise.
func (f *finding) outcome(summary string) outcome {
	if len(f.details) == 0 && f.absent != "" {
		return absent(f.absent)
	}
	if len(f.details) == 0 {
		return outcome{status: OK, summary: summary}
	}
	o := outcome{status: Fail, summary: fmt.Sprintf("%d wrong", len(f.details)), details: f.details, likely: strings.Join(f.likely, "; ")}
	if n := len(f.details); n > maxDetails {
		o.details = append(f.details[:maxDetails:maxDetails], fmt.Sprintf("and %d more", n-maxDetails))
	}
	return o
}
