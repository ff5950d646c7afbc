package why_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// An error about something that is not in a log says where the log begins, if its beginning is missing, and that its end is missing.
func TestEdges(t *testing.T) {
	ring := eventlog.NewRing(100_000, eventlog.Header{})
	for i := range uint64(20_000) {
		e := eventlog.New(eventlog.Call, i+1).WithText("Flush")
		e.Time = 10 * (i + 1)
		ring.Add(e)
	}
	var log bytes.Buffer
	_, err := ring.WriteTo(&log)
	require.NoError(t, err)
	read := func(text []byte) *why.Run {
		l, err := eventlog.NewReader(bytes.NewReader(text))
		require.NoError(t, err)
		r, err := why.Read(l)
		require.NoError(t, err)
		return r
	}
	l, err := eventlog.NewReader(bytes.NewReader(log.Bytes()))
	require.NoError(t, err)
	var first eventlog.Event
	require.NoError(t, l.Next(&first))
	require.Greater(t, first.ID, uint64(1))

	r := read(log.Bytes())
	begins := fmt.Sprintf("the log begins at event %d, clock %d: what was before is not in it", first.ID, first.Time)
	_, fence := r.Fence(-1, 1)
	_, call := r.Call(first.ID - 1)
	_, address := r.Address(0x40)
	_, pixel := r.Pixel(1, 1)
	_, cycle := r.Cycle(first.Time - 1)
	for _, err := range []error{fence, call, address, pixel, cycle} {
		require.ErrorIs(t, err, why.ErrQuestion)
		assert.ErrorIs(t, r.Explain(err, r), why.ErrQuestion)
		assert.Contains(t, r.Explain(err, r).Error(), begins)
	}
	assert.Contains(t, cycle.Error(), fmt.Sprintf("the log begins at clock %d", first.Time))
	_, err = r.Cycle(first.Time)
	require.NoError(t, err)

	r = read(log.Bytes()[:log.Len()-10])
	_, err = r.Call(20_000)
	assert.Contains(t, r.Explain(err, r).Error(), "the log ends within a block, after clock ")
	other := errors.New("other")
	assert.Equal(t, other, r.Explain(other, r))
	assert.NoError(t, r.Explain(nil, r))
}

// An answer about a log of several boards says which one it is about. What happens to a link before its board is opened
// is no board. A log without its beginning may begin in a board.
func TestBoards(t *testing.T) {
	link := eventlog.New(eventlog.Link).WithText("session begins")
	other := eventlog.New(eventlog.Open, 1e9, 1).WithText("line")
	stop := eventlog.New(eventlog.Stop).WithText("a stop")
	for name, tt := range map[string]struct {
		all  []eventlog.Event
		asks int // --opened, 0: none
		want string
	}{
		"one":                    {[]eventlog.Event{opened}, 0, ""},
		"one after its link":     {[]eventlog.Event{link, opened}, 0, ""},
		"the last":               {[]eventlog.Event{opened, other}, 0, "2 boards, and this is about board 2, line:"},
		"the first":              {[]eventlog.Event{opened, other}, 1, "2 boards, and this is about board 1, emu:"},
		"the first that stopped": {[]eventlog.Event{opened, stop, other}, 0, "2 boards, and this is about board 1, emu:"},
		"the last of three":      {[]eventlog.Event{link, opened, link, other, opened}, 3, "3 boards, and this is about board 3, emu:"},
	} {
		r := runOf(t, tt.all...)
		of := r
		if tt.asks != 0 {
			var err error
			of, err = r.Board(tt.asks)
			require.NoError(t, err, name)
		}
		a := of.Fault()
		r.Annotate(a, of)
		notes := fmt.Sprint(a.Notes)
		_, err := of.Fence(0, 1)
		text := r.Explain(err, of).Error()
		if tt.want == "" {
			assert.NotContains(t, notes+text, "boards", name)
			continue
		}
		assert.Contains(t, notes, "the log has "+tt.want, name)
		if a.Missing == "" {
			assert.Contains(t, text, "the log has "+tt.want, name)
		}
	}
	_, err := runOf(t, link, opened).Board(2)
	assert.ErrorContains(t, err, "no board 2 was opened, the last is 1")
}

// A log without an end does not say that its run went well, and each answer says why the end may be missing.
func TestNoEnd(t *testing.T) {
	opened, note := eventlog.New(eventlog.Open, 1e9, 1).WithText("emu"), "the log has no end: its command still runs, was killed, or kept only the last events"
	r := runOf(t, opened)
	a := r.Fault()
	r.Annotate(a, r)
	assert.Equal(t, "nothing stopped the run, as far as the log goes", a.Verdict)
	assert.Equal(t, []string{note}, a.Notes)

	r = runOf(t, opened, eventlog.New(eventlog.End))
	a = r.Fault()
	r.Annotate(a, r)
	assert.Equal(t, "nothing stopped the run", a.Verdict)
	assert.Empty(t, a.Notes)

	a = runOf(t, opened, eventlog.New(eventlog.End).WithText("ended by a signal: interrupt")).Fault()
	assert.Equal(t, "nothing stopped the run; a signal ended the command: interrupt", a.Verdict)
	assert.Empty(t, a.Missing)
}
