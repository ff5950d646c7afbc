package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// copyDwords and fillDwords are the sizes of a COPY and of a FILL.
const copyDwords, fillDwords = 6, 6

// word is the address of the value of the PREDICATEs of the tests.
const word = 0x500

// predicatedRun is a run of two submissions of node 0: the first one has packets that have ended at event 20, and the second one a PREDICATE, a
// COPY that it may skip, and a FILL. Without observed only the ends are known.
func predicatedRun(t *testing.T, observed, nonZero bool, first ...pkt.Packet) (r *Run, s *submission) {
	t.Helper()
	at := func(event uint64) Point { return Point{Event: event, Time: 10 * event} }
	one := &submission{serial: 1, packets: packetsOf(t, 0, first...), queued: at(1), submitted: at(10), begun: at(11), fenced: at(19), written: at(19), retired: at(20)}
	two := &submission{serial: 2, fence: 2, end: 1 << 10, queued: at(2), submitted: at(30), begun: at(31), given: at(30), rung: at(30), packets: packetsOf(t, 0,
		pkt.Predicate{Addr: word, Dwords: copyDwords, NonZero: nonZero}, pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}, pkt.Fill{Dst: 0xa000, Bytes: 16})}
	if !observed {
		one.begun, one.fenced, two.begun = Point{}, Point{}, Point{}
	} else {
		for i := range one.packets {
			one.packets[i].executed = at(12 + uint64(i))
		}
	}
	r = &Run{last: at(90), order: []*submission{one, two}, subs: map[uint64]*submission{1: one, 2: two}, pieces: map[uint64][]store{}, stored: map[uint64][]stored{}}
	r.Header.Observed, r.Header.Hz = observed, 1e9
	return r, two
}

// zeroAt and oneAt set the value of the PREDICATEs.
var zeroAt, oneAt = pkt.Fill{Dst: word, Bytes: 8}, pkt.Fill{Dst: word - 16, Bytes: 32, Value: 1 << 40}

