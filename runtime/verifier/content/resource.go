package content

// MaxBytes is the size of the largest resource whose contents are known, in bytes.
const MaxBytes = 1 << 20

// A Shape is the size of a subresource, in elements.
type Shape struct{ Width, Height int }

// A Box is a half-open part of a subresource, in elements.
type Box struct{ X0, Y0, X1, Y1 int }

// Subresources returns the number of subresources.
func (r *Resource) Subresources() int { return len(r.subs) }

// empty reports whether a box has no element.
func (b Box) empty() bool { return b.X0 >= b.X1 || b.Y0 >= b.Y1 }

// overlaps reports whether two boxes have a common element.
func (b Box) overlaps(c Box) bool {
	return b.X0 < c.X1 && c.X0 < b.X1 && b.Y0 < c.Y1 && c.Y0 < b.Y1
}

// A Resource has the contents of a resource.
type Resource struct {
	element   int // bytes
	component int // bytes of a component of an element, for the tolerance of clears
	subs      []subresource

	written bool // by the GPU since the CPU last set the contents of subresource 0
	read    Box  // the smallest box of subresource 0 that has what the GPU read since then
}

// A subresource has rows without padding. Slices are nil until a byte is known.
type subresource struct {
	Shape
	data []byte
	from []step // of each element; 0: unknown
}

// NewResource returns a resource with unknown contents. element is the size of an
// element and component that of its components, in bytes. It returns nil if the
// resource is larger than MaxBytes.
func NewResource(element, component int, subs []Shape) *Resource {
	r, n := &Resource{element: element, component: component}, 0
	for _, s := range subs {
		if n += s.Width * s.Height * element; s.Width > MaxBytes || s.Height > MaxBytes || n > MaxBytes {
			return nil
		}
		r.subs = append(r.subs, subresource{Shape: s})
	}
	return r
}

// All returns the box of a subresource, empty if there is no such.
func (r *Resource) All(sub int) Box {
	if r == nil || sub >= len(r.subs) {
		return Box{}
	}
	return Box{X1: r.subs[sub].Width, Y1: r.subs[sub].Height}
}

// holds reports whether a box is not empty and inside a subresource.
func (r *Resource) holds(sub int, b Box) bool {
	all := r.All(sub)
	return !b.empty() && b.X0 >= 0 && b.Y0 >= 0 && b.X1 <= all.X1 && b.Y1 <= all.Y1
}

// at returns a subresource whose memory exists.
func (r *Resource) at(sub int) *subresource {
	s := &r.subs[sub]
	if s.data == nil {
		s.data = make([]byte, s.Width*s.Height*r.element)
		s.from = make([]step, s.Width*s.Height)
	}
	return s
}

// forget makes a subresource unknown.
func (r *Resource) forget(sub int) {
	if r != nil && sub < len(r.subs) {
		r.subs[sub].data, r.subs[sub].from = nil, nil
	}
}

// forgetAll makes the resource unknown.
func (r *Resource) forgetAll() {
	if r == nil {
		return
	}
	for sub := range r.subs {
		r.forget(sub)
	}
}

// gpuReads notes that the GPU reads a part of a subresource.
func (r *Resource) gpuReads(sub int, b Box) {
	if sub != 0 {
		return
	}
	if r.read.empty() {
		r.read = b
		return
	}
	r.read = Box{min(r.read.X0, b.X0), min(r.read.Y0, b.Y0), max(r.read.X1, b.X1), max(r.read.Y1, b.Y1)}
}
