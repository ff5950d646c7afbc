package stress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is the name of a kind of injected fault.
type Fault string

// The faults.
const (
	BadPacket     Fault = "bad-packet"     // a submission begins with a packet that does not exist
	HostRead      Fault = "host-read"      // a read of a submission's commands is not answered
	IgnorePreempt Fault = "ignore-preempt" // a node does not see a request to preempt
	IgnoreReset   Fault = "ignore-reset"   // a submission is bad, and its node does not see the reset
	LostInterrupt Fault = "lost-interrupt" // an interrupt message does not arrive
	NoMemory      Fault = "no-memory"      // an allocation of the PC's memory fails
	Firmware      Fault = "firmware"       // the microcontroller stops
	Unplug        Fault = "unplug"         // the board is pulled out, until a process next opens a device
)

// faults are all faults.
var faults = []Fault{BadPacket, HostRead, IgnorePreempt, IgnoreReset, LostInterrupt, NoMemory, Firmware, Unplug}

// An Injection is a fault and the probability that a submission has it.
type Injection struct {
	Fault Fault
	Rate  float64
}

// ParseFaults parses injections as in "bad-packet=0.01,unplug=0.001", of different faults. Errors wrap ErrInput.
func ParseFaults(text string) ([]Injection, error) {
	if text == "" {
		return nil, nil
	}
	var all []Injection
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		rate, err := strconv.ParseFloat(value, 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return nil, fmt.Errorf("%w: fault %q, want NAME=RATE with a rate from 0 to 1", ErrInput, part)
		}
		if !slices.Contains(faults, Fault(name)) {
			return nil, fmt.Errorf("%w: fault %q, want %s", ErrInput, name, strings.Join(FaultNames(), ", "))
		}
		if slices.ContainsFunc(all, func(i Injection) bool { return i.Fault == Fault(name) }) {
			return nil, fmt.Errorf("%w: fault %q twice in %q, want each fault once", ErrInput, name, text)
		}
		all = append(all, Injection{Fault(name), rate})
	}
	return all, nil
}

// FaultNames returns the names of the faults.
func FaultNames() []string {
	var names []string
	for _, f := range faults {
		names = append(names, string(f))
	}
	return names
}
