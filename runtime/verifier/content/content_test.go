package content

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// call returns a call that a test tells apart by its number.
func call(function string, n uint64) Call { return Call{Function: function, Number: n} }

// buffer returns a resource of n bytes.
func buffer(n int) *Resource { return NewResource(1, 1, []Shape{{n, 1}}) }

// set writes the bytes of a buffer from at on.
func (m *Model) set(r *Resource, at int, data string, n uint64) {
	m.Write(r, 0, Box{at, 0, at + len(data), 1}, []byte(data), len(data), call("write", n))
}

// copyAll copies buffers of the same size.
func (m *Model) copyAll(dst, src *Resource, n uint64) {
	m.Copy(dst, 0, 0, 0, src, 0, src.All(0), call("copy", n))
}

// compare compares the bytes of a buffer.
func (m *Model) compare(r *Resource, got string) string {
	return m.Compare(r, 0, []byte(got), len(got))
}

// Each program leaves a buffer of 4 bytes; a map that returns got says what is wanted.
func TestModel(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(m *Model, r *Resource)
		got  string
		says string
	}{
		{"nothing is known", func(*Model, *Resource) {}, "abcd", ""},
		{"a write", func(m *Model, r *Resource) { m.set(r, 0, "abcd", 1) }, "abcd", ""},
		{"a wrong byte", func(m *Model, r *Resource) { m.set(r, 0, "abcd", 1) }, "abxd", "byte 2 of row 0 is 0x78, want 0x63, as write (call 1) made it"},
		{"unknown bytes are not compared", func(m *Model, r *Resource) { m.set(r, 1, "bc", 1) }, "xbcx", ""},
		{"the last write counts", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.set(r, 1, "x", 2)
		}, "abcd", "byte 1 of row 0 is 0x62, want 0x78, as write (call 2) made it"},
		{"copies and their source", func(m *Model, r *Resource) {
			a, b := buffer(4), buffer(4)
			m.set(a, 0, "abcd", 1)
			m.copyAll(b, a, 2)
			m.copyAll(r, b, 3)
		}, "abcx", "byte 3 of row 0 is 0x78, want 0x64, as copy (call 3) made it from the value of copy (call 2) from the value of write (call 1)"},
		{"a long history", func(m *Model, r *Resource) {
			a, b := buffer(4), buffer(4)
			m.set(a, 0, "abcd", 1)
			for n := range uint64(4) {
				m.copyAll(b, a, 10+n)
				a, b = b, a
			}
			m.copyAll(r, a, 20)
		}, "xbcd", "byte 0 of row 0 is 0x78, want 0x61, as copy (call 20) made it from the value of copy (call 13) from the value of copy (call 12) from the value of write (call 1)"},
		{"a copy of unknown bytes", func(m *Model, r *Resource) {
			a := buffer(4)
			m.set(a, 0, "a", 1)
			m.set(r, 0, "wxyz", 2)
			m.copyAll(r, a, 3)
		}, "a???", ""},
		{"a copy outside", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.Copy(r, 0, 1, 0, r, 0, Box{0, 0, 4, 1}, call("copy", 2))
		}, "????", ""},
		{"a copy that overlaps", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.Copy(r, 0, 1, 0, r, 0, Box{0, 0, 2, 1}, call("copy", 2))
		}, "????", ""},
		{"a write without data", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.Write(r, 0, r.All(0), nil, 4, call("write", 2))
		}, "????", ""},
		{"everything is forgotten", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.Forget()
		}, "????", ""},
		{"one resource is lost", func(m *Model, r *Resource) {
			m.set(r, 0, "abcd", 1)
			m.Lost(r)
		}, "????", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Model
			r := buffer(4)
			tt.do(&m, r)
			assert.Equal(t, tt.says, m.compare(r, tt.got))
		})
	}
}

// Rows of a texture of 2 x 2 elements of 2 bytes, with padding.
func TestRows(t *testing.T) {
	var m Model
	r := NewResource(2, 1, []Shape{{1, 1}, {2, 2}})
	m.Write(r, 1, r.All(1), []byte("aabb..ccdd"), 6, call("write", 1))
	assert.Empty(t, m.Compare(r, 1, []byte("aabb-ccdd"), 5))
	assert.Equal(t, "byte 3 of row 1 is 0x78, want 0x64, as write (call 1) made it", m.Compare(r, 1, []byte("aabb-ccdx"), 5))
	m.Copy(r, 1, 0, 0, r, 1, Box{1, 1, 2, 2}, call("copy", 2))
	assert.Empty(t, m.Compare(r, 1, []byte("ddbbccdd"), 4))
	assert.Empty(t, m.Compare(r, 0, []byte("??"), 2))
}

// Each component of a clear may differ by 1, also after a copy. A negative number and 0
// are near each other only as signed numbers.
func TestFill(t *testing.T) {
	for _, tt := range []struct {
		value  [8]byte
		signed bool
		got    string
		ok     bool
	}{
		{[8]byte{0x80, 0xff}, false, "\x80\xff", true},
		{[8]byte{0x80, 0xff}, false, "\x7f\xfe", true},
		{[8]byte{0x80, 0xff}, false, "\x82\xff", false},
		{[8]byte{0x80, 0xff}, false, "\x80\x00", false},
		{[8]byte{0x80, 0xff}, true, "\x80\x00", true},
		{[8]byte{0x80, 0x00}, true, "\x7f\x00", false},
	} {
		var m Model
		r, to := NewResource(2, 1, []Shape{{1, 1}}), NewResource(2, 1, []Shape{{1, 1}})
		m.Fill(r, 0, tt.value, tt.signed, call("clear", 1))
		m.Copy(to, 0, 0, 0, r, 0, r.All(0), call("copy", 2))
		assert.Equal(t, tt.ok, m.compare(to, tt.got) == "", "%v %q", tt.value, tt.got)
	}
}

