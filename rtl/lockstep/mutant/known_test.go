package mutant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
)

// Each known mistake has one place in default.
func TestKnown(t *testing.T) {
	top, err := lockstep.NewTop(gpu.Default())
	require.NoError(t, err)
	d, err := top.Translate("../../..")
	require.NoError(t, err)
	out, ms, err := Known(d)
	require.NoError(t, err)
	assert.Len(t, ms, len(knownMistakes()))
	assert.NotEmpty(t, out.Files)
	for i, m := range ms {
		assert.Equal(t, i+1, m.ID)
		assert.NotEqual(t, m.Old, m.New)
	}
	_, _, err = Known(design("cp", "module cp (input wire clk);\nendmodule\n"))
	assert.ErrorIs(t, err, ErrText)
}
