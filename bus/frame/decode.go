package frame

import "bytes"

// A Sink receives the output of a Decoder, in the order of the line. The byte
// slices are valid only during the call.
type Sink interface {
	// Frame receives a frame of a legal size.
	Frame(frame []byte)

	// Text receives a piece of console text.
	Text(text []byte)

	// Damaged reports n bytes, 1 or more, that are neither.
	Damaged(n int)
}

// Stats counts the output of a Decoder.
type Stats struct {
	Frames   uint64 // passed to the sink; their check is not verified here
	Text     uint64 // bytes of console text
	Garbage  uint64 // bytes that are neither, without delimiters
	Oversize uint64 // pieces too long for a frame or for text
}

// A Decoder separates frames and text in a stream of bytes. A frame that cannot be
// unstuffed to a legal size and text of another length than its own are damaged, as
// is what a writer sends that does not mark its text. The frame after a delimiter is
// found whatever bytes precede the delimiter. Memory is bounded: the decoder buffers
// at most the longest piece.
type Decoder struct {
	least, most int // sizes of a frame

	piece []byte // bytes so far, while the piece is not too long
	plain []byte
	over  int // bytes of a piece that is too long
	stats Stats
}

// NewDecoder returns a decoder of frames of least to most bytes, 1 <= least <=
// most.
func NewDecoder(least, most int) *Decoder {
	if least < 1 || most < least {
		panic("frame: sizes out of order")
	}
	return &Decoder{
		least: least, most: most,
		piece: make([]byte, 0, max(stuffed(most), 2+maxText)),
		plain: make([]byte, 0, most),
	}
}

// Stats returns the counters.
func (d *Decoder) Stats() Stats { return d.stats }

// Feed decodes the next bytes of the stream. The division of the stream into
// calls makes no difference.
func (d *Decoder) Feed(p []byte, s Sink) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, delimiter)
		if n < 0 {
			d.add(p)
			return
		}
		d.add(p[:n])
		d.end(s)
		p = p[n+1:]
	}
}

// add adds bytes to the current piece.
func (d *Decoder) add(p []byte) {
	if d.over > 0 || len(d.piece)+len(p) > cap(d.piece) {
		d.over += len(d.piece) + len(p)
		d.piece = d.piece[:0]
		return
	}
	d.piece = append(d.piece, p...)
}

// end handles the delimiter after a piece.
func (d *Decoder) end(s Sink) {
	switch {
	case d.over > 0:
		d.stats.Oversize++
		d.damaged(d.over, s)
	case len(d.piece) == 0:
	case d.piece[0] == textKind:
		d.text(s)
	default:
		d.frame(s)
	}
	d.piece, d.over = d.piece[:0], 0
}

// text passes a piece of text on.
func (d *Decoder) text(s Sink) {
	if len(d.piece) < 3 || len(d.piece)-2 != int(d.piece[1]) {
		d.damaged(len(d.piece), s)
		return
	}
	d.stats.Text += uint64(len(d.piece) - 2)
	s.Text(d.piece[2:])
}

// frame passes a frame on.
func (d *Decoder) frame(s Sink) {
	plain, ok := appendPlain(d.plain[:0], d.piece, d.most)
	if !ok || len(plain) < d.least {
		d.damaged(len(d.piece), s)
		return
	}
	d.stats.Frames++
	s.Frame(plain)
}

func (d *Decoder) damaged(n int, s Sink) {
	d.stats.Garbage += uint64(n)
	s.Damaged(n)
}
