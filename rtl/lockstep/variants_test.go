package lockstep

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// variantDesign returns a counter whose step is the selector. The Go side does not
// have the selector.
func variantDesign() *verilog.Design {
	text := `module steps (input clk, input rst, input [3:0] by, output [7:0] value);
  reg [7:0] count;
  assign value = count;
  always @(posedge clk) count <= rst ? 8'd0 : count + {4'd0, by};
endmodule
`
	return &verilog.Design{
		Files: []verilog.File{{Name: "steps.v", Text: []byte(text)}},
		Manifest: verilog.Manifest{
			Top: "steps",
			Ports: []verilog.Port{
				{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
				{Name: "value", Width: 8, Go: "Value"}, {Name: "by", Input: true, Width: 4},
			},
			Registers: []verilog.Register{{Name: "count", Width: 8, Verilog: "count", Go: "count", Elem: -1}},
		},
	}
}

// steps is a counter with a step of 3.
type steps struct{ count uint8 }

func (c *steps) Root() any            { return c }
func (c *steps) Outputs(out []uint64) { out[0] = uint64(c.count) }
func (c *steps) Clock(rst bool, _ []uint64) {
	c.count += 3
	if rst {
		c.count = 0
	}
}

func TestVariants(t *testing.T) {
	eachSim(t, func(t *testing.T, s Sim) {
		l, err := NewVariants(variantDesign(), &steps{}, Variants{Selector: "by", Values: []uint64{2, 3, 0}}, Options{Sim: s, Batch: 4, Cache: testCache()})
		require.NoError(t, err)
		for range 20 {
			require.NoError(t, l.Clock(false, nil), "one is left")
		}
		require.NoError(t, l.Close())
		got := l.Verdicts()
		require.Len(t, got, 3)
		for i, value := range map[int]uint64{0: 2, 2: 0} {
			var d *Divergence
			require.ErrorAs(t, got[i], &d)
			assert.Equal(t, uint64(1), d.Clock, "after the reset")
			assert.Equal(t, value, d.Differences[0].Got)
			assert.Equal(t, uint64(3), d.Differences[0].Want)
		}
		assert.NoError(t, got[1])
	})
}

func TestVariantsEndWithTheLastOne(t *testing.T) {
	eachSim(t, func(t *testing.T, s Sim) {
		l, err := NewVariants(variantDesign(), &steps{}, Variants{Selector: "by", Values: []uint64{2, 4}}, Options{Sim: s, Batch: 1, Cache: testCache()})
		require.NoError(t, err)
		for i := 0; err == nil && i < 100; i++ {
			err = l.Clock(false, nil)
		}
		assert.ErrorIs(t, err, ErrVariants)
		assert.ErrorIs(t, l.Close(), ErrVariants)
		for _, v := range l.Verdicts() {
			assert.False(t, errors.Is(v, ErrSimulation))
			assert.True(t, strings.Contains(v.Error(), "clock 1 "), v)
		}
	})
}

func TestVariantsNeedASelector(t *testing.T) {
	for _, name := range []string{"value", "other"} {
		_, err := NewVariants(variantDesign(), &steps{}, Variants{Selector: name, Values: []uint64{1}}, Options{Cache: t.TempDir()})
		assert.ErrorIs(t, err, ErrManifest)
	}
}
