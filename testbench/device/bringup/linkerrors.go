package bringup

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// Work of the stage link.errors: reads of configuration space, and writes of VRAM.
const (
	burstReads  = 400
	burstWrites = 200
	burstBytes  = 1024
	burstTries  = 4 // times of that work at most, if the cause is not clear
)

// linkErrors works the link, and compares the counters of both ends before and after.
func linkErrors(s *session) outcome {
	before, err := s.measure()
	if err != nil {
		return failed("the registers of the link cannot be read", "", err)
	}
	if before.board == nil {
		s.burst(burstReads)
		return outcome{status: OK, summary: fmt.Sprintf("%d reads; the board has no registers of its link", burstReads)}
	}
	middle, after, err := s.work(before)
	if err != nil {
		return failed("the registers of the link cannot be read", "", err)
	}
	s.baseline = after
	var f finding
	short, long := between(before, middle), between(middle, after)
	if s.prepared && (short.reset || long.reset) {
		s.PlaceBARs() // later stages need them
	}
	lineFaults(&f, short, long)
	all := between(before, after)
	o := f.outcome(fmt.Sprintf("%d frames to the board and %d to the host, %s", all.host("frames_sent"), all.host("frames_received"), all.health()))
	if len(f.details) != 0 {
		s.faulty = !slices.Contains([]string{rateOrNoise, bitsOrOpen, bitsOrBreak}, f.likely[0])
		o.summary = fmt.Sprintf("%d causes found in %d frames", len(f.details), all.host("frames_sent"))
		if len(f.details) == 1 {
			o.summary = fmt.Sprintf("a cause found in %d frames", all.host("frames_sent"))
		}
		o.details = append(o.details, all.lines()...)
	}
	return o
}

// work sends short frames, and long ones to a board on Ethernet. It sends more of those that
// may tell a cause which is not clear yet.
func (s *session) work(before measure) (middle, after measure, err error) {
	for i := 0; i == 0 || i < burstTries && undecided(between(before, middle)); i++ {
		s.burst(burstReads)
		if middle, err = s.again(); err != nil {
			return middle, middle, err
		}
	}
	if before.board.MAC == nil || s.prepare() != nil || !s.aperture {
		return middle, middle, nil
	}
	for i := 0; i == 0 || i < burstTries && unclear(between(before, middle), between(middle, after)); i++ {
		s.writes()
		if after, err = s.again(); err != nil {
			return middle, after, err
		}
	}
	return middle, after, nil
}

// again is measure, also if the link went down.
func (s *session) again() (measure, error) {
	m, err := s.measure()
	for range 3 {
		if err == nil || !isLost(err) || !s.reopen() {
			break
		}
		m, err = s.measure()
	}
	return m, err
}

// burst reads the identity n times. A link that goes down is opened again.
func (s *session) burst(n int) {
	for range n {
		if s.Ctx.Err() != nil {
			return
		}
		if _, err := s.Link.ReadConfig(pcicfg.ID); err != nil && !s.reopen() {
			s.Err = err
			return
		}
	}
}

// writes writes VRAM in long frames.
func (s *session) writes() {
	p := make([]byte, burstBytes)
	for i := range burstWrites {
		if s.Ctx.Err() != nil {
			return
		}
		off := uint64(i) * burstBytes & (s.vram - 1)
		err := s.Link.Write(2, off, p)
		if err == nil && i%4 == 3 {
			err = s.Link.Read(2, off, p[:4])
		}
		if err != nil {
			if isLost(err) && !s.reopen() {
				s.Err = err
			}
			return
		}
	}
}

// explain adds to the outcome of a stage that ended with a lost link what the registers of the
// link tell about it.
func (s *session) explain(o *outcome) {
	if s.baseline.board == nil || s.Ctx.Err() != nil || !isLinkDown(o.err) || !s.reopen() {
		return
	}
	now, err := s.again()
	if err != nil || now.board == nil {
		return
	}
	var f finding
	c := between(s.baseline, now)
	lineFaults(&f, c, c)
	o.details = append(o.details, f.details...)
	if len(f.likely) != 0 {
		o.likely = f.likely[0]
	}
}
