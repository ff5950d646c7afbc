package linkreg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// The table is consistent, in the extended part of configuration space, and all of it is
// read-only.
func TestTable(t *testing.T) {
	require.NoError(t, reg.Check(linkreg.Block))
	assert.GreaterOrEqual(t, uint32(linkreg.Base), uint32(0x100), "PCIe 3.0 §7.9")
	assert.LessOrEqual(t, linkreg.Base+linkreg.Size, 0x1000)
	for _, r := range linkreg.Block.Regs {
		assert.Equal(t, reg.RO, r.Access, r.Name)
	}
}

// The headers are those of PCIe 3.0 §7.9.3 and §7.19: an ID in bits 15..0, a version in bits
// 19..16; the next capability or the length in bits 31..20.
func TestHeaders(t *testing.T) {
	v := uint32(linkreg.HeaderValue)
	assert.Equal(t, []uint32{0x000b, 1, 0}, []uint32{v & 0xffff, v >> 16 & 15, v >> 20})
	v = linkreg.VSECValue
	assert.Equal(t, []uint32{linkreg.ID, linkreg.Revision, 0x80}, []uint32{v & 0xffff, v >> 16 & 15, v >> 20})
}
