package testbench

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// A bystander is a device that works while the work of another one hangs. For each hang its source
// has other bytes at all places, and each of its copies moves a part that no other copy moves. So
// one that is left out is found, and so is a result of an earlier hang.
type bystander struct {
	*copier
	ballast *d3d11.Buffer // a copy of everything to it takes the node some time
}

func newBystander(t *testing.T, s *System, size int) *bystander {
	b := &bystander{copier: newCopier(t, s, size, 0)}
	var err error
	b.ballast, err = b.dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: uint32(size), Usage: d3d11.UsageDefault, BindFlags: d3d11.BindShaderResource}, nil)
	require.NoError(t, err)
	return b
}

// fresh gives the source the bytes of a hang.
func (b *bystander) fresh(hang int) {
	for i := range b.data {
		b.data[i] = byte(hang + 7*i + i>>8)
	}
	b.ctx.UpdateSubresource(b.source, 0, nil, b.data, 0, 0)
}

// moves copies the source to the target in n parts, and sends the work to the kernel.
func (b *bystander) moves(n int) {
	size := len(b.data)
	for i := range n {
		b.ctx.CopyResource(b.ballast, b.source)
		from, to := uint32(size*i/n), uint32(size*(i+1)/n)
		b.ctx.CopySubresourceRegion(b.target, 0, from, 0, 0, b.source, 0, &d3d11.Box{Left: from, Right: to, Bottom: 1, Back: 1})
	}
	b.ctx.Flush()
}

// withoutCopies makes NOPs of the COPY packets of a submission.
func withoutCopies(arg kmddi.Patch) {
	rest := arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]
	for len(rest) > 0 {
		l, p, next, err := pkt.Next(rest)
		if err != nil {
			return
		}
		if l.Op == pkt.OpCopy {
			p[3] = pkt.OpNOP
		}
		rest = next
	}
}

// A device whose work is submitted again without its copies has a wrong result, also after later hangs.
func TestBystanderMissesCopies(t *testing.T) {
	injector := new(inject.Injector)
	again := 0
	for _, k := range hangKinds(injector) {
		if k.spoil == nil || k.queues.Use { // a queue submits again what has been done, for its fence
			continue
		}
		s := &spoiler{spoil: k.spoil, heal: k.heal}
		sys, err := Open(k.board, s.drivers(), Options{Queues: k.queues, quantum: k.quantum, Inject: injector})
		require.NoError(t, err)
		s.system = sys
		r := newRecoveries(t, k, s)
		for n := range 3 {
			spoiled := false
			s.again = func(arg kmddi.Patch) {
				if n > 0 {
					withoutCopies(arg)
					spoiled = true
				}
			}
			guilty := r.meet(n)
			wrong := false
			for _, b := range r.others {
				wrong = wrong || !bytes.Equal(b.data, b.result(t))
			}
			assert.Equal(t, spoiled, wrong, "%s, hang %d", k.name, n)
			if spoiled {
				again++
			}
			guilty.close()
		}
		r.close()
	}
	assert.Positive(t, again)
	t.Logf("%d hangs with work that was submitted again", again)
}
