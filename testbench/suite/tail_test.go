package suite

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A short trace is kept completely.
func TestTailOfLittle(t *testing.T) {
	var kept tail
	for i := range 5 {
		fmt.Fprintf(&kept, "line %d\n", i)
	}
	assert.Equal(t, "line 0\nline 1\nline 2\nline 3\nline 4\n", string(kept.Bytes()))
}

// The end of a long trace is kept, and the trace can still be read.
func TestTailOfALongTrace(t *testing.T) {
	tooltest.Long(t)
	kept := new(tail)
	tr := verifier.NewTrace(kept, func() uint64 { return 0 })
	th, f := new(ddi.Thread), &verifier.Func{Name: "pfnQueryGetData"}
	const calls = 400_000
	th.Push(f.Name)
	for range calls {
		tr.Enter(th, f)
		tr.Leave(th, f)
	}
	require.NoError(t, tr.Err())
	got := merged([]*tail{kept})
	assert.Less(t, len(got), keepBytes+1000)
	assert.Greater(t, len(got), keepBytes/2)
	all, err := verifier.ReadTrace(bytes.NewReader(got))
	require.NoError(t, err)
	assert.EqualValues(t, 1, all[0].Seq, "the first line")
	for i, ev := range all[1:] {
		require.EqualValues(t, calls-(len(all)-2-i)/2, ev.Seq, "no call is missing at the end")
	}
}

// The end of a long capture is kept too.
func TestTailOfALongCapture(t *testing.T) {
	var kept tail
	w, err := capture.NewWriter(&kept, capture.Options{})
	require.NoError(t, err)
	packet := make([]byte, 12) // a memory read
	for range 2 * keepBytes / 60 {
		require.NoError(t, w.Write(capture.Record{Dir: capture.Down, Packet: packet}))
	}
	require.NoError(t, w.Close())
	r, err := capture.NewReader(bytes.NewReader(kept.Bytes()))
	require.NoError(t, err)
	n := 0
	for ; err == nil; n++ {
		_, err = r.Next()
	}
	assert.ErrorIs(t, err, io.EOF)
	assert.Greater(t, n, keepBytes/2/100)
}
