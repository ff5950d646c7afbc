package datalink

// A Batch is a list of byte strings in one buffer. The buffer is that of the batch, which
// reuses it after Reset, or one that the caller lends.
type Batch struct {
	buf  []byte
	ends []int
	from int // end of what the buffer had when it was lent
	gap  int // bytes before each string
}

// Len returns the number of strings.
func (b *Batch) Len() int { return len(b.ends) }

// At returns string i, 0 to Len()-1. It is valid until Reset.
func (b *Batch) At(i int) []byte { return b.buf[b.start(i):b.ends[i]:b.ends[i]] }

// Gap returns the bytes before string i, which have any value. It is valid until Reset.
func (b *Batch) Gap(i int) []byte { return b.buf[b.start(i)-b.gap : b.start(i)] }

func (b *Batch) start(i int) int {
	if i == 0 {
		return b.from + b.gap
	}
	return b.ends[i-1] + b.gap
}

// Reset empties the batch.
func (b *Batch) Reset() { b.buf, b.ends = b.buf[:b.from], b.ends[:0] }

// Lend makes an empty batch append its strings to buf, each after gap bytes for a header
// of the caller. The batch only writes after the end of buf, to Take or the next Lend; the
// caller appends nothing to buf meanwhile. If the strings are not wanted, buf is as it was.
func (b *Batch) Lend(buf []byte, gap int) { b.buf, b.from, b.gap = buf, len(buf), gap }

// Take empties the batch and returns the buffer that was lent, or a larger copy of it,
// with the strings and the bytes before each.
func (b *Batch) Take() []byte {
	buf := b.buf
	*b = Batch{ends: b.ends[:0]}
	return buf
}

// open begins a string and returns where it starts. The caller appends the string to buf.
func (b *Batch) open() (start int) {
	b.buf = append(b.buf, make([]byte, b.gap)...)
	return len(b.buf)
}

// close ends the string.
func (b *Batch) close() { b.ends = append(b.ends, len(b.buf)) }

// Packets is a list of packets. Each has its own memory, which is reused.
type Packets struct {
	list [][]byte
	n    int
}

// Len returns the number of packets.
func (p *Packets) Len() int { return p.n }

// At returns packet i, 0 to Len()-1. It is valid until Reset.
func (p *Packets) At(i int) []byte { return p.list[i] }

// Take returns packet i for good, and takes the memory of spare in exchange.
func (p *Packets) Take(i int, spare []byte) []byte {
	packet := p.list[i]
	p.list[i] = spare[:0]
	return packet
}

// Reset empties the list.
func (p *Packets) Reset() { p.n = 0 }

// add appends a packet, and returns other memory in exchange for its own.
func (p *Packets) add(packet []byte) (spare []byte) {
	if p.n == len(p.list) {
		p.list = append(p.list, nil)
	}
	spare, p.list[p.n] = p.list[p.n][:0], packet
	p.n++
	return spare
}

// An Output collects the results of calls to a link, in order: frames to be
// sent and packets that have arrived. The caller consumes both and calls Reset.
type Output struct {
	Frames  Batch
	Packets Packets
}

// Reset empties the output.
func (o *Output) Reset() {
	o.Frames.Reset()
	o.Packets.Reset()
}
