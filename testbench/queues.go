package testbench

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/hostdriver/miniport"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// ErrQueues is wrapped by the error of Options.Queues for a device that cannot have them.
var ErrQueues = errors.New("testbench: no firmware queues")

// Queues are settings of the miniport: the firmware of the GPU executes the DMA buffers, those of each
// context in a queue of its own. The zero value does without.
type Queues struct {
	Use     bool   // a device that lacks what they need, or whose firmware does not run, does not start
	Quantum uint32 // clocks of the turn of a context; 0: the default of the miniport
	Preempt bool   // a turn ends after its quantum even if no other context waits
	Period  uint32 // clocks between two samples for Options.Observer; 0: there are none
}

// settings returns the values in the miniport's registry key.
func (q Queues) settings() []kmddi.Setting {
	if !q.Use {
		return nil
	}
	all := []kmddi.Setting{{Name: miniport.SettingQueues, Value: 1}}
	if q.Quantum != 0 {
		all = append(all, kmddi.Setting{Name: miniport.SettingQuantum, Value: q.Quantum})
	}
	if q.Preempt {
		all = append(all, kmddi.Setting{Name: miniport.SettingPreempt, Value: 1})
	}
	if q.Period != 0 {
		all = append(all, kmddi.Setting{Name: miniport.SettingTelemetry, Value: q.Period})
	}
	return all
}

// refusal begins the event with which the miniport tells why it has no queues.
const refusal = "miniport: no firmware queues: "

// listen returns a log that keeps in said why the miniport has no queues, and passes each event on to next, which may be nil.
func (q Queues) listen(next func(string), said *string) func(string) {
	if !q.Use {
		return next
	}
	return func(text string) {
		if why, ok := strings.CutPrefix(text, refusal); ok {
			*said = why
		}
		if next != nil {
			next(text)
		}
	}
}

// explain adds to the error of a device that did not start what the settings ask for, and what the miniport said.
func (q Queues) explain(err error, said string) error {
	switch {
	case !q.Use:
	case errors.Is(err, ddi.StatusNotSupported):
		return fmt.Errorf("%w: %s; want mcu=1, contexts=1, preemption=1, signal=1, at least 64 KiB of VRAM, and counters=1 for samples: %w", ErrQueues, said, err)
	case errors.Is(err, ddi.StatusInvalidParameter):
		return fmt.Errorf("%w: quantum %d or period %d out of range: %w", ErrQueues, q.Quantum, q.Period, err)
	case errors.Is(err, ddi.StatusDeviceNotReady):
		return fmt.Errorf("%w: its firmware does not run, which firmware queues need, or it refuses them: %w", ErrDevice, err)
	}
	return fmt.Errorf("%w: %w", ErrDevice, err)
}
