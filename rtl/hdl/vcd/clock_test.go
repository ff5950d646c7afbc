package vcd_test

import (
	"bytes"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
)

// Periods by hand: half of 10 ns is 5 times 1 ns; a third of a microsecond is not
// exact in any unit.
func TestTimescale(t *testing.T) {
	for _, tt := range []struct {
		hz      uint64
		unit    string
		one, to uint64 // times of edges 1 and 2
	}{
		{1, "100 ms", 5, 10},
		{1000, "100 us", 5, 10},
		{100_000_000, "1 ns", 5, 10},
		{50_000_000, "10 ns", 1, 2},
		{48_000_000, "1 fs", 10416667, 20833333},
		{12_000_000, "1 fs", 41666667, 83333333},
		{3_000_000, "10 fs", 16666667, 33333333},
		{125_000_000, "1 ns", 4, 8},
		{1 << 15, "1 fs", 15258789063, 30517578125}, // the period is exact, half of it is not
		{3, "10 ns", 16666667, 33333333},
		{1<<32 - 1, "1 fs", 116415, 232831},
	} {
		s := vcd.NewTimescale(tt.hz)
		assert.Equal(t, tt.unit, s.String(), "%d Hz", tt.hz)
		assert.Equal(t, []uint64{0, tt.one, tt.to}, []uint64{s.Edge(0), s.Edge(1), s.Edge(2)}, "%d Hz", tt.hz)
	}
	assert.Equal(t, uint64(math.MaxUint64), vcd.NewTimescale(3).Edge(math.MaxUint64), "no unit is fine enough")
}

// After a billion clocks an edge is at its exact time, to half a unit.
func TestTimescaleDoesNotDrift(t *testing.T) {
	units := map[string]uint64{"1 fs": 1, "10 fs": 10, "1 ns": 1e6}
	for _, hz := range []uint64{12_000_000, 48_000_000, 33_333_333, 3_000_000, 125_000_000} {
		s := vcd.NewTimescale(hz)
		for _, n := range []uint64{1, 7, 999_999_999, 2_000_000_000} {
			want := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(1e15)), big.NewInt(int64(2*hz*units[s.String()])))
			off := want.Sub(want, new(big.Rat).SetUint64(s.Edge(n)))
			assert.LessOrEqual(t, off.Abs(off).Cmp(big.NewRat(1, 2)), 0, "%d Hz, edge %d", hz, n)
		}
	}
}

// A clock rises and falls with each written clock, and is unknown while clocks
// are left out.
func TestClock(t *testing.T) {
	var out bytes.Buffer
	s := vcd.NewTimescale(100_000_000)
	w := vcd.NewWriter(&out, s, []vcd.Var{{Name: "clk", Width: 1}, {Name: "v", Width: 4}})
	c := vcd.NewClock(w, s, 0)
	for _, n := range []uint64{3, 4, 4, 900} {
		c.Rise(n)
	}
	w.Set(1, 5)
	c.End(902)
	require.NoError(t, w.Flush())
	assert.Equal(t, `$timescale 1 ns $end
$var reg 1 ! clk $end
$var reg 4 " v $end
$enddefinitions $end
#30
1!
#35
0!
#40
1!
#45
0!
#50
x!
#9000
1!
b101 "
#9005
0!
#9010
x!
#9020
`, out.String())
	d, err := vcdtest.Parse(&out)
	require.NoError(t, err)
	clocks, err := d.Clocks("clk", 100_000_000)
	require.NoError(t, err)
	assert.Equal(t, []uint64{3, 4, 900, 902}, clocks.Times)
	assert.Equal(t, map[string]string{"v": "101"}, clocks.At(900))
	_, err = d.Clocks("clk", 99_000_000)
	assert.ErrorIs(t, err, vcdtest.ErrFormat, "another frequency")
}
