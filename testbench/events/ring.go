package events

import (
	"sync"

	"github.com/hilgpu/hilgpu/testbench/doorbell"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// given are the packets that the host puts into rings. The mutex is not that of the Recorder, since the host's
// memory may call the Recorder.
type given struct {
	mu    sync.Mutex
	rings *doorbell.Rings // nil: the memory is not known
}

// Memory makes the log have the packets that the host puts in rings in its memory. peek reads that memory.
func (r *Recorder) Memory(peek func(addr uint64, p []byte) error) { r.given.rings = doorbell.New(peek) }

// register follows a write of a register of BAR0. It returns the events of the packets for which it is the doorbell.
func (g *given) register(off uint64, value uint32) (all []eventlog.Event) {
	if g.rings == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.rings.Write(off, value) {
		e := eventlog.New(eventlog.RingPacket, uint64(p.Node), p.Address)
		e.Data = p.Data
		all = append(all, e)
	}
	return all
}
