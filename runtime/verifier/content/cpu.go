package content

import "bytes"

// Take sets subresource sub to what the CPU has written: rows of data, pitch bytes
// apart, which no work uses.
func (m *Model) Take(r *Resource, sub int, data []byte, pitch int, c Call) {
	if r == nil {
		return
	}
	m.Write(r, sub, r.All(sub), data, pitch, c)
	if sub == 0 {
		r.written, r.read = false, Box{}
	}
}

// Overwritable reports whether the CPU may read the buffer while work uses it: the GPU
// has not written it since the CPU did.
func (r *Resource) Overwritable() bool { return r != nil && !r.written }

// Written notes that the GPU changes the resource.
func (r *Resource) Written() {
	if r != nil {
		r.written = true
	}
}

// Overwrite is Take for a buffer that work uses, with its contents before. If the GPU
// may have read a byte that changed, the application broke its promise, and everything
// is forgotten.
func (m *Model) Overwrite(r *Resource, before, data []byte, c Call) {
	if r == nil {
		return
	}
	if len(before) != len(data) || !r.holds(0, r.All(0)) || len(data) < r.All(0).X1 {
		r.forget(0)
		return
	}
	changed := make([]bool, len(data))
	for i := range data {
		changed[i] = data[i] != before[i]
		if changed[i] && i >= r.read.X0 && i < r.read.X1 {
			m.Forget()
			return
		}
	}
	if !bytes.Equal(before, data) {
		m.write(r, 0, r.All(0), data, len(data), changed, true, c)
	}
}