// What a PREDICATE does follows from the value in memory and its flag, if the log has the writer.
func TestPassByValue(t *testing.T) {
	all := func(more ...pkt.Packet) []pkt.Packet { return more }
	at := func(event uint64) Point { return Point{Event: event} }
	for name, tt := range map[string]struct {
		first   []pkt.Packet
		nonZero bool
		change  func(r *Run, s *submission)
		want    pass
	}{
		"0":                           {all(zeroAt), false, nil, skipped},
		"0, and it skips the others":  {all(zeroAt), true, nil, kept},
		"not 0":                       {all(oneAt), false, nil, kept},
		"not 0, and it skips that":    {all(oneAt), true, nil, skipped},
		"first 0":                     {all(zeroAt, oneAt), false, nil, kept},
		"first not 0":                 {all(oneAt, zeroAt), false, nil, skipped},
		"nobody wrote it":             {nil, false, nil, perhaps},
		"beside it":                   {all(pkt.Fill{Dst: word + 8, Bytes: 8}, pkt.Fill{Dst: word - 8, Bytes: 8}), false, nil, perhaps},
		"a half of it":                {all(zeroAt, pkt.Fill{Dst: word + 4, Bytes: 8}), false, nil, perhaps},
		"a copy":                      {all(zeroAt, pkt.Copy{Src: 0x100, Dst: word, Bytes: 8}), false, nil, perhaps},
		"a copy, then 0":              {all(pkt.Copy{Src: 0x100, Dst: word, Bytes: 8}, zeroAt), false, nil, skipped},
		"a rectangle":                 {all(zeroAt, pkt.SetState{Surface: pkt.Dest, Base: word - 512, Pitch: 512, Format: 2}, pkt.Fill2D{W: 8, H: 4}), false, nil, perhaps},
		"a rectangle beside it":       {all(zeroAt, pkt.SetState{Surface: pkt.Dest, Base: word + 8, Pitch: 512, Format: 2}, pkt.Fill2D{W: 8, H: 4}), false, nil, skipped},
		"a time":                      {all(zeroAt, pkt.Timestamp{Addr: word}), false, nil, perhaps},
		"a signal":                    {all(zeroAt, pkt.Signal{Addr: word, Value: 1}), false, nil, perhaps},
		"a state":                     {all(zeroAt, pkt.SaveState{Addr: word &^ 127}), false, nil, perhaps},
		"events are missing":          {all(zeroAt), false, func(r *Run, _ *submission) { r.gaps = make([]eventlog.Gap, 1) }, perhaps},
		"it has not ended":            {all(zeroAt), false, func(r *Run, _ *submission) { r.order[0].retired, r.order[0].written = Point{}, Point{} }, perhaps},
		"of another node, before":     {all(zeroAt), false, func(r *Run, _ *submission) { r.order[0].node = 1 }, skipped},
		"of another node, meanwhile":  {all(zeroAt), false, func(r *Run, s *submission) { r.order[0].node, s.submitted = 1, at(15) }, perhaps},
		"in queues, meanwhile":        {all(zeroAt), false, func(r *Run, s *submission) { r.rings, s.submitted = true, at(15) }, perhaps},
		"of its node, meanwhile":      {all(zeroAt), false, func(_ *Run, s *submission) { s.submitted = at(15) }, skipped},
		"later, of its node":          {all(oneAt, zeroAt), false, func(r *Run, _ *submission) { r.order[0].submitted = at(40) }, perhaps},
		"the CPU before":              {all(zeroAt), false, func(r *Run, _ *submission) { r.hold(at(3), at(4)) }, skipped},
		"the CPU after":               {all(zeroAt), false, func(r *Run, _ *submission) { r.hold(at(22), at(23)) }, perhaps},
		"the CPU meanwhile":           {all(zeroAt), false, func(r *Run, _ *submission) { r.hold(at(3), at(11)) }, perhaps},
		"the CPU still":               {all(zeroAt), false, func(r *Run, _ *submission) { r.hold(at(3), Point{}) }, perhaps},
		"a move of the kernel after":  {all(zeroAt), false, func(r *Run, _ *submission) { r.moves(t, pagingKind, pkt.Copy{Src: 0, Dst: word, Bytes: 64}) }, perhaps},
		"a fill of the kernel after":  {all(oneAt), false, func(r *Run, _ *submission) { r.moves(t, pagingKind, pkt.Fill{Dst: 0x400, Bytes: 0x400}) }, skipped},
		"stopped in what it skips":    {all(zeroAt), false, func(r *Run, s *submission) { s.stopped(t, r, s.packets[1].offset) }, kept},
		"stopped after what it skips": {all(zeroAt), false, func(r *Run, s *submission) { s.stopped(t, r, s.packets[2].offset) }, skipped},
	} {
		for _, observed := range []bool{false, true} {
			r, s := predicatedRun(t, observed, tt.nonZero, tt.first...)
			if tt.change != nil {
				tt.change(r, s)
			}
			if name == "it has not ended" && observed {
				continue // its packets have
			}
			got, done := r.passes(s)
			require.True(t, done)
			if observed && (name == "of another node, meanwhile" || name == "in queues, meanwhile") {
				assert.Equal(t, []pass{kept, skipped, kept}, got, "%s: the packet has ended before", name)
				continue
			}
			assert.Equal(t, []pass{kept, tt.want, kept}, got, "%s, observed %v", name, observed)
		}
	}
}

// hold adds a time in which the CPU may write the value.
func (r *Run) hold(from, to Point) {
	r.places = []*place{{allocation: 5, segment: 1, address: word &^ 0xff, size: 0x100, from: Point{Event: 1}}}
	r.locks = []*cpuWrite{{allocation: 5, from: from, to: to}}
}

// moves adds a submission between the two, at events 24 and 25.
func (r *Run) moves(t *testing.T, kind string, all ...pkt.Packet) {
	s := &submission{serial: 3, kind: kind, node: 1, packets: packetsOf(t, 0, all...), submitted: Point{Event: 23}, retired: Point{Event: 25}}
	if r.Header.Observed {
		for i := range s.packets {
			s.packets[i].executed = Point{Event: 24}
		}
	}
	r.order, r.subs[3] = append(r.order, s), s
}

// stopped makes a node stop at an offset of a submission, and another one continue it there. Its log has the same packets, as TestPreemptedLog shows.
func (s *submission) stopped(t *testing.T, r *Run, offset uint32) (next *submission) {
	t.Helper()
	s.back, s.retired, s.onward = true, Point{Event: 40}, 4
	next = &submission{serial: 4, again: s.serial, buffer: s.buffer, start: s.start, end: s.end, queued: Point{Event: 41}, submitted: Point{Event: 42}, watched: s.watched}
	for _, p := range s.packets {
		next.packets = append(next.packets, packet{offset: p.offset, data: p.data})
	}
	next.resumes(t, offset)
	r.subs[4] = next
	return next
}

