package why

import (
	"errors"
	"fmt"
)

// Annotate adds to an answer what is wrong with the log: a missing beginning or end.
func (r *Run) Annotate(a *Answer) { a.Notes = append(a.Notes, r.edges()...) }

// Explain adds to an error of a question about something that is not in the log what is wrong with the log: what was asked about may be in
// the part that is missing. It returns other errors as they are, and nil for nil.
func (r *Run) Explain(err error) error {
	if !errors.Is(err, ErrQuestion) {
		return err
	}
	for _, text := range r.edges() {
		err = fmt.Errorf("%w; %s", err, text)
	}
	return err
}

// edges tells where the log begins and ends, if its beginning or end is missing.
func (r *Run) edges() (all []string) {
	first, cut := r, r.Truncated
	for first.earlier != nil {
		first = first.earlier
	}
	if first.first.Event > 1 {
		all = append(all, fmt.Sprintf("the log begins at event %d, clock %d: what was before is not in it", first.first.Event, first.first.Time))
	}
	if cut {
		all = append(all, fmt.Sprintf("the log ends within a block, after clock %d: it is being written, or its writer was killed", r.last.Time))
	}
	if !cut && r.end.ID == 0 {
		all = append(all, "the log has no end: its command still runs, was killed, or kept only the last events")
	}
	return all
}
