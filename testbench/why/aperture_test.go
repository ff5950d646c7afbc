package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// remapped is a run in which two pages of the aperture lead to allocation 5, whose pages of host memory do not follow each other, from
// event 10 to 30, and the first to allocation 6 from event 60 on. The CPU writes allocation 5 at event 3. Submissions read the first
// page at events 20, 40 and 70.
func remapped(t *testing.T) *Run {
	at := func(event uint64) Point { return Point{Event: event, Time: 100 * event} }
	const page = gartreg.Start + 0x2000
	paged := func(serial, event uint64, o paging) *submission {
		return &submission{serial: serial, kind: pagingKind, queued: at(event - 8), submitted: at(event - 2), begun: at(event - 1), fenced: at(event), retired: at(event), pagings: []paging{o}}
	}
	reads := func(serial, event uint64) *submission {
		data, err := pkt.Copy{Src: page, Dst: 0x3000, Bytes: 0x40}.Append(nil)
		require.NoError(t, err)
		return &submission{serial: serial, queued: at(event - 1), begun: at(event), packets: []packet{{data: data, executed: at(event)}}, retired: at(event + 1)}
	}
	return &Run{
		last: at(90),
		places: []*place{
			{allocation: 5, address: pkt.Host | 0x9000, size: pageBytes, from: at(1), to: at(50), memory: true},
			{allocation: 5, address: pkt.Host | 0x4000, within: pageBytes, size: 0x100, from: at(1), to: at(50), memory: true},
			{allocation: 6, address: pkt.Host | 0x7000, size: pageBytes, from: at(51), memory: true},
		},
		locks: []*cpuWrite{{allocation: 5, from: at(3), to: at(4)}},
		order: []*submission{
			paged(1, 10, paging{what: mapAperture, allocation: 5, from: 0x9000, toSegment: 2, to: page, size: 2 * pageBytes}), reads(2, 20),
			paged(3, 30, paging{what: unmapAperture, allocation: 5, fromSegment: 2, from: page, to: 0x1000, size: 2 * pageBytes}), reads(4, 40),
			paged(5, 60, paging{what: mapAperture, allocation: 6, from: 0x7000, toSegment: 2, to: page, size: pageBytes}), reads(6, 70),
		},
	}
}

// An address of an aperture leads through the mapping of each time to host memory, and host memory back to it.
func TestAddressInAnAperture(t *testing.T) {
	r := remapped(t)
	for _, tt := range []struct {
		addr      uint64
		has, lack []string
	}{
		{gartreg.Start + 0x2010, []string{
			" 1000        -  APERTURE+0x2010 leads to HOST+0x9010, byte 0x10 of allocation 0x5, by MAP_APERTURE_SEGMENT of submission 1",
			" 3000        -  APERTURE+0x2010 leads there no more, by submission 3",
			" 4000        -  its page is not mapped at this time; before, until clock 3000, APERTURE+0x2010 led to HOST+0x9010, byte 0x10 of allocation 0x5",
			" 6000        -  APERTURE+0x2010 leads to HOST+0x7010, byte 0x10 of allocation 0x6, by MAP_APERTURE_SEGMENT of submission 5",
			" 300        -  the CPU may write allocation 0x5", "it was written once, last by the CPU, and it was read 3 times",
		}, []string{"at the end of the log", "2000        -  its page is not mapped"}},
		{gartreg.Start + 0x3010, []string{
			"leads to HOST+0x4010, byte 0x1010 of allocation 0x5,",
			"the page is not mapped at the end of the log; before, until clock 3000, APERTURE+0x3010 led to HOST+0x4010, byte 0x1010 of allocation 0x5",
		}, []string{"0x7010"}},
		{gartreg.Start + 0x3200, []string{"leads to HOST+0x4200, after the end of allocation 0x5 in its last page"}, []string{"byte 0x1200"}},
		{pkt.Host | 0x9010, []string{"APERTURE+0x2010 leads to HOST+0x9010, byte 0x10 of allocation 0x5", "it was read once"}, []string{"allocation 0x6"}},
		{pkt.Host | 0x7010, []string{"APERTURE+0x2010 leads to HOST+0x7010, byte 0x10 of allocation 0x6", "nothing wrote it, and it was read once"}, []string{"allocation 0x5"}},
	} {
		a, err := r.Address(tt.addr)
		require.NoError(t, err)
		for _, want := range tt.has {
			assert.Contains(t, a.Text(), want)
		}
		for _, lack := range tt.lack {
			assert.NotContains(t, a.Text(), lack)
		}
		assert.Equal(t, 1, strings.Count(a.Text(), ": it was")+strings.Count(a.Text(), ": nothing"), a.Text())
	}
	_, err := r.Address(gartreg.Start + 0x8000)
	require.ErrorIs(t, err, ErrQuestion)
	assert.Contains(t, err.Error(), "the page of APERTURE+0x8000 was not mapped")
}