// resumes puts the packets into the ring with which a driver continues a submission at an offset: an INDIRECT, if not only the fence is left, and a FENCE.
func (s *submission) resumes(t *testing.T, offset uint32) {
	t.Helper()
	all := []pkt.Packet{pkt.Fence{Addr: pkt.Host | 0x6000, ID: s.fence}}
	if left := s.end - uint64(offset); left > 0 {
		all = []pkt.Packet{pkt.Indirect{Addr: pkt.Host | s.buffer + uint64(offset), Dwords: uint32(left / 4), Resume: true}, all[0]}
	}
	s.ring = nil
	for _, p := range packetsOf(t, 0x7000, all...) {
		s.ring = append(s.ring, ringPacket{address: pkt.Host | uint64(p.offset), data: p.data})
	}
}

// A packet in what a PREDICATE may skip that was executed, or begun, was not skipped. If only a later one was executed, it was.
func TestPassByPackets(t *testing.T) {
	at := func(event uint64) Point { return Point{Event: event} }
	for name, tt := range map[string]struct {
		change func(s *submission)
		want   pass
	}{
		"it was executed":        {func(s *submission) { s.packets[1].executed = at(40) }, kept},
		"it was begun":           {func(s *submission) { s.packets[1].taken = 1 }, kept},
		"the next was executed":  {func(s *submission) { s.packets[2].executed = at(40) }, skipped},
		"the next was begun":     {func(s *submission) { s.packets[2].taken = 1 }, skipped},
		"the fence was executed": {func(s *submission) { s.fenced = at(40) }, skipped},
		"only the PREDICATE":     {func(s *submission) { s.packets[0].executed = at(40) }, perhaps},
		"nothing":                {func(*submission) {}, perhaps},
	} {
		r, s := predicatedRun(t, true, false)
		tt.change(s)
		got, _ := r.passes(s)
		assert.Equal(t, []pass{kept, tt.want, kept}, got, name)
		r, s = predicatedRun(t, true, false)
		tt.change(s)
		r.gaps = make([]eventlog.Gap, 1)
		got, _ = r.passes(s)
		assert.Equal(t, tt.want == kept, got[1] == kept, "%s: missing events may have executed it", name)
		assert.NotEqual(t, skipped, got[1], "%s: missing events may have executed it", name)
	}
}

// A PREDICATE that is skipped skips nothing, and what one that may be skipped would skip is not known.
func TestPassOfNestedPredicates(t *testing.T) {
	const both = 4 + copyDwords
	inner := pkt.Predicate{Addr: word, Dwords: copyDwords + fillDwords, NonZero: true}
	for name, tt := range map[string]struct {
		first []pkt.Packet
		outer pkt.Predicate
		want  []pass
	}{
		"the outer one skips both":       {[]pkt.Packet{zeroAt}, pkt.Predicate{Addr: word, Dwords: both}, []pass{kept, skipped, skipped, kept}},
		"none skips":                     {[]pkt.Packet{zeroAt}, pkt.Predicate{Addr: word, Dwords: both, NonZero: true}, []pass{kept, kept, kept, kept}},
		"the inner one skips":            {[]pkt.Packet{oneAt}, pkt.Predicate{Addr: word, Dwords: both}, []pass{kept, kept, skipped, skipped}},
		"the outer one is not known":     {[]pkt.Packet{oneAt}, pkt.Predicate{Addr: 0x700, Dwords: both}, []pass{kept, perhaps, perhaps, perhaps}},
		"and the inner one does not":     {[]pkt.Packet{zeroAt}, pkt.Predicate{Addr: 0x700, Dwords: both}, []pass{kept, perhaps, perhaps, kept}},
		"the outer one covers the inner": {[]pkt.Packet{oneAt}, pkt.Predicate{Addr: 0x700, Dwords: 4}, []pass{kept, perhaps, perhaps, perhaps}},
	} {
		r, s := predicatedRun(t, false, false, tt.first...)
		s.packets = packetsOf(t, 0, tt.outer, inner, pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}, pkt.Fill{Dst: 0xa000, Bytes: 16})
		got, _ := r.passes(s)
		assert.Equal(t, tt.want, got, name)
	}
}

