package inproc

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// answers drops or delays the completions of some reads by the device.
type answers struct {
	clock uint64
	lost  [256]bool // tags of the reads whose completions are dropped
	late  [256]bool // tags of those whose completions are delayed
	held  []heldAnswer
}

// A heldAnswer is a delayed completion.
type heldAnswer struct {
	due uint64
	cpl port.Completion
}

// read counts a read by the device that the host takes.
func (f *Faulty) read(req port.Request) {
	switch f.fault.Kind {
	case LostAnswer:
		f.answers.lost[req.Tag] = f.event()
	case LateAnswer:
		f.answers.late[req.Tag] = f.event()
	}
}

// filter returns the completion that the device sees in this clock, given the host's.
func (a *answers) filter(cpl port.Completion) port.Completion {
	a.clock++
	if cpl.Status != port.CplNone {
		switch {
		case a.late[cpl.Tag]:
			a.held = append(a.held, heldAnswer{a.clock + LateClocks, cpl})
			cpl = port.Completion{}
		case a.lost[cpl.Tag]:
			cpl = port.Completion{}
		}
	}
	if cpl.Status == port.CplNone && len(a.held) > 0 && a.held[0].due <= a.clock {
		cpl = a.held[0].cpl
		a.held = a.held[1:]
	}
	return cpl
}

// idleFor returns the clocks before the next delayed completion.
func (a *answers) idleFor() uint64 {
	if len(a.held) == 0 {
		return math.MaxUint64
	}
	return max(a.held[0].due, a.clock+1) - a.clock - 1
}
