package why

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A damaged block before a second board is missing in the log of the first one.
func TestDamageBeforeASecondBoard(t *testing.T) {
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Hz: 1000})
	require.NoError(t, err)
	var at []int
	for i := range 3 {
		k := eventlog.Stop
		if i != 1 {
			k = eventlog.Open
		}
		for range 5 {
			w.Add(eventlog.New(k, 0, 0))
			k = eventlog.Stop
		}
		require.NoError(t, w.Flush())
		at = append(at, b.Len())
	}
	log := b.Bytes()
	log[at[1]-1] ^= 0xff
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	r, err := Read(l)
	require.NoError(t, err)
	require.NotNil(t, r.earlier)
	assert.Equal(t, []eventlog.Gap{{From: 6, To: 10}}, r.earlier.gaps)
	assert.Empty(t, r.gaps)
	assert.EqualValues(t, 11, r.first.Event)
}

// A block that cannot be read after a damaged one: the error has both.
func TestDamageBeforeTheEnd(t *testing.T) {
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Hz: 1000})
	require.NoError(t, err)
	var at []int
	for range 3 {
		w.Add(eventlog.New(eventlog.Stop, 0, 0))
		require.NoError(t, w.Flush())
		at = append(at, b.Len())
	}
	log := b.Bytes()
	log[at[1]-1] ^= 0xff
	log[at[2]-1] ^= 0xff
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	_, err = Read(l)
	require.ErrorIs(t, err, eventlog.ErrCorrupt)
	assert.Contains(t, err.Error(), "fails its check; before that, eventlog: the log is damaged: the events from 2 on")
}
