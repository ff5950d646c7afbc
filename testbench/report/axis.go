package report

import "slices"

// An axis places times. The longest time in which nothing begins or ends is cut short if it is
// most of the run, as when the kernel waits for a GPU that has stopped.
type axis struct {
	start, end uint64
	from, to   uint64 // the time that is cut short; equal: none
}

// cutWidth is the width of a time that is cut short, in pixels.
const cutWidth = 80

// axis returns the axis of the rows.
func (r *rows) axis() axis {
	var times []uint64
	for _, all := range r.bands {
		for _, b := range all {
			times = append(times, b.start, b.end)
		}
	}
	for _, m := range r.marks {
		times = append(times, m.Time)
	}
	if len(times) == 0 {
		return axis{end: 1}
	}
	slices.Sort(times)
	a := axis{start: times[0], end: max(times[len(times)-1], times[0]+1)}
	for i := range times[1:] {
		if from, to := times[i], times[i+1]; to-from > a.to-a.from {
			a.from, a.to = from, to
		}
	}
	if a.to-a.from <= (a.end-a.start)/2 {
		a.from, a.to = 0, 0
	}
	return a
}

// x returns the place of a time, in pixels.
func (a axis) x(ns uint64) float64 {
	if a.from == a.to {
		return labelWidth + plotWidth*float64(ns-a.start)/float64(a.end-a.start)
	}
	rest := float64(max(a.end-a.start-(a.to-a.from), 1))
	const width = plotWidth - cutWidth
	switch {
	case ns <= a.from:
		return labelWidth + width*float64(ns-a.start)/rest
	case ns < a.to:
		return labelWidth + width*float64(a.from-a.start)/rest + cutWidth*float64(ns-a.from)/float64(a.to-a.from)
	}
	return labelWidth + cutWidth + width*float64(ns-a.start-(a.to-a.from))/rest
}

// ticks returns the times that have a label.
func (a axis) ticks() (out []uint64) {
	const n = 5
	if a.from == a.to {
		for i := range uint64(n + 1) {
			out = append(out, a.start+(a.end-a.start)/n*i+(a.end-a.start)%n*i/n)
		}
		return out
	}
	for _, t := range []uint64{a.start, a.start + (a.from-a.start)/2, a.from, a.to, a.to + (a.end-a.to)/2, a.end} {
		if x := a.x(t); len(out) == 0 || x-a.x(out[len(out)-1]) > cutWidth-1 {
			out = append(out, t)
		}
	}
	return out
}
