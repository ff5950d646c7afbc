package lists

import (
	"time"
)

// splitLists is the largest number of lists for which the time is split into
// recording and finishing.
const splitLists = 20_000

// timed fills in the measured times.
func (o Options) timed(out *Report) error {
	return o.with(func(r *run) error {
		out.Native = r.native
		err := r.measure(out)
		out.Findings = r.sys.Findings()
		return err
	})
}

// measure runs the measured lists, after others that fill the caches of recycled
// objects.
func (r *run) measure(out *Report) error {
	if _, err := r.cycles(2 * r.o.Alive * len(r.recorders)); err != nil {
		return err
	}
	r.reset()
	allocated, err := r.cycles(r.o.Lists)
	if err != nil {
		return err
	}
	r.ctx.Flush()
	n := float64(r.o.Lists)
	out.ListsPerSecond = n / (r.wall + r.execute).Seconds()
	out.Allocations = float64(allocated) / n
	out.Submissions = r.kernel.calls
	making, release := r.sum()
	out.Parts = Parts{
		Execute: float64(r.execute.Nanoseconds()) / n,
		Release: float64(release.Nanoseconds()) / n,
		Kernel:  float64(r.kernel.time.Nanoseconds()) / n,
	}
	record, err := r.share()
	if err != nil {
		return err
	}
	made := float64(making.Nanoseconds()) / n
	out.Parts.Record, out.Parts.Finish = made*record, made*(1-record)
	return r.verify()
}

// reset clears the measurements.
func (r *run) reset() {
	r.wall, r.execute = 0, 0
	r.kernel.time, r.kernel.calls = 0, 0
	for _, w := range r.recorders {
		w.making, w.record, w.finish, w.release = 0, 0, 0, 0
	}
}

// sum returns the total times of all contexts.
func (r *run) sum() (making, release time.Duration) {
	for _, w := range r.recorders {
		making += w.making
		release += w.release
	}
	return making, release
}

// share returns the fraction of the time of making a list that is spent on
// recording. It measures other lists, because the clock is read in the middle of
// each; the time of reading it is subtracted.
func (r *run) share() (float64, error) {
	n := min(r.o.Lists, splitLists)
	for _, w := range r.recorders {
		w.split, w.record, w.finish = true, 0, 0
	}
	if _, err := r.cycles(n); err != nil {
		return 0, err
	}
	var record, finish time.Duration
	for _, w := range r.recorders {
		record += w.record
		finish += w.finish
	}
	reading := time.Duration(n) * clockTime()
	record, finish = max(1, record-reading), max(1, finish-reading)
	return float64(record) / float64(record+finish), nil
}

// clockTime returns the time of reading the clock.
func clockTime() time.Duration {
	const n = 1000
	start := time.Now()
	var last time.Time
	for range n {
		last = time.Now()
	}
	return last.Sub(start) / n
}

// counted fills in the number of calls of each function, in the steady state.
func (o Options) counted(out *Report) error {
	c := &counter{calls: map[string]int{}}
	o.System.Hook = c
	return o.with(func(r *run) error { return r.count(c, out) })
}

func (r *run) count(c *counter, out *Report) error {
	if _, err := r.cycles(2 * r.o.Alive * len(r.recorders)); err != nil {
		return err
	}
	c.enable(true)
	_, err := r.cycles(r.o.Lists)
	c.enable(false)
	out.Calls, out.CountedOver = c.perList(r.o.Lists), r.o.Lists
	return err
}
