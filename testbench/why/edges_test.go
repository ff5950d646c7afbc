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
		assert.ErrorIs(t, r.Explain(err), why.ErrQuestion)
		assert.Contains(t, r.Explain(err).Error(), begins)
	}
	assert.Contains(t, cycle.Error(), fmt.Sprintf("the log begins at clock %d", first.Time))
	_, err = r.Cycle(first.Time)
	require.NoError(t, err)

	r = read(log.Bytes()[:log.Len()-10])
	_, err = r.Call(20_000)
	assert.Contains(t, r.Explain(err).Error(), "the log ends within a block, after clock ")
	other := errors.New("other")
	assert.Equal(t, other, r.Explain(other))
	assert.NoError(t, r.Explain(nil))
}

// A log without an end does not say that its run went well, and each answer says why the end may be missing.
func TestNoEnd(t *testing.T) {
	opened, note := eventlog.New(eventlog.Open, 1e9, 1).WithText("emu"), "the log has no end: its command still runs, was killed, or kept only the last events"
	r := runOf(t, opened)
	a := r.Fault()
	r.Annotate(a)
	assert.Equal(t, "nothing stopped the run, as far as the log goes", a.Verdict)
	assert.Equal(t, []string{note}, a.Notes)

	r = runOf(t, opened, eventlog.New(eventlog.End))
	a = r.Fault()
	r.Annotate(a)
	assert.Equal(t, "nothing stopped the run", a.Verdict)
	assert.Empty(t, a.Notes)

	a = runOf(t, opened, eventlog.New(eventlog.End).WithText("ended by a signal: interrupt")).Fault()
	assert.Equal(t, "the command ended with an error: ended by a signal: interrupt", a.Verdict)
}
