package inproc

// A ring is a queue of bounded size. The caller checks full before push and
// empty before front and pop.
type ring[T any] struct {
	buf  []T // length a power of two
	head int
	n    int
}

func newRing[T any](size int) ring[T] {
	n := 1
	for n < size {
		n *= 2
	}
	return ring[T]{buf: make([]T, n)}
}

func (r *ring[T]) empty() bool { return r.n == 0 }

func (r *ring[T]) full() bool { return r.n == len(r.buf) }

func (r *ring[T]) front() *T { return &r.buf[r.head] }

func (r *ring[T]) pop() {
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}

func (r *ring[T]) push(v T) {
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}
