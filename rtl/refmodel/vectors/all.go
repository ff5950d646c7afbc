package vectors

import "slices"

// All returns every vector.
func All() []Vector {
	return slices.Concat(headers, linear, aperture, rects, marks, fences, windows, states, buffers)
}
