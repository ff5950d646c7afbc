package umd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

func TestTable(t *testing.T) {
	s := table[int]{tag: tagQuery}
	a, b, c := garbage(privateBytes), garbage(privateBytes), garbage(privateBytes)
	assert.Nil(t, s.get(a), "garbage")
	one, two, three := 1, 2, 3
	s.put(a, &one)
	s.put(b, &two)
	assert.Equal(t, []byte{0x55, 0x51, 0x52, 0x59, 0, 0, 0, 0, 1, 0, 0, 0}, a.Private)
	assert.Same(t, &two, s.get(b))

	stale := append([]byte(nil), a.Private...)
	assert.Same(t, &one, s.remove(a))
	assert.Nil(t, s.remove(a), "removed twice")
	s.put(c, &three)
	assert.Equal(t, byte(0), c.Private[4], "the slot is reused")
	assert.Nil(t, s.get(&ddi.Object{Private: stale}), "a stale id is not an alias")
	assert.Same(t, &three, s.get(c))
	assert.Equal(t, []*int{&three, &two}, s.drain())
	assert.Nil(t, s.get(b))
}

func TestTableRefuses(t *testing.T) {
	s := table[int]{tag: tagQuery}
	o := garbage(privateBytes)
	s.put(o, new(int))
	for _, tt := range []struct {
		name   string
		change func(p []byte) []byte
	}{
		{"the zero generation", func(p []byte) []byte { le.PutUint32(p[8:], 0); return p }},
		{"another generation", func(p []byte) []byte { le.PutUint32(p[8:], 2); return p }},
		{"a slot that does not exist", func(p []byte) []byte { le.PutUint32(p[4:], 1); return p }},
		{"the largest slot", func(p []byte) []byte { le.PutUint32(p[4:], 1<<32-1); return p }},
		{"another kind of object", func(p []byte) []byte { le.PutUint32(p, tagView); return p }},
		{"short memory", func(p []byte) []byte { return p[:privateBytes-1] }},
		{"zeros", func(p []byte) []byte { clear(p); return p }},
	} {
		p := tt.change(append([]byte(nil), o.Private...))
		assert.Nil(t, s.get(&ddi.Object{Private: p}), tt.name)
	}
	assert.Nil(t, s.get(nil))
	assert.NotNil(t, s.get(o), "unchanged")
}

func TestTableGenerationWraps(t *testing.T) {
	s := table[int]{tag: tagQuery, gen: 1<<32 - 1}
	o := garbage(privateBytes)
	s.put(o, new(int))
	assert.NotNil(t, s.get(o), "generation 0 is reserved and skipped")
}
