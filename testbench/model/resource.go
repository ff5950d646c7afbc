package model

import (
	"bytes"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
)

// A Family is a set of formats that copies do not convert between. 0 is the family
// of buffers.
type Family int

// A Shape determines which resources can be copied to each other.
type Shape struct {
	Family        Family
	Bytes         int // bytes per element; 1 in a buffer
	Width, Height int // size in elements; Height is 1 in a buffer
	Mips, Layers  int
}

// subresources returns the number of subresources.
func (s Shape) subresources() int { return s.Mips * s.Layers }

// Size returns the size of a subresource, in elements.
func (s Shape) Size(sub int) (w, h int) {
	level := sub % s.Mips
	return max(1, s.Width>>level), max(1, s.Height>>level)
}

// sameSize reports whether two shapes have subresources of equal sizes.
func (s Shape) sameSize(t Shape) bool {
	return s.Width == t.Width && s.Height == t.Height && s.Mips == t.Mips && s.Layers == t.Layers
}

// A Resource is a buffer or a texture.
type Resource struct {
	Shape
	Usage  d3d11.Usage
	Bind   uint32
	Access uint32 // CPUAccess bits
	Stride int    // bytes per structure; 0 unless a structured buffer

	Refs int      // the application's references
	Subs [][]byte // contents of each subresource, rows without padding

	// Used is set once work uses the resource, so that NO_OVERWRITE maps are read-only.
	Used bool

	mapped map[int]d3d11.MapType // subresources that the immediate context has mapped
}

// Alive reports whether the application may use the resource.
func (r *Resource) Alive() bool { return r != nil && r.Refs > 0 }

// buffer reports whether the resource is a buffer.
func (r *Resource) buffer() bool { return r.Family == 0 }

// Mapped reports whether the immediate context has mapped a subresource.
func (r *Resource) Mapped() bool { return len(r.mapped) > 0 }

// all returns the box of an entire subresource.
func (r *Resource) all(sub int) d3d11.Box {
	w, h := r.Size(sub)
	return d3d11.Box{Right: uint32(w), Bottom: uint32(h), Back: 1}
}

// holds reports whether a box is not empty and inside a subresource.
func (r *Resource) holds(sub int, b d3d11.Box) bool {
	all := r.all(sub)
	return b.Left < b.Right && b.Top < b.Bottom && b.Front < b.Back &&
		b.Right <= all.Right && b.Bottom <= all.Bottom && b.Back <= all.Back
}

// structures reports whether a box contains only entire structures.
func (r *Resource) structures(b d3d11.Box) bool {
	return r.Stride == 0 || int(b.Left)%r.Stride == 0 && int(b.Right)%r.Stride == 0
}

// Part returns the rows of a box in a subresource.
func (r *Resource) Part(sub int, b d3d11.Box) []byte {
	w, _ := r.Size(sub)
	var out []byte
	for y := int(b.Top); y < int(b.Bottom); y++ {
		out = append(out, r.Subs[sub][(y*w+int(b.Left))*r.Bytes:(y*w+int(b.Right))*r.Bytes]...)
	}
	return out
}

// Put writes the rows of a box in a subresource.
func (r *Resource) Put(sub int, b d3d11.Box, rows []byte) {
	w, _ := r.Size(sub)
	n := int(b.Right-b.Left) * r.Bytes
	for y := int(b.Top); y < int(b.Bottom); y++ {
		copy(r.Subs[sub][(y*w+int(b.Left))*r.Bytes:][:n], rows)
		rows = rows[n:]
	}
}

// A View is a render-target view of the slices [First, First+Slices) of a mip
// level.
type View struct {
	Of            *Resource
	Mip           int
	First, Slices int
	Element       func(color [4]float32) []byte // encodes a colour as an element

	Refs int // the application's references
}

// Alive reports whether the application may use the view.
func (v *View) Alive() bool { return v != nil && v.Refs > 0 }

// Joins reports whether the view, which may be nil, can be a render target
// together with others: views of the same size without a common subresource.
func (v *View) Joins(others []*View) bool {
	if v == nil {
		return true
	}
	mine := v.subs()
	w, h := v.Of.Size(v.Mip)
	for _, o := range others {
		if o == nil {
			continue
		}
		if ow, oh := o.Of.Size(o.Mip); ow != w || oh != h || o.Slices != v.Slices {
			return false
		}
		for sub := range o.subs() {
			if o.Of == v.Of && mine[sub] {
				return false
			}
		}
	}
	return true
}

// subs returns the subresources of the view.
func (v *View) subs() map[int]bool {
	all := map[int]bool{}
	for i := range v.Slices {
		all[(v.First+i)*v.Of.Mips+v.Mip] = true
	}
	return all
}

// clear fills the slices of the view.
func (v *View) clear(color [4]float32) {
	for i := v.First; i < v.First+v.Slices; i++ {
		sub := i*v.Of.Mips + v.Mip
		w, h := v.Of.Size(sub)
		v.Of.Subs[sub] = bytes.Repeat(v.Element(color), w*h)
	}
}

// Fill sets the initial contents of a resource, n bytes per subresource, and the
// application's reference.
func (r *Resource) Fill(contents func(n int) []byte) {
	r.Refs, r.mapped, r.Subs = 1, map[int]d3d11.MapType{}, nil
	for sub := range r.subresources() {
		w, h := r.Size(sub)
		r.Subs = append(r.Subs, contents(w*h*r.Bytes))
	}
}
