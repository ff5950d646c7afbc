package why

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// packetsOf returns packets that follow each other from an offset on.
func packetsOf(t *testing.T, offset uint32, all ...pkt.Packet) (packets []packet) {
	t.Helper()
	for _, p := range all {
		data, err := p.Append(nil)
		require.NoError(t, err)
		packets = append(packets, packet{offset: offset, data: data})
		offset += uint32(len(data))
	}
	return packets
}

// stoppedRun is a run of a present, submission 1, that was preempted at a COPY_2D and goes on as submission 2, and of submission 3, which a
// reset has aborted. The board does not tell what it executes.
func stoppedRun(t *testing.T) *Run {
	t.Helper()
	at := func(event uint64) Point { return Point{Event: event, Time: 10 * event} }
	state := pkt.SetState{Surface: pkt.Dest, Base: 0x1000, Pitch: 256, Format: 2}
	from := state
	from.Surface, from.Base = pkt.Source, 0x8000
	copies := pkt.Copy2D{W: 4, H: 2}
	all := packetsOf(t, 0, state, from, pkt.Fill{Dst: 0x6000, Bytes: 16}, copies)
	end := uint64(all[3].offset) + uint64(len(all[3].data))
	r := &Run{last: at(90), subs: map[uint64]*submission{}, pieces: map[uint64][]store{}, order: []*submission{
		{serial: 1, kind: presentKind, packets: all, end: end, submitted: at(10), retired: at(20), back: true, onward: 2},
		{serial: 2, kind: presentKind, packets: slices.Clone(all), end: end, queued: at(21), submitted: at(22), retired: at(30), again: 1},
		{serial: 3, packets: packetsOf(t, 0, pkt.Fill{Dst: 0x7000, Bytes: 16}), submitted: at(40), aborted: at(50)},
	}}
	r.order[1].resumes(t, all[3].offset)
	for _, s := range r.order {
		r.subs[s.serial] = s
	}
	return r
}

// Without the packets of the nodes a move was executed if its submission has ended, or was stopped after it. A submission that continues
// has not executed the packets before the place at which it continues.
func TestFatesOnASilentBoard(t *testing.T) {
	for addr, want := range map[uint64]struct {
		verdict string
		steps   int
	}{
		0x6004: {"it was written once, last by submission 1 (fence 0 of node 0)", 1},
		0x1104: {"it was written once, last by submission 2 (fence 0 of node 0); it is not known whether 1 other packet wrote it", 2},
		0x7000: {"nothing wrote it; it is not known whether 1 other packet wrote it", 1},
	} {
		a, err := stoppedRun(t).Address(addr)
		require.NoError(t, err, "%#x", addr)
		assert.Equal(t, want.verdict, a.Verdict, "%#x", addr)
		moves := 0
		for _, s := range a.Chain {
			if assert.NotZero(t, s.Event); len(s.What) > 10 && (s.What[:10] == "written by" || s.What[:10] == "perhaps wr") {
				moves++
			}
		}
		assert.Equal(t, want.steps, moves, a.Text())
	}
}

// A pixel of a present that was aborted is not known on such a board.
func TestPixelOfAnAbortedPresent(t *testing.T) {
	r := stoppedRun(t)
	a, err := r.Pixel(1, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 30, a.Chain[0].Event)
	r.order[1].retired, r.order[1].aborted = Point{}, Point{Event: 30}
	a, err = r.Pixel(1, 1)
	require.NoError(t, err)
	assert.Equal(t, MissingUnknown, a.Missing)
	assert.Contains(t, a.Cause, "perhaps written by COPY_2D", a.Text())
	_, err = r.Pixel(4, 1)
	require.ErrorIs(t, err, ErrQuestion)
	r.Header.Observed = true
	_, err = r.Pixel(1, 1)
	require.ErrorIs(t, err, ErrQuestion, "it was not executed")
}

// What a move reads is not known if a packet that was stopped may have written it after the last writer that is known.
func TestSourceInDoubt(t *testing.T) {
	r := stoppedRun(t)
	r.order = append(r.order[2:], &submission{serial: 4, kind: presentKind, submitted: Point{Event: 60}, retired: Point{Event: 70}, packets: packetsOf(t, 0,
		pkt.SetState{Surface: pkt.Dest, Base: 0x1000, Pitch: 256, Format: 2},
		pkt.SetState{Surface: pkt.Source, Base: 0x7000, Pitch: 256, Format: 2}, pkt.Copy2D{W: 8, H: 1})})
	a, err := r.Pixel(1, 0)
	require.NoError(t, err)
	assert.Equal(t, "its origin is not known", a.Verdict, a.Text())
	a, err = r.Pixel(5, 0)
	require.NoError(t, err)
	assert.Equal(t, "its origin is not in the log", a.Verdict, "beside it: %s", a.Text())
}
