package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// sentRun is a run of a submission that is in the hardware of a board that does not tell its packets: a COPY and a FILL in the buffer at HOST+0x100000, and
// in the ring at HOST+0x7000 an INDIRECT and a FENCE. watched: the log has the first read of the buffer.
func sentRun(t *testing.T, watched bool) (r *Run, s *submission) {
	t.Helper()
	at := func(event uint64) Point { return Point{Event: event, Time: 10 * event} }
	s = &submission{serial: 3, fence: 2, buffer: 0x100000, kind: renderKind, queued: at(10), submitted: at(20), given: at(21), rung: at(22), watched: watched,
		packets: packetsOf(t, 0, pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}, pkt.Fill{Dst: 0xa000, Bytes: 16})}
	s.end = uint64(s.packets[1].offset) + uint64(len(s.packets[1].data))
	for _, p := range packetsOf(t, 0x7000, pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: uint32(s.end / 4)}, pkt.Fence{Addr: pkt.Host | 0x6000, ID: 2}) {
		s.ring = append(s.ring, ringPacket{address: pkt.Host | uint64(p.offset), data: p.data})
	}
	r = &Run{first: Point{Event: 1}, last: at(90), order: []*submission{s}, subs: map[uint64]*submission{3: s}, pieces: map[uint64][]store{}, reads: map[uint64]access{}}
	r.Header.Hz = 1e9
	return r, s
}

// fetchedAt makes a node read the first 16 bytes of a submission at an event.
func (s *submission) fetchedAt(event uint64) {
	s.fetched = Point{event, 10 * event}
	s.reads = store{s.fetched, s.buffer, 16}
}

// Whether a buffer was read follows from the reads that the host serves, or from the end of the submission. Without them it is not known.
func TestFetchOf(t *testing.T) {
	for name, tt := range map[string]struct {
		watched bool
		change  func(r *Run, s *submission)
		want    fetch
	}{
		"no reads in the log":            {false, func(*Run, *submission) {}, notTold},
		"no read":                        {true, func(*Run, *submission) {}, notFetched},
		"a read":                         {true, func(_ *Run, s *submission) { s.fetchedAt(30) }, fetched},
		"the fence is in memory":         {false, func(_ *Run, s *submission) { s.written = Point{Event: 30} }, fetched},
		"it has ended":                   {false, func(_ *Run, s *submission) { s.retired = Point{Event: 30} }, fetched},
		"it was taken back":              {false, func(_ *Run, s *submission) { s.retired, s.back = Point{Event: 30}, true }, notTold},
		"it was taken back unread":       {true, func(_ *Run, s *submission) { s.retired, s.back = Point{Event: 30}, true }, notFetched},
		"it continues from its begin":    {true, func(r *Run, s *submission) { s.stopped(t, r, 0) }, notFetched},
		"it continues from a later one":  {true, func(r *Run, s *submission) { s.stopped(t, r, s.packets[1].offset) }, fetched},
		"events before it are missing":   {true, func(r *Run, _ *submission) { r.gaps = []eventlog.Gap{{From: 5, To: 9}} }, notFetched},
		"events after it are missing":    {true, func(r *Run, _ *submission) { r.gaps = []eventlog.Gap{{From: 25, To: 29}} }, notTold},
		"events at the end are missing":  {true, func(r *Run, _ *submission) { r.gaps = []eventlog.Gap{{From: 25}} }, notTold},
		"the board tells, and no packet": {false, func(r *Run, _ *submission) { r.Header.Observed = true }, notFetched},
		"the board tells its begin":      {false, func(r *Run, s *submission) { r.Header.Observed, s.begun = true, Point{Event: 30} }, fetched},
	} {
		r, s := sentRun(t, tt.watched)
		tt.change(r, s)
		assert.Equal(t, tt.want, r.fetchOf(s), name)
	}
}

