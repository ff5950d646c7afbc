package record

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// With a tail, a log begins without a file too, and its last events are kept.
func TestTail(t *testing.T) {
	r := Recorder{Program: "test", Tail: &Tail{}}
	assert.Empty(t, r.Tail.Tail(5))
	begin := r.Events()
	require.NotNil(t, begin)
	sink, err := begin(eventlog.Header{Board: "emu"})
	require.NoError(t, err)
	for i := range 2500 {
		sink.Add(eventlog.New(eventlog.Text).WithText(fmt.Sprint("line ", i)))
	}
	assert.Equal(t, []string{"2499 0 text line 2498", "2500 0 text line 2499"}, r.Tail.Tail(2))
	assert.Len(t, r.Tail.Tail(5000), maxTail)
	assert.Empty(t, r.Tail.Tail(-1))
	assert.Empty(t, r.Logged(), "there is no file")
	require.NoError(t, r.Commit(nil))
}
