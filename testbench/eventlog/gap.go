package eventlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Gap is a place of a log where blocks of events fail their check, and what is known of the missing events.
type Gap struct {
	From   uint64 `json:"from"`         // number of the first missing event
	To     uint64 `json:"to,omitempty"` // number of the last one; 0: no event follows
	After  uint64 `json:"after"`        // clock of the event before; 0: there is none
	Before uint64 `json:"before"`       // clock of the event after; 0 with To
}

// String tells which events are missing, and between which clocks.
func (g Gap) String() string {
	switch g.To {
	case 0:
		return fmt.Sprintf("the events from %d on, after clock %d, are missing", g.From, g.After)
	case g.From:
		return fmt.Sprintf("event %d, between clock %d and clock %d, is missing", g.From, g.After, g.Before)
	}
	return fmt.Sprintf("events %d to %d, between clock %d and clock %d, are missing", g.From, g.To, g.After, g.Before)
}

// Overlaps reports whether an event from one number to another may be missing. to 0 has no bound.
func (g Gap) Overlaps(from, to uint64) bool {
	return (g.To == 0 || g.To >= from) && (to == 0 || g.From <= to)
}

// Gap returns the gap before the event that Next has returned last, or that before the end or before the place
// at which it has failed. It reports false if there is none.
func (l *Reader) Gap() (Gap, bool) {
	if !l.here && !l.open {
		return Gap{}, false
	}
	return l.gaps[len(l.gaps)-1], true
}

// Gaps returns the gaps before the place of the reader.
func (l *Reader) Gaps() []Gap { return slices.Clone(l.gaps) }

// Damage returns an error that wraps ErrCorrupt and tells what is missing before the place of the reader, or nil.
func (l *Reader) Damage() error {
	switch n := len(l.gaps); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: %s", ErrCorrupt, l.gaps[0])
	default:
		return fmt.Errorf("%w in %d places: first %s", ErrCorrupt, n, l.gaps[0])
	}
}

// WithDamage returns an error of Next with what is missing before the place of the reader. It returns other errors, one that says it, and nil, as they are.
func (l *Reader) WithDamage(err error) error {
	if before := l.Damage(); before != nil && errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), before.Error()) {
		return fmt.Errorf("%w; before that, %w", err, before)
	}
	return err
}

// skip notes a block that is passed over.
func (l *Reader) skip() {
	if !l.open {
		l.gaps = append(l.gaps, Gap{From: max(1, l.next.id), After: l.next.time})
		l.open = true
	}
}

// resume ends the gap before an event.
func (l *Reader) resume(e *Event) {
	g := &l.gaps[len(l.gaps)-1]
	g.To, g.Before = max(g.From+1, e.ID)-1, e.Time
	l.open, l.here = false, true
}
