package content

import "bytes"

// A Call is a call that writes to resources.
type Call struct {
	Function string
	Number   uint64 // in the order of all calls
	List     uint64 // number of the call that executed the list with the call; 0: none
}

// A step is the index of an origin in Model.origins. 0 is unknown.
type step uint32

// An origin records how an element got its value: by a call, from the value of
// another step, or 0.
type origin struct {
	call   Call
	from   step
	within tolerance
}

// A tolerance is the allowed difference of a component.
type tolerance uint8

const (
	exact       tolerance = iota
	oneUnsigned           // by 1, as unsigned numbers
	oneSigned
)

// maxSteps bounds the history. When it is full, everything is forgotten.
const maxSteps = 1 << 20

// A Model has the history of the contents of resources. The zero Model is ready for use.
type Model struct {
	origins []origin
	all     map[*Resource]bool // resources with known contents
}

// add adds a step.
func (m *Model) add(s origin) step {
	if len(m.origins) == 0 {
		m.origins = append(m.origins, origin{})
	}
	m.origins = append(m.origins, s)
	return step(len(m.origins) - 1)
}

// Forget makes everything unknown.
func (m *Model) Forget() {
	for r := range m.all {
		r.forgetAll()
	}
	m.origins, m.all = nil, nil
}

// Lost makes the contents of a resource unknown.
func (m *Model) Lost(r *Resource) { r.forgetAll() }

// Drop forgets a resource that is destroyed.
func (m *Model) Drop(r *Resource) {
	r.forgetAll()
	delete(m.all, r)
}

// know notes that r has known contents. It forgets everything if the history is full.
func (m *Model) know(r *Resource) {
	if len(m.origins) >= maxSteps {
		m.Forget()
	}
	if m.all == nil {
		m.all = map[*Resource]bool{}
	}
	m.all[r] = true
}

// Write sets a part of a subresource to rows of data that are pitch bytes apart. A part
// that is outside or without data makes the subresource unknown.
func (m *Model) Write(r *Resource, sub int, b Box, data []byte, pitch int, c Call) {
	m.write(r, sub, b, data, pitch, nil, false, c)
}

// write is Write for the bytes for which mask, if it is not nil, is true: of entire
// elements of 1 byte. The others become unknown, or are kept.
func (m *Model) write(r *Resource, sub int, b Box, data []byte, pitch int, mask []bool, keep bool, c Call) {
	if r == nil {
		return
	}
	row := (b.X1 - b.X0) * r.element
	if !r.holds(sub, b) || (b.Y1-b.Y0-1)*pitch+row > len(data) {
		r.forget(sub)
		return
	}
	m.know(r)
	s, by := r.at(sub), m.add(origin{call: c})
	for y := b.Y0; y < b.Y1; y++ {
		at := y*s.Width + b.X0
		from := data[(y-b.Y0)*pitch:][:row]
		if mask == nil {
			copy(s.data[at*r.element:], from)
			fill(s.from[at:at+b.X1-b.X0], by)
			continue
		}
		for x, v := range from {
			switch {
			case mask[x]:
				s.data[at+x], s.from[at+x] = v, by
			case !keep:
				s.from[at+x] = 0
			}
		}
	}
}

func fill(p []step, v step) {
	for i := range p {
		p[i] = v
	}
}

// Fill sets each element of a subresource to the first bytes of value. Each component
// may differ by 1, as a signed or an unsigned number.
func (m *Model) Fill(r *Resource, sub int, value [8]byte, signed bool, c Call) {
	if r == nil || sub >= len(r.subs) {
		return
	}
	if r.element > len(value) {
		r.forget(sub)
		return
	}
	m.know(r)
	s, within := r.at(sub), oneUnsigned
	if signed {
		within = oneSigned
	}
	fill(s.from, m.add(origin{call: c, within: within}))
	copy(s.data, bytes.Repeat(value[:r.element], s.Width*s.Height))
}

// Copy copies the part b of a subresource of src to (x, y) of one of dst.
func (m *Model) Copy(dst *Resource, dstSub, x, y int, src *Resource, srcSub int, b Box, c Call) {
	if src != nil && src.holds(srcSub, b) {
		src.gpuReads(srcSub, b)
	}
	if dst == nil {
		return
	}
	to := Box{x, y, x + b.X1 - b.X0, y + b.Y1 - b.Y0}
	if src == nil || dst.element != src.element || !src.holds(srcSub, b) || !dst.holds(dstSub, to) ||
		dst == src && dstSub == srcSub && to.overlaps(b) {
		dst.forget(dstSub)
		return
	}
	if src.subs[srcSub].data == nil && dst.subs[dstSub].data == nil {
		return
	}
	m.know(dst)
	s, d := src.at(srcSub), dst.at(dstSub)
	var last, by step // the steps of the element before
	for i := range b.Y1 - b.Y0 {
		from, at := (b.Y0+i)*s.Width+b.X0, (y+i)*d.Width+x
		n := b.X1 - b.X0
		copy(d.data[at*dst.element:][:n*dst.element], s.data[from*dst.element:])
		for j, f := range s.from[from:][:n] {
			if f != last {
				if last, by = f, 0; f != 0 {
					by = m.add(origin{call: c, from: f, within: m.origins[f].within})
				}
			}
			d.from[at+j] = by
		}
	}
}
