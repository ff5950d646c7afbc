package frame

import "bytes"

// A Sink takes what a Decoder finds, in the order of the line. What it is given
// is valid only during the call.
type Sink interface {
	// Frame takes a frame of a legal size.
	Frame(frame []byte)

	// Text takes console text, which may come in pieces.
	Text(text []byte)

	// Damaged is told of n bytes, 1 or more, that are neither.
	Damaged(n int)
}

// Stats counts what a Decoder has found.
type Stats struct {
	Frames   uint64 // handed up; whether they are whole, their check says
	Text     uint64 // bytes of console text
	Garbage  uint64 // bytes that are neither, delimiters not counted
	Oversize uint64 // chunks too long for a frame, text included
}

// leastText is how many bytes of text there are before a frame that nothing
// delimits from them; one may be the beginning of a damaged frame.
const leastText = 2

// A Decoder finds frames and text in a stream of bytes. A chunk is what stands
// between two delimiters.
//
//   - A chunk that can be unstuffed to a legal size is a frame.
//   - A chunk of which all bytes are text is text: printable ASCII, BEL, BS, TAB,
//     LF, VT, FF, CR and ESC. One that can be a frame is a frame, and text only
//     if it has a CR LF or ends with an LF: few lines of text are stuffed by
//     chance, and some frames have no other bytes.
//   - A chunk that begins with two or more bytes of text, and can be a frame from
//     there on, is both: whoever wrote the text did not delimit it. If there are
//     several places where the frame can begin, all of them are tried.
//   - Any other chunk is damaged. If it is too long for a frame, what came before
//     its first byte that is not text is text.
//
// Whatever comes before a delimiter, the frame behind it is found. Memory does
// not grow: more than the longest chunk of a frame is never kept.
type Decoder struct {
	least, most int // sizes of a frame

	chunk []byte // what there is of it, if it can be a frame yet
	plain []byte
	over  bool // the chunk is too long
	text  bool // all of it is text
	shown int  // bytes of it that were handed up as text
	bad   int  // bytes of an overlong chunk that are not text
	stats Stats
}

// NewDecoder returns a decoder of frames of least to most bytes, 1 <= least <=
// most.
func NewDecoder(least, most int) *Decoder {
	if least < 1 || most < least {
		panic("frame: sizes out of order")
	}
	return &Decoder{
		least: least, most: most, text: true,
		chunk: make([]byte, 0, stuffed(most)),
		plain: make([]byte, 0, most),
	}
}

// Stats returns the counters.
func (d *Decoder) Stats() Stats { return d.stats }

// Feed takes the next bytes of the stream. How the stream is cut into pieces
// makes no difference, but for the pieces in which text comes.
func (d *Decoder) Feed(p []byte, s Sink) {
	for len(p) > 0 {
		n := 0
		for n < len(p) && p[n] != delimiter {
			n++
		}
		if n > 0 {
			d.add(p[:n], s)
		}
		if n == len(p) {
			return
		}
		d.end(s)
		p = p[n+1:]
	}
}

// Flush hands up text that no delimiter has ended yet, such as a prompt. Half a
// frame can look like that, so it is called when the line has been idle for
// longer than any frame is on its way.
func (d *Decoder) Flush(s Sink) {
	if d.text && !d.over {
		d.show(d.chunk[d.shown:], s)
		d.shown = len(d.chunk)
	}
}

// Finish is Flush at the end of the stream, where a frame may have been cut off:
// only lines are handed up, and what follows them.
func (d *Decoder) Finish(s Sink) {
	if hasLine(d.chunk) {
		d.Flush(s)
	}
}

// Waiting reports whether Flush would hand up something.
func (d *Decoder) Waiting() bool { return d.text && !d.over && d.shown < len(d.chunk) }

// add takes bytes of one chunk.
func (d *Decoder) add(p []byte, s Sink) {
	if !d.over {
		n := min(len(p), cap(d.chunk)-len(d.chunk))
		d.chunk = append(d.chunk, p[:n]...)
		d.text = d.text && textLen(p[:n]) == n
		if p = p[n:]; len(p) == 0 {
			return
		}
		d.overflow(s)
	}
	n := 0
	if d.text {
		n = textLen(p)
		d.show(p[:n], s)
		d.text = n == len(p)
	}
	d.bad += len(p) - n
}

// overflow says what a chunk is that no delimiter has ended in time.
func (d *Decoder) overflow(s Sink) {
	d.over = true
	d.stats.Oversize++
	n := textLen(d.chunk)
	d.show(d.chunk[min(d.shown, n):n], s)
	d.bad = len(d.chunk) - n
}

// end takes the delimiter behind a chunk.
func (d *Decoder) end(s Sink) {
	switch {
	case d.over:
		d.damaged(d.bad, s)
	case len(d.chunk) > 0:
		d.classify(s)
	}
	d.chunk, d.over, d.text, d.shown, d.bad = d.chunk[:0], false, true, 0, 0
}

func (d *Decoder) classify(s Sink) {
	plain, ok := d.unstuff(d.chunk)
	if !ok || hasLine(d.chunk) {
		d.Flush(s)
	}
	if ok {
		d.frame(plain, s)
		return
	}
	if d.text {
		return
	}
	found := false
	for i := leastText; i <= textLen(d.chunk); i++ {
		plain, ok := d.unstuff(d.chunk[i:])
		if !ok {
			continue
		}
		if !found {
			d.show(d.chunk[min(d.shown, i):i], s)
		}
		found = true
		d.frame(plain, s)
	}
	if !found {
		d.damaged(len(d.chunk)-d.shown, s)
	}
}

// unstuff returns the frame that a chunk is, if it is one of a legal size.
func (d *Decoder) unstuff(chunk []byte) ([]byte, bool) {
	plain, ok := appendPlain(d.plain[:0], chunk, d.most)
	return plain, ok && len(plain) >= d.least
}

func (d *Decoder) frame(plain []byte, s Sink) {
	d.stats.Frames++
	s.Frame(plain)
}

func (d *Decoder) show(p []byte, s Sink) {
	if len(p) > 0 {
		d.stats.Text += uint64(len(p))
		s.Text(p)
	}
}

func (d *Decoder) damaged(n int, s Sink) {
	if n > 0 {
		d.stats.Garbage += uint64(n)
		s.Damaged(n)
	}
}

// hasLine reports whether text has an end of a line where frames seldom do.
func hasLine(p []byte) bool {
	return bytes.HasSuffix(p, []byte("\n")) || bytes.Contains(p, []byte("\r\n"))
}

// textLen returns how many bytes at the start of p are text.
func textLen(p []byte) int {
	for i, c := range p {
		if !isText(c) {
			return i
		}
	}
	return len(p)
}

func isText(c byte) bool { return c >= ' ' && c <= '~' || c >= '\a' && c <= '\r' || c == 0x1b }
