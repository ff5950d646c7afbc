package why

import (
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
		return &submission{serial: serial, kind: pagingKind, queued: at(event - 1), fenced: at(event), retired: at(event), pagings: []paging{o}}
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
