package caps

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The bits must keep the values that drivers of earlier releases know.
func TestBits(t *testing.T) {
	got := map[string]int{}
	for _, c := range Table {
		assert.Equal(t, 1, bits.OnesCount64(uint64(c.Bit)), c.Name)
		got[c.Name] = bits.TrailingZeros64(uint64(c.Bit))
	}
	for name, bit := range map[string]int{
		"PROTECTION": 4, "COALESCING": 5, "COUNTERS": 6, "WATCHDOG": 7, "TIMELINE": 24, "CONTEXTS": 25, "PREEMPTION": 26, "APERTURE": 29,
	} {
		assert.Equal(t, bit, got[name], name)
	}
}

func TestTable(t *testing.T) {
	var all Set
	names := map[string]bool{}
	for i, c := range Table {
		assert.Zero(t, all&c.Bit, "%s has the bit of another", c.Name)
		assert.Zero(t, c.Bit&0x183fff0f, "%s has a bit of a number in ID.CAPS", c.Name)
		assert.False(t, names[c.Name], "%s is declared twice", c.Name)
		assert.Regexp(t, `^[A-Z][A-Z0-9_]*$`, c.Name)
		assert.NotEmpty(t, c.Doc, c.Name)
		assert.NotEmpty(t, c.There, c.Name)
		if i > 0 {
			assert.Less(t, Table[i-1].Bit, c.Bit, "by bit")
		}
		all |= c.Bit
		names[c.Name] = true
	}
	assert.Equal(t, all, All())
	assert.Equal(t, Set(0x7_270000f0), Default())
	assert.Equal(t, Set(0x20000000), Small())
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name        string
		caps, caps2 uint32
		want        Set
	}{
		{"nothing", 0, 0, 0},
		{"numbers and reserved bits", 0xd8ffff0d, 0xffffffc0, 0},
		{"two nodes", 2, 0, Node1},
		{"all", 0xffffffff, 0xffffffff, All() | Node1},
		{"one", 0x30140481, 0, Watchdog | Aperture},
	} {
		assert.Equal(t, tt.want, Of(tt.caps, tt.caps2), tt.name)
	}
}

func TestSet(t *testing.T) {
	s := Watchdog | Counters
	assert.True(t, s.Has(Watchdog))
	assert.True(t, s.Has(s))
	assert.True(t, s.Has(0))
	assert.False(t, s.Has(Watchdog|Timeline))
	assert.Equal(t, "counters,watchdog", (s | Node1).String())
	assert.Equal(t, "none", Set(0).String())
	assert.Equal(t, uint32(0x12345678), Set(0x9abcdef012345678).Word(0))
	assert.Equal(t, uint32(0x9abcdef0), Set(0x9abcdef012345678).Word(1))
}
