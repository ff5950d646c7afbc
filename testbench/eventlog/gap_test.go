package eventlog

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// threes returns a log of blocks of three events, event n at clock 10n, and where the blocks end.
func threes(t *testing.T, blocks int) (log []byte, ends []int) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{})
	require.NoError(t, err)
	for i := range 3 * blocks {
		e := New(Wait)
		e.Time = uint64(10 * (i + 1))
		w.Add(e)
		if i%3 == 2 {
			require.NoError(t, w.Flush())
			ends = append(ends, b.Len())
		}
	}
	return b.Bytes(), ends
}

// through reads a log to its end, over its gaps. gaps are those that are told at each event, or at 0 at the end.
func through(t *testing.T, log []byte) (l *Reader, ids []uint64, gaps map[uint64]Gap) {
	t.Helper()
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	l.GoOn = true
	gaps = map[uint64]Gap{}
	var e Event
	for {
		err := l.Next(&e)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			e.ID = 0
		} else {
			ids = append(ids, e.ID)
		}
		if g, ok := l.Gap(); ok {
			gaps[e.ID] = g
		}
		if err != nil {
			return l, ids, gaps
		}
	}
}

// A gap has the events of the damaged blocks that follow each other, and is told once: at the event after it, or at the end.
func TestGaps(t *testing.T) {
	for name, tt := range map[string]struct {
		damaged []int // blocks
		cut     int   // bytes that are missing at the end
		ids     []uint64
		gaps    map[uint64]Gap
		error   string // "": there is none
	}{
		"none":            {nil, 0, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, map[uint64]Gap{}, ""},
		"one":             {[]int{1}, 0, []uint64{1, 2, 3, 7, 8, 9, 10, 11, 12}, map[uint64]Gap{7: {4, 6, 30, 70}}, "eventlog: the log is damaged: events 4 to 6, between clock 30 and clock 70, are missing"},
		"two in a row":    {[]int{1, 2}, 0, []uint64{1, 2, 3, 10, 11, 12}, map[uint64]Gap{10: {4, 9, 30, 100}}, "eventlog: the log is damaged: events 4 to 9, between clock 30 and clock 100, are missing"},
		"two":             {[]int{0, 2}, 0, []uint64{4, 5, 6, 10, 11, 12}, map[uint64]Gap{4: {1, 3, 0, 40}, 10: {7, 9, 60, 100}}, "eventlog: the log is damaged in 2 places: first events 1 to 3, between clock 0 and clock 40, are missing"},
		"before the end":  {[]int{2}, 5, []uint64{1, 2, 3, 4, 5, 6}, map[uint64]Gap{0: {7, 0, 60, 0}}, "eventlog: the log is damaged: the events from 7 on, after clock 60, are missing"},
		"only cut":        {nil, 5, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, map[uint64]Gap{}, ""},
		"all but the end": {[]int{0, 1, 2}, 0, []uint64{10, 11, 12}, map[uint64]Gap{10: {1, 9, 0, 100}}, "eventlog: the log is damaged: events 1 to 9, between clock 0 and clock 100, are missing"},
	} {
		log, ends := threes(t, 4)
		for _, i := range tt.damaged {
			log[ends[i]-1] ^= 0xff
		}
		l, ids, gaps := through(t, log[:len(log)-tt.cut])
		assert.Equal(t, tt.ids, ids, name)
		assert.Equal(t, tt.gaps, gaps, name)
		assert.Len(t, l.Gaps(), len(tt.gaps), name)
		err := l.Damage()
		if tt.error == "" {
			assert.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrCorrupt, name)
		assert.Equal(t, tt.error, err.Error(), name)
	}
}

// A reader that does not go on ends at the damage.
func TestNoGaps(t *testing.T) {
	log, ends := threes(t, 3)
	log[ends[1]-1] ^= 0xff
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	var e Event
	for range 3 {
		require.NoError(t, l.Next(&e))
	}
	require.ErrorIs(t, l.Next(&e), ErrCorrupt)
	_, ok := l.Gap()
	assert.False(t, ok)
	assert.Equal(t, ErrCorrupt, l.WithDamage(ErrCorrupt), "there is no gap before it")
}

// An error of a damaged end has what is missing before it. Other errors do not.
func TestErrorAfterAGap(t *testing.T) {
	log, ends := threes(t, 3)
	log[ends[1]-1] ^= 0xff
	log[ends[2]-1] ^= 0xff
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	l.GoOn = true
	var e Event
	for err == nil {
		err = l.Next(&e)
	}
	g, ok := l.Gap()
	assert.True(t, ok)
	assert.Equal(t, Gap{From: 4, After: 30}, g)
	assert.EqualError(t, l.WithDamage(err), err.Error()+"; before that, eventlog: the log is damaged: the events from 4 on, after clock 30, are missing")
	assert.Equal(t, io.ErrClosedPipe, l.WithDamage(io.ErrClosedPipe))
	assert.NoError(t, l.WithDamage(nil))
}

func TestGapWords(t *testing.T) {
	assert.Equal(t, "event 4, between clock 30 and clock 50, is missing", Gap{4, 4, 30, 50}.String())
	for _, tt := range []struct {
		g        Gap
		from, to uint64
		want     bool
	}{
		{Gap{From: 4, To: 6}, 1, 0, true}, {Gap{From: 4, To: 6}, 7, 0, false}, {Gap{From: 4, To: 6}, 6, 9, true}, {Gap{From: 4, To: 6}, 1, 3, false},
		{Gap{From: 4, To: 6}, 1, 4, true}, {Gap{From: 4}, 900, 0, true}, {Gap{From: 4}, 1, 3, false},
	} {
		assert.Equal(t, tt.want, tt.g.Overlaps(tt.from, tt.to), "%+v", tt)
	}
}
