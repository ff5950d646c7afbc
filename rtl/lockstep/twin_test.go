package lockstep

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// twin is the Go side of simtest.TwinDesign.
type twin struct {
	child twinChild
	acc   uint64
	flag  [2]bool
	ram   []uint64
	pairs [4]twinPair
}

type twinChild struct {
	count uint16 `w:"12"`
}

type twinPair struct {
	used bool
	low  uint8 `w:"5"`
	data uint64
}

func newTwin() *twin { return &twin{ram: make([]uint64, 16)} }

func (c *twin) Root() any { return c }

func (c *twin) Clock(rst bool, in []uint64) {
	en, data := in[0] != 0, in[1]
	value := c.child.count
	switch {
	case rst:
		c.child.count, c.acc, c.flag = 5, 0, [2]bool{}
		return
	case en:
		c.child.count = (value + 1) & 0xfff
		c.acc += data
		c.ram[value&15] = data
		c.pairs[value&3] = twinPair{true, uint8(data) & 0x1f, data}
	}
	c.flag = [2]bool{en, value&1 != 0}
}

func (c *twin) Outputs(out []uint64) {
	out[0], out[1] = c.acc, 0
	if c.flag[1] {
		out[1] = 1
	}
}

func twinDesign(t *testing.T, oldNew ...string) *verilog.Design {
	return simtest.TwinDesign(t, oldNew...)
}

// eachSim runs a test with each simulator.
func eachSim(t *testing.T, test func(t *testing.T, s Sim)) {
	t.Helper()
	for _, s := range []Sim{Verilator, Icarus} {
		t.Run(string(s), func(t *testing.T) {
			need(t, s)
			test(t, s)
		})
	}
}

func need(t *testing.T, s Sim) {
	t.Helper()
	tooltest.Need(t, Tools(s)...)
}

func testCache() string { return simtest.Cache() }

// runTwin clocks the twin with random inputs and resets and returns the error of the
// lockstep.
func runTwin(t *testing.T, d *verilog.Design, o Options, seed uint64, clocks int) error {
	o.Cache = testCache()
	l, err := New(d, newTwin(), o)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range clocks {
		if err := l.Clock(rng.IntN(50) == 0, []uint64{rng.Uint64() & 1, rng.Uint64()}); err != nil {
			l.Close()
			return err
		}
	}
	assert.Equal(t, uint64(clocks+1), l.Clocks())
	return l.Close()
}

func TestTwin(t *testing.T) {
	tooltest.Long(t)
	eachSim(t, func(t *testing.T, s Sim) {
		for _, batch := range []int{1, 7, 0} {
			assert.NoError(t, runTwin(t, twinDesign(t), Options{Sim: s, Batch: batch}, 3, 3000), s)
		}
	})
}
