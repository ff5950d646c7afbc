package sanitize

import "github.com/hilgpu/hilgpu/rtl/abi/pkt"

// A span is a range of GPU addresses.
type span struct{ from, to uint64 }

func (s span) has(o span) bool      { return o.from >= s.from && o.to <= s.to && o.from <= o.to }
func (s span) overlaps(o span) bool { return s.from < o.to && o.from < s.to }

// and returns the part of s that is in o. It is empty if the spans do not overlap.
func (s span) and(o span) span {
	from := max(s.from, o.from)
	return span{from, max(from, min(s.to, o.to))}
}

func (s span) String() string { return pkt.FormatAddr(s.from) + " to " + pkt.FormatAddr(s.to) }

// rows are ranges of the same width, one every pitch bytes.
type rows struct{ from, pitch, width, n uint64 }

// span returns the range from the first byte to the last. There must be a row.
func (r rows) span() span { return span{r.from, r.from + (r.n-1)*r.pitch + r.width} }

// row returns a row.
func (r rows) row(i uint64) span {
	from := r.from + i*r.pitch
	return span{from, from + r.width}
}

// each calls do with the part of each row that is in a range, and with its offset in the bytes of
// all rows together, until do returns false.
func (r rows) each(in span, do func(part span, offset uint64) bool) {
	var i uint64
	if in.from > r.from && r.pitch > 0 {
		i = (in.from - r.from) / r.pitch
	}
	for ; i < r.n; i++ {
		row := r.row(i)
		if row.from >= in.to {
			return
		}
		part := row.and(in)
		if part.from < part.to && !do(part, i*r.width+part.from-row.from) {
			return
		}
	}
}
