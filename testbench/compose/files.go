package compose

import (
	"strconv"
	"strings"
)

// PlanOf returns the plan of o with the image files at paths as its sources, or
// with the samples if there are none. It fails as Load and NewPlan do.
func PlanOf(o Options, paths []string) (*Plan, error) {
	if len(paths) == 0 {
		return SamplePlan(o)
	}
	o.Sources = nil
	for _, path := range paths {
		s, err := Load(path)
		if err != nil {
			return nil, err
		}
		o.Sources = append(o.Sources, s)
	}
	return NewPlan(o)
}

// ParseSize parses a size in pixels such as 320x240, and reports whether text
// is one. NewPlan checks the range.
func ParseSize(text string) (w, h int, ok bool) {
	ws, hs, ok := strings.Cut(text, "x")
	if !ok {
		return 0, 0, false
	}
	w, err := strconv.Atoi(ws)
	if err != nil {
		return 0, 0, false
	}
	h, err = strconv.Atoi(hs)
	return w, h, err == nil
}
