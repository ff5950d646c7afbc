package frame

import "bytes"

// A Sink receives the output of a Decoder, in the order of the line. The byte
// slices are valid only during the call.
type Sink interface {
	// Frame receives a frame of a legal size.
	Frame(frame []byte)

	// Text receives console text, possibly in pieces.
	Text(text []byte)

	// Damaged reports n bytes, 1 or more, that are neither.
	Damaged(n int)
}

// Stats counts the output of a Decoder.
type Stats struct {
	Frames   uint64 // passed to the sink; their check is not verified here
	Text     uint64 // bytes of console text
	Garbage  uint64 // bytes that are neither, without delimiters
	Oversize uint64 // chunks too long for a frame, text included
}

// leastText is the smallest number of bytes of text recognised before a frame
// without a delimiter between them. A single byte may be the beginning of a
// damaged frame.
const leastText = 2

// A Decoder separates frames and text in a stream of bytes. A chunk is the
// bytes between two delimiters.
//
//   - A chunk that can be unstuffed to a legal size is a frame.
//   - A chunk of text bytes only is text: printable ASCII, BEL, BS, TAB, LF, VT,
//     FF, CR and ESC. A chunk that can also be a frame is a frame, and text only
//     if it has a CR LF or ends with an LF: few lines of text unstuff by chance,
//     and some frames have only text bytes.
//   - A chunk that begins with two or more bytes of text and continues as a
//     possible frame is both: the writer of the text did not delimit it. If the
//     frame can begin at several places, all of them are tried.
//   - Any other chunk is damaged. If it is too long for a frame, the bytes before
//     its first non-text byte are text.
//
// The frame after a delimiter is found whatever bytes precede the delimiter.
// Memory is bounded: the decoder buffers at most the longest chunk of a frame.
type Decoder struct {
	least, most int // sizes of a frame

	chunk []byte // bytes so far, while it can still be a frame
	plain []byte
	over  bool // the chunk is too long
	text  bool // all bytes are text
	shown int  // bytes already passed on as text
	bad   int  // non-text bytes of an overlong chunk
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

// Feed decodes the next bytes of the stream. The division of the stream into
// calls affects only the pieces in which text is passed on.
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

// Flush passes on text that no delimiter has ended yet, such as a prompt. Part
// of a frame can look like text, so call Flush only when the line has been idle
// for longer than a frame can take.
func (d *Decoder) Flush(s Sink) {
	if d.text && !d.over {
		d.show(d.chunk[d.shown:], s)
		d.shown = len(d.chunk)
	}
}

// Finish is Flush at the end of the stream, which may have cut off a frame. It
// passes on text only if it contains a line end.
func (d *Decoder) Finish(s Sink) {
	if hasLine(d.chunk) {
		d.Flush(s)
	}
}

// Waiting reports whether Flush would pass on text.
func (d *Decoder) Waiting() bool { return d.text && !d.over && d.shown < len(d.chunk) }

// add adds bytes to the current chunk.
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

// overflow classifies a chunk that is too long without a delimiter.
func (d *Decoder) overflow(s Sink) {
	d.over = true
	d.stats.Oversize++
	n := textLen(d.chunk)
	d.show(d.chunk[min(d.shown, n):n], s)
	d.bad = len(d.chunk) - n
}

// end handles the delimiter after a chunk.
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

// unstuff decodes a chunk and reports whether the frame has a legal size.
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

// hasLine reports whether text contains a line end that is rare in frames.
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
