package bringup

import (
	"context"
	"strconv"
	"time"
)

// A Limit is the end of a soak: a number of rounds, or the round in which the time
// expires. A field that is 0 is no limit.
type Limit struct {
	Rounds uint64
	Time   time.Duration // wall-clock time
}

// ParseLimit parses a number of rounds, or a duration such as 30m. It reports
// whether the text is one of them and above 0.
func ParseLimit(text string) (l Limit, ok bool) {
	var err error
	if l.Rounds, err = strconv.ParseUint(text, 10, 64); err == nil && l.Rounds > 0 {
		return l, true
	}
	d, err := time.ParseDuration(text)
	return Limit{Time: d}, err == nil && d > 0
}

// over reports whether the limit is reached after the given rounds and time.
func (l Limit) over(rounds uint64, took time.Duration) bool {
	return l.Rounds != 0 && rounds >= l.Rounds || l.Time != 0 && took >= l.Time
}

// Done returns the progress after the given rounds and time, in rounds or in
// seconds.
func (l Limit) Done(rounds uint64, took time.Duration) (done, total int) {
	if l.Time != 0 {
		return int(took.Seconds()), int(l.Time.Seconds())
	}
	return int(rounds), int(l.Rounds)
}

// A Round is the result of one round of a soak.
type Round struct {
	Round   uint64   `json:"round"` // from 1
	Seed    uint64   `json:"seed"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Seconds float64  `json:"seconds"` // on the board's clock
	Stages  []string `json:"failed_stages,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Soak repeats Run with increasing seeds until the limit is reached or the link
// fails, at least once. It calls began with the progress before each round, and
// done after it; an error of done ends the soak without a report. Soak returns the
// report of the round in which the link failed, else of the first failed round,
// else of the last one, and the number of failed rounds. Errors are those of Run. The
// report is then that of the rounds so far, or that of Run in the first round.
func Soak(ctx context.Context, o Options, limit Limit, began func(done, total int), done func(Round) error) (keep *Report, bad int, err error) {
	start := time.Now()
	for rounds := uint64(0); rounds == 0 || !limit.over(rounds, time.Since(start)); rounds++ {
		began(limit.Done(rounds, time.Since(start)))
		r, err := Run(ctx, o)
		if err != nil {
			if keep == nil {
				keep = r
			}
			return keep, bad, err
		}
		if !r.OK() {
			bad++
		}
		if keep == nil || keep.OK() || r.LinkFailed() {
			keep = r
		}
		if err := done(r.round(rounds + 1)); err != nil {
			return nil, bad, err
		}
		if r.LinkFailed() {
			break
		}
		o.Seed++
	}
	return keep, bad, nil
}

// round returns the Round of a report.
func (r *Report) round(n uint64) Round {
	s := Round{Round: n, Seed: r.Seed, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped}
	for _, res := range r.Results {
		s.Seconds += res.Seconds
		if res.Status == Fail {
			s.Stages = append(s.Stages, res.Stage)
		}
	}
	if err := r.Cause(); err != nil {
		s.Error = err.Error()
	}
	return s
}
