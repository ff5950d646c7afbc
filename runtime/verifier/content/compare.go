package content

import (
	"bytes"
	"fmt"
	"strings"
)

// Compare compares rows of data, pitch bytes apart, with the known contents of a
// subresource. It returns "" or describes the first byte that differs and the calls
// that made its value.
func (m *Model) Compare(r *Resource, sub int, data []byte, pitch int) string {
	if r == nil || sub >= len(r.subs) || r.subs[sub].data == nil {
		return ""
	}
	s := &r.subs[sub]
	row := s.Width * r.element
	for y := range s.Height {
		if y*pitch+row > len(data) {
			break
		}
		got, want := data[y*pitch:][:row], s.data[y*row:][:row]
		if bytes.Equal(got, want) {
			continue
		}
		for x := range s.Width {
			at := s.from[y*s.Width+x]
			i := m.differs(r, at, got[x*r.element:][:r.element], want[x*r.element:][:r.element])
			if i >= 0 {
				i += x * r.element
				return fmt.Sprintf("byte %d of row %d is %#02x, want %#02x, %s", i, y, got[i], want[i], m.history(at))
			}
		}
	}
	return ""
}

// differs returns the index of the first byte of an element that is wrong, or -1.
func (m *Model) differs(r *Resource, at step, got, want []byte) int {
	if at == 0 {
		return -1
	}
	for i := 0; i < len(got); i += r.component {
		g, w := got[i:i+r.component], want[i:i+r.component]
		if bytes.Equal(g, w) || near(g, w, m.origins[at].within) {
			continue
		}
		for j := range g {
			if g[j] != w[j] {
				return i + j
			}
		}
	}
	return -1
}

// near reports whether two numbers of the same size are within a tolerance.
func near(a, b []byte, within tolerance) bool {
	if within == exact {
		return false
	}
	x, y := int64(0), int64(0)
	for i := range a {
		x, y = x|int64(a[i])<<(8*i), y|int64(b[i])<<(8*i)
	}
	if shift := 64 - 8*len(a); within == oneSigned {
		x, y = x<<shift>>shift, y<<shift>>shift
	}
	return x-y <= 1 && y-x <= 1
}

// maxHistory is the number of calls that history names.
const maxHistory = 4

// history describes the calls that made a value, the last one first.
func (m *Model) history(at step) string {
	var b strings.Builder
	verb := "as %s made it"
	for n := 0; at != 0; n, at = n+1, m.origins[at].from {
		s := m.origins[at]
		if s.from != 0 && n >= maxHistory-1 {
			continue
		}
		fmt.Fprintf(&b, verb, s.call)
		verb = " from the value of %s"
	}
	return b.String()
}

// String names the call and, if it was executed with a list, that call too.
func (c Call) String() string {
	if c.List != 0 {
		return fmt.Sprintf("%s (call %d, executed by pfnCommandListExecute in call %d)", c.Function, c.Number, c.List)
	}
	return fmt.Sprintf("%s (call %d)", c.Function, c.Number)
}
