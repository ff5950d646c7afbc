package stress

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// The driver gets a buffer with the content of a new one, whichever context got its commands: old packets in it would count as
// packets that the next function has written.
func TestBufferOfASpreader(t *testing.T) {
	const fresh, old = 0xa5, 0x11
	var last ddi.KMHandle
	buffer := func(b byte) []byte { return bytes.Repeat([]byte{b}, 64) }
	s := spreader{rand: rand.New(rand.NewPCG(1, 2)), nodes: 1, count: 3, contexts: map[ddi.KMHandle][]*umddi.CreateContext{}, kernel: kmt.Thunks{
		CreateContext: func(_ *ddi.Thread, _ ddi.KMHandle, arg *umddi.CreateContext) ddi.Status {
			last++
			arg.Context, arg.CommandBuffer = last, buffer(fresh)
			return ddi.StatusSuccess
		},
		SetContextSchedulingPriority: func(*ddi.Thread, ddi.KMHandle, int) ddi.Status { return ddi.StatusSuccess },
		Render: func(_ *ddi.Thread, _ ddi.KMHandle, arg *umddi.Render) ddi.Status {
			last = arg.Context
			arg.NewCommandBuffer = buffer(fresh)
			return ddi.StatusSuccess
		},
	}}
	own := umddi.CreateContext{}
	require.Equal(t, ddi.StatusSuccess, s.create(nil, 1, &own))
	used := map[ddi.KMHandle]bool{}
	for range 20 {
		copy(s.contexts[own.Context][0].CommandBuffer, buffer(old))
		arg := umddi.Render{Context: own.Context}
		require.Equal(t, ddi.StatusSuccess, s.render(nil, 1, &arg))
		assert.Equal(t, buffer(fresh), arg.NewCommandBuffer)
		used[last] = true
	}
	assert.Len(t, used, 3)
}
