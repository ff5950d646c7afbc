package why

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A fault names all that is known to be wrong: the INDIRECT, the link and the address of a packet.
func TestFaultedNamesAll(t *testing.T) {
	data, err := pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}.Append(nil)
	require.NoError(t, err)
	dwords := uint32(len(data) / 4)
	const (
		indirect  = "; the INDIRECT of the ring has 4 dwords at HOST+0x100040, want 6 at HOST+0x100000"
		link      = "; the link loses or damages frames: the host sent 2 again and refused 1"
		misplaced = "; after DxgkDdiPatch the address at IB+0xc of submission 3 is VRAM+0x9000, want VRAM+0xa000, byte 0x0 of allocation 0x5"
	)
	require.EqualValues(t, 6, dwords)
	for name, tt := range map[string]struct {
		ring            pkt.Indirect
		repeated, place uint64
		cause           uint64
		want            string
	}{
		"all":           {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 2, 0xa000, cpreg.CauseReadError, indirect + link + misplaced},
		"the INDIRECT":  {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 0, 0x9000, cpreg.CauseReadError, indirect},
		"the link":      {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 2, 0x9000, cpreg.CauseReadError, link},
		"the patch":     {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 0, 0xa000, cpreg.CauseReadError, misplaced},
		"another fault": {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 2, 0xa000, cpreg.CauseWindow, indirect + misplaced},
		"nothing":       {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 0, 0x9000, cpreg.CauseReadError, ""},
	} {
		ring, err := tt.ring.Append(nil)
		require.NoError(t, err)
		s := &submission{
			serial: 3, buffer: 0x100000, end: uint64(len(data)), queued: Point{Event: 10},
			packets: []packet{{data: data}}, uses: []use{{offset: 12, allocation: 5}}, ring: []ringPacket{{data: ring}},
		}
		r := &Run{repeated: tt.repeated, refused: tt.repeated / 2, places: []*place{{allocation: 5, address: tt.place, from: Point{Event: 1}}}}
		a := r.faulted(&Answer{}, s, &happening{Event: eventlog.New(eventlog.Fault, 0, 0, tt.cause, pkt.Host|0x100000)})
		_, got, _ := strings.Cut(a.Cause, explainCause(tt.cause))
		assert.Equal(t, tt.want, got, name)
		assert.Equal(t, MissingPacket, a.Missing, name)
	}
}

// hastyRun has a submission that went to the hardware at clock 100, whose packets were executed at clocks 200 and last, and whose fence at clock
// fenced. A stop at clock 5000 began at clock began; 0: it is not known.
func hastyRun(last, fenced, began uint64) (s *submission, stop *happening) {
	at := func(clock uint64) Point { return Point{clock, clock} }
	s = &submission{node: 1, submitted: at(100), begun: at(150), fenced: at(fenced), written: at(fenced), reported: at(fenced)}
	s.packets = []packet{{executed: at(200)}, {executed: at(last), taken: 3, last: store{Point: at(last)}}}
	s.ring = []ringPacket{{executed: at(last)}}
	e := eventlog.New(eventlog.Stop, 1, 1).WithText("dxgkrnl: GPU time-out: node 1, fence 1")
	e.ID, e.Time = 5000, 5000
	return s, &happening{Event: e, began: at(began)}
}

// A time-out is hasty if the node made a step after it, or nearer to it than to the submission.
func TestHasty(t *testing.T) {
	for name, tt := range map[string]struct {
		last, fenced, began uint64
		want                string
	}{
		"a packet after it":        {1200, 0, 1000, "900 clocks after the submission, and the last step of node 1 was 200 clocks later"},
		"the fence after it":       {300, 1500, 1000, "900 clocks after the submission, and the last step of node 1 was 500 clocks later"},
		"a packet shortly before":  {900, 0, 1000, "900 clocks after the submission and 100 clocks after the last step of node 1"},
		"a packet long before":     {400, 0, 1000, ""},
		"its begin is not known":   {4000, 0, 0, "4900 clocks after the submission and 1000 clocks after the last step of node 1"},
		"and the node was at rest": {2000, 0, 0, ""},
	} {
		s, stop := hastyRun(tt.last, tt.fenced, tt.began)
		got := (&Run{}).hasty(s, stop)
		_, got, _ = strings.Cut(got, "; the node was at work: TdrDelay ended ")
		assert.Equal(t, tt.want, got, name)
	}
	s, stop := hastyRun(1200, 0, 1000)
	stop.Event = stop.WithText("dxgkrnl: GPU fault: node 1, fence 1")
	assert.Empty(t, (&Run{}).hasty(s, stop), "no time-out")
	assert.False(t, stop.gaveUp().In())
}

// A submission at an event has what had happened until then, and is left as it is.
func TestUntil(t *testing.T) {
	s, stop := hastyRun(1200, 1500, 1000)
	assert.Same(t, s, s.until(Point{}))
	c := s.until(stop.gaveUp())
	assert.True(t, c.begun.In())
	for _, p := range []Point{c.fenced, c.written, c.reported, c.packets[1].executed, c.packets[1].last.Point, c.ring[0].executed} {
		assert.False(t, p.In(), "%+v", p)
	}
	assert.Zero(t, c.packets[1].taken)
	next, _ := (&Run{}).following(c)
	assert.Equal(t, &c.packets[1], next)
	assert.EqualValues(t, 1200, s.ring[0].executed.Time)
	assert.EqualValues(t, 1200, s.packets[1].executed.Time)
	assert.EqualValues(t, 1500, s.fenced.Time)
	assert.Equal(t, 3, s.packets[1].taken)
	assert.Equal(t, s.fenced, s.until(Point{2000, 2000}).fenced)
}
