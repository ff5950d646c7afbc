package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// The packets of a submission count, not those around it. A submission with anything
// else counts once, with the packets before it.
func TestCoverage(t *testing.T) {
	fill, err := pkt.Fill{Bytes: 64}.Append(nil)
	require.NoError(t, err)
	two := append(append([]byte(nil), fill...), fill...)
	c := newCounter()
	patch := &verifier.Func{Name: "DxgkDdiPatch"}
	end := uint32(len(two))
	c.Enter(nil, patch, kmddi.Patch{DmaBuffer: two, DmaBufferSubmissionEndOffset: end})
	c.Enter(nil, patch, kmddi.Patch{DmaBuffer: two, DmaBufferSubmissionStartOffset: uint32(len(fill)), DmaBufferSubmissionEndOffset: end})
	c.Enter(nil, patch, kmddi.Patch{DmaBuffer: append(fill, 1, 2, 3), DmaBufferSubmissionEndOffset: uint32(len(fill)) + 3})
	c.Enter(nil, patch, kmddi.Patch{DmaBuffer: two, DmaBufferSubmissionEndOffset: end + 1})
	c.Enter(nil, &verifier.Func{Name: "pfnFlush"})
	got := c.coverage()
	assert.Equal(t, &Coverage{
		Calls: map[string]uint64{"DxgkDdiPatch": 4, "pfnFlush": 1}, Packets: map[string]uint64{"FILL": 4}, NotDecodable: 2,
	}, got)
	var all Coverage
	all.Add(got)
	all.Add(nil)
	all.Add(got)
	assert.EqualValues(t, []uint64{8, 8, 4}, []uint64{all.Calls["DxgkDdiPatch"], all.Packets["FILL"], all.NotDecodable})
}
