package suite

import (
	"maps"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// Coverage counts what a case made the drivers do.
type Coverage struct {
	Calls        map[string]uint64 `json:"calls"`         // calls of each DDI function and callback
	Packets      map[string]uint64 `json:"packets"`       // packets in submitted DMA buffers, by name
	NotDecodable uint64            `json:"not_decodable"` // submissions with anything except packets of this GPU
}

// Add adds the counts of another case.
func (c *Coverage) Add(o *Coverage) {
	if c.Calls == nil {
		c.Calls, c.Packets = map[string]uint64{}, map[string]uint64{}
	}
	if o == nil {
		return
	}
	for name, n := range o.Calls {
		c.Calls[name] += n
	}
	for name, n := range o.Packets {
		c.Packets[name] += n
	}
	c.NotDecodable += o.NotDecodable
}

// A counter is a Hook that counts.
type counter struct {
	mu   sync.Mutex
	seen Coverage
}

func newCounter() *counter {
	return &counter{seen: Coverage{Calls: map[string]uint64{}, Packets: map[string]uint64{}}}
}

// Enter implements verifier.Hook.
func (c *counter) Enter(_ *ddi.Thread, f *verifier.Func, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Calls[f.Name]++
	for _, a := range args {
		if p, ok := a.(kmddi.Patch); ok {
			c.packets(p)
		}
	}
}

// Leave implements verifier.Hook.
func (c *counter) Leave(*ddi.Thread, *verifier.Func, ...any) {}

// packets counts the packets of a submission, which DxgkDdiPatch gets.
func (c *counter) packets(p kmddi.Patch) {
	from, to := uint64(p.DmaBufferSubmissionStartOffset), uint64(p.DmaBufferSubmissionEndOffset)
	if from > to || to > uint64(len(p.DmaBuffer)) {
		c.seen.NotDecodable++
		return
	}
	for rest := p.DmaBuffer[from:to]; len(rest) > 0; {
		l, _, next, err := pkt.Next(rest)
		if err != nil {
			c.seen.NotDecodable++
			return
		}
		c.seen.Packets[l.Name]++
		rest = next
	}
}

// coverage returns the counts. A goroutine of the drivers may still count.
func (c *counter) coverage() *Coverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Coverage{maps.Clone(c.seen.Calls), maps.Clone(c.seen.Packets), c.seen.NotDecodable}
}
