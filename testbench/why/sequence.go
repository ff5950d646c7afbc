package why

import "iter"

// A sequence is a list that grows without moving its elements.
type sequence[T any] struct{ blocks [][]T }

// blockLen is the capacity of a block of a sequence, in elements.
const blockLen = 1024

// add appends an element, and returns its place.
func (s *sequence[T]) add(v T) *T {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last]) == blockLen {
		s.blocks, last = append(s.blocks, make([]T, 0, blockLen)), last+1
	}
	block := &s.blocks[last]
	*block = append(*block, v)
	return &(*block)[len(*block)-1]
}

// all returns the elements in order.
func (s *sequence[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, block := range s.blocks {
			for i := range block {
				if !yield(&block[i]) {
					return
				}
			}
		}
	}
}
