package bringup

import (
	"context"
	"strconv"
	"time"
)

// A Limit is when a soak ends: after a number of rounds, or in the round in which the
// time is over. The one that is 0 is no limit.
type Limit struct {
	Rounds uint64
	Time   time.Duration // of the wall clock
}

// ParseLimit returns the limit that a text stands for, a number of rounds or a duration
// as in 30m, and reports whether it is one above 0.
func ParseLimit(text string) (l Limit, ok bool) {
	var err error
	if l.Rounds, err = strconv.ParseUint(text, 10, 64); err == nil && l.Rounds > 0 {
		return l, true
	}
	d, err := time.ParseDuration(text)
	return Limit{Time: d}, err == nil && d > 0
}

// over reports whether the limit is reached after rounds that took some time.
func (l Limit) over(rounds uint64, took time.Duration) bool {
	return l.Rounds != 0 && rounds >= l.Rounds || l.Time != 0 && took >= l.Time
}

// Done returns how far a soak is that has done some rounds, in rounds or in seconds.
func (l Limit) Done(rounds uint64, took time.Duration) (done, total int) {
	if l.Time != 0 {
		return int(took.Seconds()), int(l.Time.Seconds())
	}
	return int(rounds), int(l.Rounds)
}

// A Round is what came of one round of a soak.
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

// Soak repeats Run with the next seed each time, until the limit is over or the link
// fails, at least once. Before each round it calls began with how far it is, and after
// it done; an error of done ends the soak, without a report. The report is that of the
// round in which the link failed, of the first round that failed, or of the last one;
// bad counts rounds that failed. An error is as of Run, with the report so far, nil in
// the first round.
func Soak(ctx context.Context, o Options, limit Limit, began func(done, total int), done func(Round) error) (keep *Report, bad int, err error) {
	start := time.Now()
	for rounds := uint64(0); rounds == 0 || !limit.over(rounds, time.Since(start)); rounds++ {
		began(limit.Done(rounds, time.Since(start)))
		r, err := Run(ctx, o)
		if err != nil {
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

// round returns what is told of a round.
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