// The missing link of a board that does not tell its packets is the fetch only if the log shows that there was none.
func TestMissingFetch(t *testing.T) {
	dead := func(r *Run) {
		r.failed.Event = eventlog.New(eventlog.Read, 0, cpreg.Base+cpreg.Fence, 4, 0).WithText("bus: completion time-out")
		r.failed.ID = 80
	}
	for name, tt := range map[string]struct {
		watched, fetched, dead bool
		missing, cause, chain  string
		not                    string // in the answer
	}{
		"no reads in the log":           {false, false, false, MissingUnknown, "and does not say whether node 0 has fetched it", "unknown: what node 0 did", "no read"},
		"no read":                       {true, false, false, MissingFetch, "no read of its buffer has reached the host: node 0 has not fetched it", "", "unknown"},
		"a read":                        {true, true, false, MissingUnknown, "node 0 has begun to fetch it at clock 300; the log of this board has no packets", "node 0 begins to fetch it: the host serves its read of 16 bytes at HOST+0x100000", "no read"},
		"no reads in the log, no board": {false, false, true, MissingUnknown, "the device does not answer: the read of CP0.FENCE at clock 0 failed with bus: completion time-out; the log does not say whether node 0 has fetched it before", "", "not fetched"},
		"no read, no board":             {true, false, true, MissingFetch, "the device does not answer: the read of CP0.FENCE", "", "unknown"},
		"a read, no board":              {true, true, true, MissingUnknown, "; before, node 0 has begun to fetch it at clock 300; the log of this board", "node 0 begins to fetch it", "no read"},
	} {
		r, s := sentRun(t, tt.watched)
		if tt.fetched {
			s.fetchedAt(30)
		}
		if tt.dead {
			dead(r)
		}
		a, err := r.Fence(0, 2)
		require.NoError(t, err)
		assert.Equal(t, tt.missing, a.Missing, name)
		assert.Contains(t, a.Cause, tt.cause, name)
		assert.Contains(t, a.Text(), tt.chain, name)
		assert.NotContains(t, a.Cause, tt.not, name)
	}
	for name, tt := range map[string]struct {
		executed int
		missing  string
	}{"begun": {0, MissingPacket}, "at the second packet": {1, MissingPacket}, "at the fence": {2, MissingFence}} {
		r, s := sentRun(t, false)
		r.Header.Observed, s.begun = true, Point{Event: 30}
		for i := range s.packets[:tt.executed] {
			s.packets[i].executed = Point{Event: 31}
		}
		dead(r)
		a, err := r.Fence(0, 2)
		require.NoError(t, err)
		assert.Equal(t, tt.missing, a.Missing, "a board that tells its packets, %s: %s", name, a.Text())
	}
}

// A fault at an address that is in no buffer is before the fetch if it is in the ring up to the INDIRECT, or if there was no fetch.
func TestFaultBeforeTheFetch(t *testing.T) {
	for name, tt := range map[string]struct {
		watched, fetched bool
		addr             uint64
		want             string
	}{
		"the INDIRECT":                 {false, false, pkt.Host | 0x7000, MissingFetch},
		"the FENCE":                    {false, false, pkt.Host | 0x7000 + 4*5, MissingPacket},
		"elsewhere, not known":         {false, false, pkt.Host | 0x5000, MissingPacket},
		"elsewhere, and no fetch":      {true, false, pkt.Host | 0x5000, MissingFetch},
		"elsewhere, after the fetch":   {true, true, pkt.Host | 0x5000, MissingPacket},
		"a packet, without the reads":  {false, false, pkt.Host | 0x100000, MissingPacket},
		"the INDIRECT, with the reads": {true, false, pkt.Host | 0x7000, MissingFetch},
	} {
		r, s := sentRun(t, tt.watched)
		if tt.fetched {
			s.fetchedAt(30)
		}
		require.Equal(t, pkt.Host|uint64(0x7000+4*4), s.ring[1].address)
		if name == "the FENCE" {
			tt.addr = s.ring[1].address
		}
		a := r.faulted(&Answer{}, s, &happening{Event: eventlog.New(eventlog.Fault, 0, 0, cpreg.CauseReadError, tt.addr)})
		assert.Equal(t, tt.want, a.Missing, name)
	}
}

