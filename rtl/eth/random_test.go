package eth

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	bytesFlag = flag.Int("eth.bytes", 300_000, "bytes of TestRandom")
	seedFlag  = flag.Uint64("eth.seed", 1, "first seed of TestRandom")
)

// mutated returns a frame for the board in which some bytes are changed, most of them of its
// headers.
func (g traffic) mutated() []byte {
	f, _ := g.good()
	for range 1 + g.r.IntN(3) {
		at := g.r.IntN(len(f))
		if g.r.IntN(4) != 0 {
			at = 6 + g.r.IntN(40)
		}
		f[at] ^= 1 << g.r.IntN(8)
		if g.r.IntN(3) == 0 {
			f[at] = uint8(g.r.Uint32())
		}
	}
	if g.r.IntN(2) == 0 {
		ipChecksum(f)
	}
	return f
}

// A campaign is a run of random frames with what they must do.
type campaign struct {
	g      traffic
	s      *station
	data   [][]byte
	answer [][]byte
	counts [NumCounters]uint32
	kinds  [5]int
}

// feed queues a carrier.
func (c *campaign) feed() {
	kind := c.g.r.IntN(len(c.kinds))
	c.kinds[kind]++
	var f []byte
	switch kind {
	case 0:
		in, counter := c.g.damaged()
		c.s.in = append(c.s.in, in...)
		c.counts[counter]++
		return
	case 1:
		f = c.g.other()
	case 2:
		f = c.g.invalid()
	case 3:
		f = c.g.mutated()
	default:
		f, _ = c.g.good()
		if c.g.r.IntN(4) == 0 {
			f = c.g.station()
		}
	}
	c.s.in = append(c.s.in, carrier(sealed(f), 12+c.g.r.IntN(3))...)
	if !slices.Equal(f[:6], board.MAC[:]) && !slices.Equal(f[:6], broadcast) {
		c.counts[Filtered]++
		return
	}
	c.counts[Good]++
	o := outcomeOf(f)
	if o.data != nil {
		c.data = append(c.data, o.data)
	}
	if o.answer != nil {
		c.answer = append(c.answer, o.answer)
	}
}

// missing returns how many of want are not in got, which has no others and has their order.
func missing(t *testing.T, want, got [][]byte) int {
	t.Helper()
	n := 0
	for _, w := range want {
		if len(got) > 0 && slices.Equal(got[0], w) {
			got = got[1:]
		} else {
			n++
		}
	}
	if len(got) > 0 {
		require.Fail(t, "not expected", "%x", got[0])
	}
	return n
}

// TestRandom sends right, wrong, damaged and mutated frames. Only what a model of the headers
// accepts is delivered or answered, and each frame is counted.
func TestRandom(t *testing.T) {
	tooltest.Long(t)
	for done, seed := 0, *seedFlag; done < *bytesFlag; seed++ {
		c := campaign{g: traffic{rand.New(rand.NewPCG(seed, 3)), seed%3 != 0}, s: newStation(t)}
		for range 150 {
			c.feed()
			c.s.in = append(c.s.in, make([]mac.Byte, c.g.r.IntN(2)*c.g.r.IntN(1500))...)
		}
		for _, b := range c.s.in {
			if b.Valid {
				done++
			}
		}
		c.s.run()
		c.check(t, seed)
	}
}

func (c *campaign) check(t *testing.T, seed uint64) {
	t.Helper()
	var data [][]byte
	for _, d := range c.s.delivered() {
		data = append(data, d.data)
	}
	lost := missing(t, c.data, data) + missing(t, c.answer, c.s.take())
	got := c.s.counts()
	assert.Less(t, lost, 20, "seed %d", seed)
	assert.Greater(t, len(data), 10, "seed %d", seed)
	c.counts[NoRoom] = uint32(lost)
	rest := c.counts[Good] - uint32(len(c.data)+len(c.answer))
	c.counts[Ignored], c.counts[Invalid] = got[Ignored], rest-got[Ignored]
	require.Equal(t, c.counts, got, "seed %d", seed)
	require.Positive(t, got[Ignored])
	require.Positive(t, got[Invalid])

	// The next frame is delivered.
	c.s.receive(alice.udp([]byte("after")))
	c.s.run()
	require.Equal(t, []datagram{{[]byte("after"), false}}, c.s.delivered(), "seed %d", seed)
}
