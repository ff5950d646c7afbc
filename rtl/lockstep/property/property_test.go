package property

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

func translated(t *testing.T, config gpu.Config) *verilog.Design {
	g, err := gpu.New(config)
	require.NoError(t, err)
	d, err := verilog.Translate("../../..", g)
	require.NoError(t, err)
	return d
}

func TestProve(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "yosys")
	d := translated(t, gpu.Default())
	for _, p := range List() {
		t.Run(p.Name, func(t *testing.T) {
			require.Empty(t, p.Missing(d))
			r, err := p.Prove(context.Background(), d)
			require.NoError(t, err)
			t.Logf("%.1fs %s\n%s", r.Took.Seconds(), r.Verdict, r.Trace)
			require.Equal(t, Proven, r.Verdict)
		})
	}
}
