package why

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The ring tells the place at which a submission continues, or its first read, or its first packet that was executed. Without them, or with missing events, it is not known, and
// then neither is which of the two submissions has executed a packet.
func TestPlaceOfAContinuedSubmission(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(r *Run, s *submission)
		want   int // number of the packet; 2: the end; -1: not known
		read   fetch
		fates  [2][2]fate // of the COPY and the FILL, in the first submission and in the one that continues it and has ended
	}{
		"at its begin":          {func(_ *Run, s *submission) { s.resumes(t, 0) }, 0, notFetched, [2][2]fate{{unknown, never}, {whole, whole}}},
		"at the second packet":  {func(_ *Run, s *submission) { s.resumes(t, s.packets[1].offset) }, 1, notFetched, [2][2]fate{{whole, unknown}, {never, whole}}},
		"only the fence":        {func(_ *Run, s *submission) { s.resumes(t, uint32(s.end)) }, 2, notTold, [2][2]fate{{whole, whole}, {never, never}}},
		"no ring":               {func(_ *Run, s *submission) { s.ring = nil }, -1, notTold, [2][2]fate{{unknown, unknown}, {unknown, unknown}}},
		"an address outside it": {func(_ *Run, s *submission) { s.resumes(t, 0); s.buffer += 0x1000 }, -1, notTold, [2][2]fate{{unknown, unknown}, {unknown, unknown}}},
		"a fence and a gap":     {func(r *Run, s *submission) { s.resumes(t, uint32(s.end)); r.gaps = make([]eventlog.Gap, 1) }, -1, notTold, [2][2]fate{{unknown, unknown}, {unknown, unknown}}},
		"no ring, executed":     {func(_ *Run, s *submission) { s.ring, s.packets[1].executed = nil, Point{Event: 50} }, 1, notFetched, [2][2]fate{{whole, unknown}, {never, whole}}},
		"no ring, read": {func(_ *Run, s *submission) {
			s.ring, s.fetched, s.reads = nil, Point{Event: 50}, store{addr: s.buffer + uint64(s.packets[1].offset), value: 16}
		}, 1, fetched, [2][2]fate{{whole, unknown}, {never, whole}}},
		"executed, and a gap": {func(r *Run, s *submission) {
			s.ring, s.packets[1].executed, r.gaps = nil, Point{Event: 50}, make([]eventlog.Gap, 1)
		}, -1, notTold, [2][2]fate{{unknown, unknown}, {unknown, whole}}},
	} {
		r, s := sentRun(t, true)
		next := s.stopped(t, r, 0)
		tt.change(r, next)
		at, known := r.beginsAt(next)
		assert.Equal(t, tt.want >= 0, known, name)
		if known {
			assert.Equal(t, []uint64{0, uint64(s.packets[1].offset), s.end}[tt.want], at, name)
		}
		assert.Equal(t, tt.read, r.fetchOf(next), name)
		next.retired = Point{Event: 60}
		for i, one := range []*submission{s, next} {
			for k := range one.packets {
				m := one.move(k)
				r.fateOf(&m)
				assert.Equal(t, tt.fates[i][k], m.fate, "%s: submission %d, packet %d", name, i, k)
			}
		}
	}
}

// A node that read a PREDICATE before the preemption used the value of that time. What is written after that does not count.
func TestValueBeforeAPreemption(t *testing.T) {
	for number, want := range []pass{kept, perhaps, skipped} { // the PREDICATE is executed after a later fill, one of them is, and it is executed before
		r, s := predicatedRun(t, false, false, zeroAt)
		next := s.stopped(t, r, s.packets[number].offset)
		if number == 1 {
			next.ring = nil
		}
		fill := &submission{serial: 5, node: 1, packets: packetsOf(t, 0, oneAt), submitted: Point{Event: 41}, retired: Point{Event: 41}}
		r.order, r.subs[5] = append(r.order, fill, next), fill
		for _, one := range []*submission{s, next} {
			got, _ := r.passes(one)
			assert.Equal(t, []pass{kept, want, kept}, got, "stopped at packet %d", number)
		}
	}
}

// On a board that does not tell its packets a doorbell was lost only if the node continues where it began.
func TestLostDoorbellOfAContinuedSubmission(t *testing.T) {
	for number, want := range []bool{true, false} {
		r, s := sentRun(t, true)
		s.rungBy, s.rptr, s.stalled = write{cpreg.Base + cpreg.Wptr, 9}, access{Point: Point{39, 390}, value: 3}, r.Header.Hz
		next := s.stopped(t, r, s.packets[number].offset)
		assert.Equal(t, want, r.ignored(s), "packet %d", number)
		next.ring = nil
		assert.False(t, r.ignored(s), "the place is not known")
	}
}
