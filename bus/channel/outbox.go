package channel

// compactAt is the least number of written bytes that makes an outbox move the rest to the
// front.
const compactAt = 1 << 16

// An outbox holds encoded bytes that wait to be written. Its memory is reused.
type outbox struct {
	buf  []byte
	head int // of the first byte that waits
}

// len returns the number of bytes that wait.
func (o *outbox) len() int { return len(o.buf) - o.head }

// rest returns the bytes that wait.
func (o *outbox) rest() []byte { return o.buf[o.head:] }

// take removes the first n bytes. They stay valid until trim.
func (o *outbox) take(n int) []byte {
	p := o.rest()[:n:n]
	o.head += n
	return p
}

// drop removes all bytes.
func (o *outbox) drop() { o.head = len(o.buf) }

// trim reuses the memory of the bytes that were taken or dropped. The caller holds the
// channel's token, and no longer uses them.
func (o *outbox) trim() {
	if o.len() > 0 && o.head < max(compactAt, o.len()) {
		return
	}
	o.buf = o.buf[:copy(o.buf, o.rest())]
	o.head = 0
}
