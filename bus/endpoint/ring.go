package endpoint

// A ring is a queue of bounded size. The caller checks full before push and
// empty before front and pop. Popped elements keep their memory for the next
// push.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

func newRing[T any](size int) ring[T] { return ring[T]{buf: make([]T, size)} }

func (r *ring[T]) empty() bool { return r.n == 0 }

func (r *ring[T]) full() bool { return r.n == len(r.buf) }

func (r *ring[T]) front() *T { return &r.buf[r.head] }

func (r *ring[T]) pop() {
	r.head = (r.head + 1) % len(r.buf)
	r.n--
}

// push returns the element to fill in. It still has its old contents.
func (r *ring[T]) push() *T {
	p := &r.buf[(r.head+r.n)%len(r.buf)]
	r.n++
	return p
}

func (r *ring[T]) clear() { r.head, r.n = 0, 0 }