// An address of a buffer or of a ring was read if the log shows it, and it is not known if the log does not have the reads.
func TestFetchOfAnAddress(t *testing.T) {
	const once = "it was read once, last by submission 3 (fence 2 of node 0)"
	for name, tt := range map[string]struct {
		watched, fetched, ended bool
		first, later, ring      string // what is said of the first bytes, of later ones, and of the INDIRECT
	}{
		"no reads in the log": {false, false, false, "not known whether 1 other packet read it", "not known whether 1 other packet read it", "not known whether 1 other packet read it"},
		"no read":             {true, false, false, "nothing wrote it", "nothing wrote it", "not known whether 1 other packet read it"},
		"a read":              {true, true, false, once, "not known whether 1 other packet read it", "not known whether 1 other packet read it"},
		"it has ended":        {false, false, true, once, once, once},
	} {
		r, s := sentRun(t, tt.watched)
		if tt.fetched {
			s.fetchedAt(30)
		}
		if tt.ended {
			s.retired = Point{50, 500}
		}
		for addr, want := range map[uint64]string{pkt.Host | 0x100004: tt.first, pkt.Host | 0x100020: tt.later, pkt.Host | 0x7004: tt.ring} {
			a, err := r.Address(addr)
			require.NoError(t, err, name)
			assert.Contains(t, a.Verdict, want, "%s, %#x", name, addr)
			if want != once {
				assert.NotContains(t, a.Verdict, "it was read", "%s, %#x", name, addr)
			}
			if want == "nothing wrote it" {
				assert.Equal(t, want, a.Verdict, "%s, %#x", name, addr)
			}
		}
	}
	r, s := sentRun(t, false)
	r.Header.Observed, s.begun = true, Point{25, 250}
	a, err := r.Address(pkt.Host | 0x100020)
	require.NoError(t, err)
	assert.Contains(t, a.Verdict, "not known whether 1 other packet read it", "a node that has begun has perhaps not read all")
}

// At a clock it is said that a buffer was read, or that it was not, or that it is not known.
func TestFetchAtAClock(t *testing.T) {
	for name, tt := range map[string]struct {
		watched bool
		fetched uint64 // event; 0: none
		want    string
	}{
		"no reads in the log": {false, 0, "unknown: what node 0 does with it, since this board does not tell"},
		"no read":             {true, 0, "and no read of its buffer has reached the host"},
		"a later read":        {true, 60, "and no read of its buffer has reached the host"},
		"an earlier read":     {true, 30, "which has begun to fetch it at clock 300; unknown: what it does with it"},
	} {
		r, s := sentRun(t, tt.watched)
		if tt.fetched != 0 {
			s.fetchedAt(tt.fetched)
		}
		a, err := r.Cycle(500)
		require.NoError(t, err)
		assert.Contains(t, a.Text(), tt.want, name)
	}
}

// A doorbell whose buffer was fetched was not lost, whatever a later read of WPTR returned.
func TestFetchAfterTheDoorbell(t *testing.T) {
	for _, fetches := range []bool{false, true} {
		r, s := sentRun(t, true)
		s.rungBy = write{cpreg.Base + cpreg.Wptr, 9}
		r.reads[s.rungBy.offset] = access{Point: Point{60, 600}, value: 3}
		if fetches {
			s.fetchedAt(30)
		}
		a, err := r.Fence(0, 2)
		require.NoError(t, err)
		assert.Equal(t, map[bool]string{false: MissingDoorbell, true: MissingUnknown}[fetches], a.Missing, a.Text())

		b := newBuilder(eventlog.Header{Hz: 1e9}, nil)
		s.back, s.retired = true, Point{70, 700}
		b.stalls(s)
		assert.Equal(t, fetches, s.stalled == 0, "it was not begun if it was not fetched")
	}
}

// A link without an event keeps its place when a stop is sorted in.
func TestUnknownStaysInItsPlace(t *testing.T) {
	r, s := sentRun(t, true)
	s.fetchedAt(30)
	stop := eventlog.New(eventlog.Stop, 0, 2).WithText("dxgkrnl: GPU time-out: node 0, fence 2")
	stop.ID, stop.Time = 40, 400
	r.stops = []happening{{Event: stop}}
	a, err := r.Fence(0, 2)
	require.NoError(t, err)
	var events []uint64
	for _, step := range a.Chain {
		events = append(events, step.Event)
	}
	assert.Equal(t, []uint64{10, 20, 22, 30, 0, 40}, events, a.Text())
}
