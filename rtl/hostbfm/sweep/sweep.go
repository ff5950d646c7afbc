// Package sweep drives a device through the meetings of two actions that random traffic
// rarely puts into the same clock: an action and, at each distance after it, a second one.
// Distances are in clocks. A run is the same each time for the same configuration.
package sweep

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// A Sweep is two actions at each distance from each other, in several cases.
type Sweep struct {
	Name  string
	Why   string   // what must meet in one clock
	Needs caps.Set // capabilities without which there is nothing to meet
	Nodes int      // least number of nodes

	Cases     int // kinds of one of the actions
	Distances int // 0 to Distances-1 are tried

	before func(h *host, which int)     // runs after a reset, before the distances of a case
	meet   func(h *host, which, at int) // runs both actions, and leaves the device as it was
}

// All returns the sweeps in the order in which Run runs them.
func All() []Sweep {
	var all []Sweep
	for _, part := range [][]Sweep{interrupts(), resets(), reads(), nodes(), times(), operands()} {
		all = append(all, part...)
	}
	return all
}

// on returns the sweeps that a configuration has the capabilities and the nodes for.
func on(c gpu.Config) []Sweep {
	var out []Sweep
	for _, s := range All() {
		if c.Caps.Has(s.Needs) && c.Nodes >= s.Nodes {
			out = append(out, s)
		}
	}
	return out
}

// Run runs all sweeps that the configuration of dev has the capabilities for, each case after
// a reset. after, if not nil, is called after each distance, with the number of distances done
// and of all. Its error ends the run. Run fails with hostbfm.ErrProtocol if the device broke
// the protocol, and with ErrLate if it did not answer.
func Run(dev hostbfm.Device, after func(done, total int) error) error {
	all := on(dev.Config())
	done, total := 0, 0
	for _, s := range all {
		total += s.Cases * s.Distances
	}
	for _, s := range all {
		for which := range s.Cases {
			err := s.Run(dev, which, func() error {
				if done++; after != nil {
					return after(done, total)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Run resets dev and runs one case, 0 to Cases-1. after, if not nil, is called after each
// distance, and its error ends the run. Its errors are those of the function Run.
func (s *Sweep) Run(dev hostbfm.Device, which int, after func() error) error {
	h := newHost(dev)
	s.before(h, which)
	for at := range s.Distances {
		s.meet(h, which, at)
		if h.Err != nil {
			return fmt.Errorf("sweep %s, case %d, distance %d: %w", s.Name, which, at, h.Err)
		}
		if after == nil {
			continue
		}
		if err := after(); err != nil {
			return err
		}
	}
	return nil
}