// The value of host memory is that of the short writes of the GPU, which each log has.
func TestPassByHostMemory(t *testing.T) {
	for name, tt := range map[string]struct {
		writes []eventlog.Event
		want   pass
	}{
		"0":                  {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 0)}, skipped},
		"not 0":              {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 3)}, kept},
		"the last one":       {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 3), eventlog.New(eventlog.Memory, 0x500, 8, 0)}, skipped},
		"then a half":        {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 0), eventlog.New(eventlog.Memory, 0x504, 4, 0)}, perhaps},
		"then across it":     {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 0), eventlog.New(eventlog.Memory, 0x4fe, 4, 0)}, perhaps},
		"then after it":      {[]eventlog.Event{eventlog.New(eventlog.Memory, 0x500, 8, 0), eventlog.New(eventlog.Memory, 0x508, 8, 3)}, skipped},
		"the fence's memory": {[]eventlog.Event{eventlog.New(eventlog.DriverMemory, 0x500, 8), eventlog.New(eventlog.Memory, 0x500, 8, 0)}, perhaps},
		"none":               {nil, perhaps},
	} {
		b := newBuilder(eventlog.Header{}, nil)
		for i, e := range tt.writes {
			e.ID = uint64(21 + i)
			b.add(&e)
		}
		r, s := predicatedRun(t, false, false)
		s.packets = packetsOf(t, 0, pkt.Predicate{Addr: pkt.Host | 0x500, Dwords: copyDwords}, pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}, pkt.Fill{Dst: 0xa000, Bytes: 16})
		r.stored = b.stored
		got, _ := r.passes(s)
		assert.Equal(t, []pass{kept, tt.want, kept}, got, name)
	}
}

// Each question has the same answer about a packet that a PREDICATE may skip: fence and cycle, and address and pixel.
func TestPredicateInAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		first              []pkt.Packet
		missing, cause, at string // of the fence, and at a clock
	}{
		"it skips":    {[]pkt.Packet{zeroAt}, MissingPacket, "FILL dst=VRAM+0xa000 bytes=16 value=0x0 at IB+0x28 of submission 2 has not ended; ", "at FILL dst=VRAM+0xa000 bytes=16 value=0x0 at IB+0x28 of submission 2; 1 of"},
		"it does not": {[]pkt.Packet{oneAt}, MissingPacket, "COPY src=VRAM+0x8000 dst=VRAM+0x9000 bytes=16 at IB+0x10 of submission 2 has not ended; ", "at COPY src=VRAM+0x8000 dst=VRAM+0x9000 bytes=16 at IB+0x10 of submission 2; 1 of"},
		"not known": {nil, MissingUnknown, "COPY src=VRAM+0x8000 dst=VRAM+0x9000 bytes=16 at IB+0x10 of submission 2 has not ended, which a PREDICATE may skip: the value that it reads is not known; ",
			"at COPY src=VRAM+0x8000 dst=VRAM+0x9000 bytes=16 at IB+0x10 of submission 2, which a PREDICATE may skip: the value that it reads is not known; 1 of"},
	} {
		r, s := predicatedRun(t, true, false, tt.first...)
		s.packets[0].executed = Point{Event: 40, Time: 400}
		a, err := r.Fence(0, 2)
		require.NoError(t, err)
		assert.Equal(t, tt.missing, a.Missing, name)
		assert.Contains(t, a.Cause, tt.cause, name)
		a, err = r.Cycle(500)
		require.NoError(t, err)
		assert.Contains(t, a.Text(), tt.at, name)
	}
	for name, tt := range map[string]struct {
		first []pkt.Packet
		want  string // "": nothing has used it
	}{
		"it skips":    {[]pkt.Packet{zeroAt}, ""},
		"it does not": {[]pkt.Packet{oneAt}, "it was written once, last by submission 2 (fence 2 of node 0)"},
		"not known":   {nil, "nothing wrote it; it is not known whether 1 other packet wrote it"},
	} {
		r, s := predicatedRun(t, false, false, tt.first...)
		s.retired = Point{Event: 60, Time: 600}
		a, err := r.Address(0x9004)
		if tt.want == "" {
			require.ErrorIs(t, err, ErrQuestion, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, tt.want, a.Verdict, name)
	}
}
