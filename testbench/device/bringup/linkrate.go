package bringup

import (
	"fmt"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
)

// rateReads is the number of reads at each rate.
const rateReads = 16

// rateAttempts is the attempts to begin a session at a rate. A board that has not seen the end
// of the one before is at its rate until the silence that ends it; a simulation has slow clocks.
const rateAttempts = 12

// rateTries is how often a rate is tried that the board does not agree to in time.
const rateTries = 4

// linkRate begins a session at each rate of a serial line, and compares what is lost. Of a
// line with one rate it tells how far the bits of the board are off. It is skipped on other links, and on a line with
// a fault that link.errors has named, unless a lower rate may mend it.
func linkRate(s *session) outcome {
	r, ok := bus.As[boards.Rater](s.Link)
	if !ok {
		return absent("not a serial line")
	}
	rates := r.Rates()
	if len(rates) < 2 {
		m, err := s.measure()
		if err != nil {
			return failed("the registers of the link cannot be read", "", err)
		}
		return outcome{status: OK, summary: fmt.Sprintf("fixed, %d bit/s", r.Rate()) + offRate(m, r.Rate())}
	}
	if s.faulty {
		return outcome{status: Skip, summary: "not run: link.errors names a fault of the line that no rate mends"}
	}
	var f finding
	var lines []string
	best := 0
	for _, rate := range rates {
		line, works := s.tryRate(r, rate, &f)
		lines = append(lines, line)
		if works {
			best = rate
		}
		if !s.Alive() {
			break
		}
	}
	r.LimitRate(0)
	if !s.reopenIn(rateAttempts) {
		return failed("no session begins at any rate", "a cable, or a board that does not return to its first rate", nil)
	}
	o := f.outcome(fmt.Sprintf("%d rates from %d to %d bit/s work; the session has %d", len(rates), rates[0], best, r.Rate()))
	o.details = append(o.details, lines...)
	return o
}

// tryRate begins a session at a rate, and works it. It returns a line about it, and whether
// it works without loss.
func (s *session) tryRate(r boards.Rater, rate int, f *finding) (line string, works bool) {
	r.LimitRate(rate)
	begun := false
	for i := 0; i < rateTries && (i == 0 || begun && r.Rate() != rate); i++ {
		begun = s.reopenIn(rateAttempts)
	}
	if !begun {
		f.add("a rate that the cable, the adapter or the board does not have", "%d bit/s: no session begins", rate)
		return fmt.Sprintf("%7d bit/s: no session", rate), false
	}
	before, err := s.measure()
	if err == nil {
		s.burst(rateReads)
	}
	var after measure
	if err == nil {
		after, err = s.measure()
	}
	if err != nil {
		f.add("a rate that is too high for the cable or the adapter", "%d bit/s: %v", rate, err)
		return fmt.Sprintf("%7d bit/s: the session ends", rate), false
	}
	if r.Rate() != rate {
		f.add("a rate that the cable, the adapter or the board does not have", "%d bit/s does not work, the board fell back to %d", rate, r.Rate())
		return fmt.Sprintf("%7d bit/s: fell back to %d", rate, r.Rate()), false
	}
	sent, lost := after.host["frames_sent"]-before.host["frames_sent"], after.host["frames_repeated"]-before.host["frames_repeated"]
	damaged := after.host["frames_damaged"] - before.host["frames_damaged"]
	if after.board != nil && before.board != nil {
		c := between(before, after)
		lost = c.lost()
	}
	if lost+damaged != 0 {
		var line finding
		if after.board != nil && before.board != nil {
			c := between(before, after)
			lineFaults(&line, c, c)
		}
		if len(line.details) == 0 {
			line.add(rateOrNoise, "%d of %d frames lost, %d damaged", lost, sent, damaged)
		}
		f.add(line.likely[0], "%d bit/s: %s", rate, line.details[0])
	}
	return fmt.Sprintf("%7d bit/s: %d of %d frames lost, %d damaged%s", rate, lost, sent, damaged, offRate(after, rate)), lost+damaged == 0
}

// offRate describes how far the rate of the board is from that of the host, by the registers
// of the board: ", the board's bits are 0.25 % shorter".
func offRate(m measure, rate int) string {
	if m.board == nil || m.board.Baud == 0 || rate == 0 {
		return ""
	}
	off := 100 * (float64(m.board.Baud)/float64(rate) - 1)
	what := "shorter"
	if off < 0 {
		off, what = -off, "longer"
	}
	return fmt.Sprintf("; by its clock, the board's bits are %.2f %% %s", off, what)
}
