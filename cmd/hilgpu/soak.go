package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/terminal"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

// soakLimit reads --soak: a number of rounds, or a duration.
func (f bringupFlags) soakLimit() (rounds uint64, d time.Duration, err error) {
	rounds, nerr := strconv.ParseUint(f.soak, 10, 64)
	if nerr == nil && rounds > 0 {
		return rounds, 0, nil
	}
	d, derr := time.ParseDuration(f.soak)
	if derr == nil && d > 0 {
		return 0, d, nil
	}
	return 0, 0, fmt.Errorf("%w: --soak %s, want a number of rounds or a duration as in 30m", errInput, f.soak)
}

// soakRound is what a round of a soak prints.
type soakRound struct {
	Round   uint64   `json:"round"` // from 1
	Seed    uint64   `json:"seed"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Seconds float64  `json:"seconds"` // on the board's clock
	Stages  []string `json:"failed_stages,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// soakBringup repeats with the next seed each time, until the link fails; add
// takes each round. The report is that of the round in which it did, of the first
// that failed, or of the last.
func soakBringup(ctx context.Context, f bringupFlags, o bringup.Options, add func(any) error, w *terminal.Work) error {
	rounds, d, err := f.soakLimit()
	if err != nil {
		return err
	}
	var keep *bringup.Report
	bad := 0
	start := time.Now()
	for round := uint64(1); (rounds == 0 || round <= rounds) && (d == 0 || time.Since(start) < d); round++ {
		soaked(w, int(round-1), int(rounds), time.Since(start), d)
		r, err := bringup.Run(ctx, o)
		if err != nil && keep == nil {
			return bringupError(err)
		}
		if err != nil {
			return cmp.Or(f.write(keep), bringupError(err))
		}
		if !r.OK() {
			bad++
		}
		if keep == nil || keep.OK() {
			keep = r
		}
		if err := add(roundOf(round, r)); err != nil {
			return err
		}
		if r.LinkFailed() {
			keep = r
			break
		}
		o.Seed++
	}
	err = verdict(keep)
	if err != nil {
		err = fmt.Errorf("%d rounds failed, the first with seed %d: %w", bad, keep.Seed, err)
	}
	return cmp.Or(f.write(keep), err)
}

// soaked shows how much of a soak is over: of its rounds or of its time, of which
// the one that has no limit is 0.
func soaked(w *terminal.Work, done, rounds int, took, limit time.Duration) {
	if limit != 0 {
		done, rounds = int(took.Seconds()), int(limit.Seconds())
	}
	w.To(done, rounds)
}

// roundOf returns what is printed of a round.
func roundOf(n uint64, r *bringup.Report) soakRound {
	s := soakRound{Round: n, Seed: r.Seed, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped}
	for _, res := range r.Results {
		s.Seconds += res.Seconds
		if res.Status == bringup.Fail {
			s.Stages = append(s.Stages, res.Stage)
		}
	}
	if err := r.Cause(); err != nil {
		s.Error = err.Error()
	}
	return s
}
