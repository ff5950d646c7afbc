package datalink

// A Batch is a list of byte strings in one buffer, which is reused after Reset.
type Batch struct {
	buf  []byte
	ends []int
}

// Len returns the number of strings.
func (b *Batch) Len() int { return len(b.ends) }

// At returns string i, 0 to Len()-1. It is valid until Reset.
func (b *Batch) At(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.buf[start:b.ends[i]:b.ends[i]]
}

// Reset empties the batch.
func (b *Batch) Reset() { b.buf, b.ends = b.buf[:0], b.ends[:0] }

func (b *Batch) add(p []byte) {
	b.buf = append(b.buf, p...)
	b.ends = append(b.ends, len(b.buf))
}

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