// overlapping is a run in which a page of the aperture leads to allocation 5 from event 10 on, to allocation 6 from event 40 on, and to
// allocation 5 by a paging buffer that no node gets. Each is queued at its first event. Node 1 copies from the page at events 9, 20, 41, 42 and 70.
func overlapping(t *testing.T, observed bool) *Run {
	at := func(event uint64) Point { return Point{Event: event, Time: 100 * event} }
	const page = gartreg.Start + 0x2000
	maps := func(serial, allocation, queued, submitted uint64) *submission {
		s := &submission{serial: serial, kind: pagingKind, queued: at(queued), pagings: []paging{{what: mapAperture, allocation: allocation, toSegment: 2, to: page, size: pageBytes}}}
		switch {
		case observed && submitted != 0:
			s.submitted, s.begun, s.fenced, s.retired = at(submitted), at(submitted+5), at(submitted+8), at(submitted+8)
		case submitted != 0:
			s.submitted, s.retired = at(submitted+5), at(submitted+8)
		}
		return s
	}
	r := &Run{last: at(90), places: []*place{
		{allocation: 5, address: pkt.Host | 0x9000, size: pageBytes, from: at(1), memory: true},
		{allocation: 6, address: pkt.Host | 0x7000, size: pageBytes, from: at(1), memory: true},
	}, order: []*submission{maps(1, 5, 2, 5), maps(2, 6, 15, 35), maps(3, 5, 50, 0)}}
	data, err := pkt.Copy{Src: page, Dst: 0x3000, Bytes: 0x40}.Append(nil)
	require.NoError(t, err)
	for i, event := range []uint64{9, 20, 41, 42, 70} {
		r.order = append(r.order, &submission{serial: 10 + uint64(i), node: 1, queued: at(8), begun: at(event), packets: []packet{{data: data, executed: at(event)}}, retired: at(event + 1)})
	}
	return r
}

// The mappings of a page do not overlap: each begins when a node begins its paging buffer, or gets it.
func TestMappingsDoNotOverlap(t *testing.T) {
	for _, observed := range []bool{false, true} {
		for addr, want := range map[uint64]string{
			pkt.Host | 0x9010: "nothing wrote it, and it was read once, last by submission 11", pkt.Host | 0x7010: "nothing wrote it, and it was read 3 times, last by submission 14",
			gartreg.Start + 0x2010: "nothing wrote it, and it was read 5 times, last by submission 14",
		} {
			a, err := overlapping(t, observed).Address(addr)
			require.NoError(t, err)
			assert.Contains(t, a.Verdict, want)
			if addr&pkt.Host == 0 {
				assert.Equal(t, 1, strings.Count(a.Text(), "its page is not mapped at this time"), a.Text())
			}
		}
	}
}

// The accesses of each mapping count, though the answer has the steps of the last 20.
func TestManyMappings(t *testing.T) {
	at := func(event uint64) Point { return Point{Event: event, Time: 100 * event} }
	const page = gartreg.Start + 0x2000
	r := &Run{last: at(900), places: []*place{{allocation: 5, address: pkt.Host | 0x9000, size: pageBytes, from: at(1), memory: true}}}
	for i := range uint64(25) {
		for k, o := range []paging{
			{what: mapAperture, allocation: 5, toSegment: 2, to: page, size: pageBytes}, {what: unmapAperture, allocation: 5, fromSegment: 2, from: page, size: pageBytes},
		} {
			event := 10 + 20*i + 10*uint64(k)
			r.order = append(r.order, &submission{serial: event, kind: pagingKind, queued: at(event), submitted: at(event), fenced: at(event), retired: at(event), pagings: []paging{o}})
		}
	}
	data, err := pkt.Fill{Dst: page, Bytes: 0x40}.Append(nil)
	require.NoError(t, err)
	r.order = append(r.order, &submission{serial: 1, queued: at(9), begun: at(12), packets: []packet{{data: data, executed: at(12)}}, retired: at(13)})
	a, err := r.Address(pkt.Host | 0x9010)
	require.NoError(t, err)
	assert.Contains(t, a.Verdict, "it was written once, last by submission 1 ")
	assert.Equal(t, 20, strings.Count(a.Text(), "leads to HOST+0x9010"))
	assert.Contains(t, a.Notes, "the steps of the first 5 mappings of its page are left out")
	assert.Equal(t, uint64(12), a.Chain[slices.IndexFunc(a.Chain, func(s Step) bool { return strings.HasPrefix(s.What, "written by ") })].Event)
}

// merge drops each contact that it has, also if another one of the event is between them.
func TestMerge(t *testing.T) {
	of := func(event uint64, text string) contact {
		return contact{Point: Point{Event: event}, what: func() string { return text }}
	}
	var got []string
	for _, c := range merge([]contact{of(3, "a"), of(2, "b"), of(2, "a")}, []contact{of(2, "b"), of(2, "c"), of(3, "a"), of(1, "b")}) {
		got = append(got, fmt.Sprintf("%d %s", c.Event, c.what()))
	}
	assert.Equal(t, []string{"1 b", "2 b", "2 a", "2 c", "3 a"}, got)
}
