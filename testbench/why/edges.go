package why

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Annotate adds to an answer what a reader must know of the log: a missing beginning or end, and, in a log of several boards,
// the board that the answer is about. of is the run that was asked, r or one of its boards.
func (r *Run) Annotate(a *Answer, of *Run) {
	if a.board != nil {
		of = a.board
	}
	a.Notes = append(append(a.Notes, r.edges()...), r.which(of)...)
}

// which tells which of several boards of the log a run is about.
func (r *Run) which(of *Run) []string {
	if r.number < 2 {
		return nil
	}
	return []string{fmt.Sprintf("the log has %d boards, and this is about board %d, %s: --opened N chooses another one", r.number, of.number, of.Header.Board)}
}

// Explain adds to an error of a question about something that is not in the log what Annotate adds to an answer: what was asked about may be
// in the part that is missing, or about another board. It returns other errors as they are, and nil for nil.
func (r *Run) Explain(err error, of *Run) error {
	if !errors.Is(err, ErrQuestion) {
		return err
	}
	for _, text := range append(r.edges(), r.which(of)...) {
		err = fmt.Errorf("%w; %s", err, text)
	}
	return err
}

// missed returns what is missing of the events after one and before another; 0: to the end of the log.
func (r *Run) missed(after, before uint64) (g eventlog.Gap, ok bool) {
	for _, g := range r.gaps {
		if g.Overlaps(after, before) {
			return g, true
		}
	}
	return g, false
}

// notKnown sets the verdict on something that missing events may have changed.
func (a *Answer) notKnown(verdict string, g eventlog.Gap) *Answer {
	a.Verdict = verdict
	return a.lacks(MissingUnknown, "%s", g)
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
	for _, g := range r.gaps {
		all = append(all, fmt.Sprintf("the log is damaged: %s, and what they did is not known", g))
	}
	switch {
	case !r.first.In() && cut:
		all = append(all, "the log has no complete block: it is being written, or its writer was killed")
	case cut:
		all = append(all, fmt.Sprintf("the log ends within a block, after clock %d: it is being written, or its writer was killed", r.last.Time))
	case r.end.ID == 0:
		all = append(all, "the log has no end: its command still runs, was killed, or kept only the last events")
	}
	return all
}
