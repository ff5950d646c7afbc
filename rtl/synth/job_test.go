package synth

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/gpu"
)

func TestJob(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no tools
	for _, tt := range []struct {
		name   string
		target Target
		check  error
		tools  string
	}{
		{"small", ICE40, nil, "synth: missing tool: yosys"},
		{"default", ECP5, nil, "synth: missing tool: yosys"},
		{Lean, ICE40, nil, "synth: missing tool: yosys"},
		{"small?hz=1", ECP5, ErrTable, ""},
		{"small", "stratix", ErrTarget, ""},
	} {
		j := Job{Name: tt.name, Config: gpu.Small(), Target: tt.target}
		assert.Equal(t, tt.name+" for "+string(tt.target), j.String())
		assert.ErrorIs(t, j.Check(), tt.check)
		if tt.check == nil {
			assert.ErrorContains(t, j.Tools(), tt.tools)
			continue
		}
		_, err := j.Run("../..")
		assert.ErrorIs(t, err, tt.check)
	}
	assert.True(t, Job{Name: "small", Target: ICE40}.placed())
	assert.False(t, Job{Name: "small", Target: ECP5}.placed())
	assert.False(t, Job{Name: Lean, Target: ICE40}.placed())
}
