package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// The values are counted, the most frequent first, and the times between two reads are kept.
func TestSamples(t *testing.T) {
	var none *samples
	assert.Nil(t, none.answer())
	s := &samples{}
	for i, v := range []uint32{7, 9, 9, 7, 9} {
		s.add(v, []time.Duration{0, 400, 900, 1200, 2200}[i]*time.Millisecond)
	}
	assert.Equal(t, &Samples{Count: 5, Values: []Sampled{{9, 3}, {7, 2}}, Last: 1000, Least: 300, Most: 1000}, s.answer())
	two := &samples{}
	two.add(7, 100*time.Millisecond)
	two.add(7, 350*time.Millisecond)
	assert.Equal(t, &Samples{Count: 2, Values: []Sampled{{7, 2}}, Last: 250, Least: 250, Most: 250}, two.answer())
	two.add(7, 350*time.Millisecond)
	two.add(7, 950*time.Millisecond)
	assert.Equal(t, &Samples{Count: 4, Values: []Sampled{{7, 4}}, Last: 600, Least: 0, Most: 600}, two.answer(), "two reads at the same time")
	one := &samples{}
	one.add(1, time.Hour)
	assert.Equal(t, &Samples{Count: 1, Values: []Sampled{{1, 1}}}, one.answer())
}

// A register that counts has a bounded table. The further values are counted together.
func TestSamplesAreBounded(t *testing.T) {
	s := &samples{}
	for v := range uint32(100) {
		s.add(v, 0)
	}
	s.add(0, 0)
	a := s.answer()
	assert.Len(t, a.Values, maxValues)
	assert.Equal(t, Sampled{0, 2}, a.Values[0])
	assert.Equal(t, 101, a.Count)
	assert.Equal(t, 100-maxValues, a.Others)
}

// The answer for a name has the samples of the register; that for all registers has none.
func TestSamplesOfARegister(t *testing.T) {
	s, link := serve(t, "line")
	for v := range byte(2) {
		write(t, link, idreg.Scratch3, 0x40+v)
		s.boards[0].words = map[uint32]word{} // no value is fresh
		var all Registers
		get(t, s, "/api/registers", &all)
		for _, r := range all.Registers {
			require.Nil(t, r.Samples, r.Name)
		}
	}
	var one Registers
	get(t, s, "/api/register/id.scratch3", &one)
	require.Len(t, one.Registers, 1)
	got := one.Registers[0].Samples
	require.NotNil(t, got)
	assert.Equal(t, 2, got.Count)
	assert.Equal(t, []Sampled{{0x40, 1}, {0x41, 1}}, got.Values)
	var unread Registers
	get(t, s, "/api/register/id.time_lo", &unread)
	assert.Nil(t, unread.Registers[0].Samples, "it is not read")
}
