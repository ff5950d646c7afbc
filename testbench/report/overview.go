package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// maxMarks is the number of marks of an overview. With more, neighbours become one.
const maxMarks = 3000

// A band is a piece of a track: a slice, or several close ones.
type band struct {
	start, end uint64
	name       string
	slices     int
}

// rows collects the slices of the tracks. It implements timeline.Sink.
type rows struct {
	tracks []*timeline.Track
	bands  map[*timeline.Track][]band
	marks  []timeline.Mark
	n      int
	gap    uint64 // bands closer than this become one
	end    uint64
}

// Track adds a row.
func (r *rows) Track(t *timeline.Track) { r.tracks = append(r.tracks, t) }

// Slice adds a slice. Of the calls of threads only the outermost is shown.
func (r *rows) Slice(s timeline.Slice) {
	r.end = max(r.end, s.End)
	all := r.bands[s.Track]
	for len(all) > 0 && all[len(all)-1].start >= s.Start { // a call in this one
		all = all[:len(all)-1]
		r.n--
	}
	r.bands[s.Track] = append(all, band{s.Start, s.End, s.Name, 1})
	if r.n++; r.n > 2*maxMarks {
		r.merge()
	}
}

// merge makes neighbours one until there are at most maxMarks.
func (r *rows) merge() {
	for r.gap = max(r.gap, r.end/maxMarks/16, 1); r.n > maxMarks; r.gap *= 2 {
		r.n = 0
		for t, all := range r.bands {
			var out []band
			for _, b := range all {
				if n := len(out) - 1; n >= 0 && b.start < out[n].end+r.gap {
					out[n].end, out[n].slices = max(out[n].end, b.end), out[n].slices+b.slices
					continue
				}
				out = append(out, b)
			}
			r.bands[t], r.n = out, r.n+len(out)
		}
	}
}

// Step does nothing: an overview has no flows.
func (r *rows) Step(timeline.Step) {}

// Count does nothing: an overview has no counters.
func (r *rows) Count(timeline.Count) {}

// Mark adds a mark.
func (r *rows) Mark(m timeline.Mark) {
	r.end = max(r.end, m.Time)
	if len(r.marks) < maxIncidents {
		r.marks = append(r.marks, m)
	}
}

// overview returns the timeline as a picture.
func (s *Source) overview() (template.HTML, error) {
	r := rows{bands: map[*timeline.Track][]band{}}
	if err := s.withLog(func(l *eventlog.Reader) error { return timeline.Build(l, &r) }); err != nil {
		return "", err
	}
	if r.n > maxMarks {
		r.merge()
	}
	var b bytes.Buffer
	r.draw(&b)
	return template.HTML(b.String()), nil //nolint:gosec // draw escapes the texts
}

// Sizes of the picture, in pixels.
const (
	labelWidth = 250
	plotWidth  = 910
	endWidth   = 40
	rowHeight  = 18
	topHeight  = 22
)

// colors of the groups.
var colors = map[timeline.Group]string{
	timeline.Queues: "#7a5ea8", timeline.Nodes: "#2f7d4f", timeline.DMA: "#b07a1e", timeline.Interrupts: "#b3261e", timeline.Threads: "#3565a8",
}

// order returns the rows of the picture: threads first, then the groups. A track without a
// slice has none.
func (r *rows) order() []*timeline.Track {
	out := slices.DeleteFunc(slices.Clone(r.tracks), func(t *timeline.Track) bool {
		return len(r.bands[t]) == 0 && !slices.ContainsFunc(r.marks, func(m timeline.Mark) bool { return m.Track == t })
	})
	place := func(t *timeline.Track) int {
		if t.Group == timeline.Threads {
			return -1
		}
		return int(t.Group)
	}
	slices.SortStableFunc(out, func(a, b *timeline.Track) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// draw writes the picture.
func (r *rows) draw(w *bytes.Buffer) {
	tracks := r.order()
	a := r.axis()
	height := topHeight + rowHeight*len(tracks)
	fmt.Fprintf(w, `<svg class="overview" role="img" aria-label="Timeline" viewBox="0 0 %d %d" width="%d" height="%d">`, labelWidth+plotWidth+endWidth, height, labelWidth+plotWidth+endWidth, height)
	for _, t := range a.ticks() {
		x := a.x(t)
		fmt.Fprintf(w, `<line class="tick" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="time" text-anchor="middle" x="%.1f" y="13">%.1f µs</text>`,
			x, x, topHeight-4, height, x, float64(t)/1000)
	}
	for i, t := range tracks {
		r.drawRow(w, a, t, topHeight+i*rowHeight)
	}
	if a.to > a.from {
		x := a.x(a.from)
		fmt.Fprintf(w, `<rect class="cut" x="%.1f" y="%d" width="%.1f" height="%d"><title>%.1f µs in which nothing begins or ends</title></rect>`,
			x, topHeight-4, a.x(a.to)-x, height-topHeight+4, float64(a.to-a.from)/1000)
	}
	w.WriteString("</svg>")
}

// leastWidth is the width of the smallest mark.
const leastWidth = 0.6

func (r *rows) drawRow(w *bytes.Buffer, a axis, t *timeline.Track, y int) {
	fmt.Fprintf(w, `<text class="track" x="0" y="%d">%s</text>`, y+13, template.HTMLEscapeString(rowName(t)))
	for _, b := range r.bands[t] {
		name := b.name
		if b.slices > 1 {
			name = fmt.Sprintf("%d slices, the first %s", b.slices, b.name)
		}
		x := a.x(b.start)
		fmt.Fprintf(w, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s, %.3f to %.3f µs</title></rect>`,
			x, y+3, max(a.x(b.end)-x, leastWidth), rowHeight-5, colors[t.Group], template.HTMLEscapeString(name), float64(b.start)/1000, float64(b.end)/1000)
	}
	for _, m := range r.marks {
		if m.Track == t {
			x := a.x(m.Time)
			text, _ := firstLine(m.Name + ": " + m.Text)
			fmt.Fprintf(w, `<path class="mark" d="M%.1f %d l4 8 h-8 z"><title>%s</title></path>`, x, y+5, template.HTMLEscapeString(text))
		}
	}
}

// rowName returns the label of a row.
func rowName(t *timeline.Track) string {
	if t.Group == timeline.Threads && t.Process != 0 {
		return fmt.Sprintf("application %d, %s", t.Process, t.Name)
	}
	return t.Name
}