// Contents above the limit are unknown.
func TestLimit(t *testing.T) {
	assert.NotNil(t, buffer(MaxBytes))
	assert.Nil(t, buffer(MaxBytes+1))
	var m Model
	m.Write(nil, 0, Box{}, nil, 0, call("write", 1))
	m.Copy(nil, 0, 0, 0, buffer(1), 0, Box{}, call("copy", 1))
	r := buffer(1)
	m.set(r, 0, "a", 1)
	m.Copy(r, 0, 0, 0, nil, 0, Box{}, call("copy", 2))
	assert.Empty(t, m.compare(r, "?"))
}

// When the history is full, the model starts again.
func TestFullHistory(t *testing.T) {
	var m Model
	r := buffer(4)
	m.set(r, 0, "abcd", 1)
	m.origins = slices.Grow(m.origins, maxSteps)[:maxSteps]
	m.set(r, 0, "x", 2)
	assert.Len(t, m.origins, 2)
	assert.Empty(t, m.compare(r, "x???"))
	assert.NotEmpty(t, m.compare(r, "a???"))
}

// A list does its operations when it is executed, each time.
func TestList(t *testing.T) {
	var m Model
	var inner, l List
	r, from := buffer(2), buffer(2)
	m.set(from, 0, "ab", 1)
	inner.Record(r, func(m *Model, list uint64) {
		m.Copy(r, 0, 0, 0, from, 0, from.All(0), Call{Function: "copy", Number: 2, List: list})
	})
	l.Execute(&inner)
	assert.Empty(t, m.compare(r, "??"))
	m.Run(&l, 9)
	assert.Equal(t, "byte 0 of row 0 is 0x3f, want 0x61, as copy (call 2, executed by pfnCommandListExecute in call 9) made it from the value of write (call 1)", m.compare(r, "??"))
	m.set(from, 0, "cd", 3)
	m.Run(&l, 10)
	assert.Empty(t, m.compare(r, "cd"))
	m.Lose(&l)
	assert.Empty(t, m.compare(r, "??"))
}

// A list that is too long makes what it writes unknown.
func TestLongList(t *testing.T) {
	var m Model
	r := buffer(1)
	lists := []*List{{}}
	lists[0].Record(r, func(m *Model, _ uint64) { m.set(r, 0, "a", 1) })
	for i := range 15 {
		l := &List{}
		l.Execute(lists[i])
		l.Execute(lists[i])
		lists = append(lists, l)
	}
	m.Run(lists[14], 1) // 2^14 operations
	assert.NotEmpty(t, m.compare(r, "?"))
	m.Run(lists[15], 2)
	assert.Empty(t, m.compare(r, "?"))
}

// Discards of a list, and changes without a discard.
func TestDiscards(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(l *List, r, to *Resource)
		r    string // that is known then; ? is unknown
		to   string
	}{
		{"a discard", func(l *List, r, _ *Resource) { l.Discard(r, []byte("abcd"), 4, call("unmap", 1)) }, "abcd", "????"},
		{"a change after a copy", func(l *List, r, to *Resource) {
			l.Discard(r, []byte("abcd"), 4, call("unmap", 1))
			l.Record(to, func(m *Model, _ uint64) { m.copyAll(to, r, 2) })
			l.Overwrite(r, []byte("abcd"), []byte("abxd"), call("unmap", 3))
		}, "abxd", "ab?d"},
		{"a change after a copy to the buffer", func(l *List, r, to *Resource) {
			l.Discard(r, []byte("abcd"), 4, call("unmap", 1))
			l.Record(r, func(m *Model, _ uint64) { m.set(r, 0, "w", 2) })
			l.Overwrite(r, []byte("abcd"), []byte("abxd"), call("unmap", 3))
		}, "????", "????"},
		{"a change after the discard of another list", func(l *List, r, to *Resource) {
			var inner List
			inner.Discard(r, []byte("abcd"), 4, call("unmap", 1))
			l.Execute(&inner)
			l.Overwrite(r, []byte("abcd"), []byte("abxd"), call("unmap", 3))
		}, "????", "????"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Model
			var l List
			r, to := buffer(4), buffer(4)
			tt.do(&l, r, to)
			m.Run(&l, 9)
			assert.Equal(t, tt.r, m.known(r))
			assert.Equal(t, tt.to, m.known(to))
		})
	}
}

// known returns the bytes of a buffer, with ? for unknown ones.
func (m *Model) known(r *Resource) string {
	out := bytes.Repeat([]byte{'?'}, r.All(0).X1)
	if s := r.subs[0]; s.data != nil {
		for i, at := range s.from {
			if at != 0 {
				out[i] = s.data[i]
			}
		}
	}
	return string(out)
}

// Changes of the CPU without a discard.
func TestOverwrite(t *testing.T) {
	var m Model
	r, to := buffer(4), buffer(4)
	m.Take(r, 0, []byte("abcd"), 4, call("unmap", 1))
	m.Copy(to, 0, 0, 0, r, 0, Box{0, 0, 2, 1}, call("copy", 2))
	m.Overwrite(r, []byte("abcd"), []byte("abcx"), call("unmap", 3))
	assert.Equal(t, "abcx", m.known(r))
	assert.Equal(t, "ab??", m.known(to))
	assert.True(t, r.Overwritable())
	r.Written()
	assert.False(t, r.Overwritable())
	m.Overwrite(r, []byte("abcx"), []byte("ybcx"), call("unmap", 4)) // the GPU reads byte 0
	assert.Equal(t, "????", m.known(r))
	assert.Equal(t, "????", m.known(to))
}
