package bringup

import "fmt"

// lines records the data lines of words that are written and read back: which keep
// one level, which follow each other, and which are wrong at times.
type lines struct {
	n         int
	high, low uint64 // lines that were 1, or 0, in every word read
	wrong     uint64 // lines that were wrong at least once
	reads     int
	errors    [64]int
	one       [64]uint64 // other lines that read 1 when only line i was 1
	zero      [64]uint64 // other lines that read 0 when only line i was 0
}

func newLines(n int) *lines {
	l := &lines{n: n, high: ^uint64(0), low: ^uint64(0)}
	for i := range n {
		l.one[i], l.zero[i] = ^uint64(0), ^uint64(0)
	}
	return l
}

// walk sets only one line to 1, then only one to 0, for each line, twice.
func (l *lines) walk(through func(v uint64) uint64) {
	all := ^uint64(0) >> (64 - l.n)
	for range 2 {
		for i := range l.n {
			bit := uint64(1) << i
			got := l.add(bit, through(bit), all)
			l.one[i] &= got &^ bit
			got = l.add(all&^bit, through(all&^bit), all)
			l.zero[i] &= all &^ got &^ bit
		}
	}
}

func (l *lines) add(want, got, all uint64) uint64 {
	l.reads++
	l.high &= got
	l.low &= all &^ got
	for bits := (want ^ got) & all; bits != 0; bits &= bits - 1 {
		l.errors[trailing(bits)]++
	}
	l.wrong |= (want ^ got) & all
	return got
}

// report adds the faulty lines to f.
func (l *lines) report(f *finding) {
	left := l.wrong
	for lane := 0; 8*lane < l.n; lane++ {
		mask := uint64(0xff) << (8 * lane)
		name := fmt.Sprintf("byte lane %d (D%d to D%d)", lane, 8*lane, 8*lane+7)
		switch {
		case l.high&mask == mask:
			f.add("the lane is not connected or never written", "%s always reads 0xff", name)
			left &^= mask
		case l.low&mask == mask:
			f.add("the lane is not connected or never written", "%s always reads 0x00", name)
			left &^= mask
		}
	}
	for i := range l.n {
		bit := uint64(1) << i
		switch {
		case left&bit == 0:
		case l.high&bit != 0:
			f.add("the line is stuck, open, or shorted to supply or ground", "D%d always reads 1", i)
			left &^= bit
		case l.low&bit != 0:
			f.add("the line is stuck, open, or shorted to supply or ground", "D%d always reads 0", i)
			left &^= bit
		}
	}
	l.reportPairs(f, left)
}

// reportPairs adds the shorted pairs, and the lines that are wrong without a
// pattern.
func (l *lines) reportPairs(f *finding, left uint64) {
	paired := uint64(0)
	for i := range l.n {
		for j := range i {
			a, b := uint64(1)<<i, uint64(1)<<j
			if left&a == 0 || left&b == 0 {
				continue
			}
			and := l.zero[i]&b != 0 && l.zero[j]&a != 0
			or := l.one[i]&b != 0 && l.one[j]&a != 0
			if and || or {
				f.add("two lines are shorted", "D%d and D%d always have the same level", j, i)
				paired |= a | b
			}
		}
	}
	for rest := left &^ paired; rest != 0; rest &= rest - 1 {
		i := trailing(rest)
		f.add("not a stuck line: timing, supply, or a weak cell", "D%d was wrong in %d of %d words, not every time", i, l.errors[i], l.reads)
	}
}

// named lists the lines in which two words differ, with the level that was read.
func named(want, got uint64) string {
	text := ""
	for diff := want ^ got; diff != 0; diff &= diff - 1 {
		i := trailing(diff)
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("D%d reads %d", i, got>>i&1)
	}
	return text
}
