package why_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// A script writes calls of one thread.
type script struct {
	ring  *eventlog.Ring
	calls uint64
}

// call adds a call of the API with the functions of the driver that it calls.
func (s *script) call(name string, functions ...string) uint64 {
	s.calls++
	add := func(e eventlog.Event, cause uint64) uint64 {
		e.Process, e.Thread, e.Cause = 1, 1, cause
		return s.ring.Add(e)
	}
	call := add(eventlog.New(eventlog.Call, s.calls).WithText(name), 0)
	for _, f := range functions {
		add(eventlog.New(eventlog.DDIEnd), add(eventlog.New(eventlog.DDI).WithText(f), call))
	}
	add(eventlog.New(eventlog.CallEnd), call)
	return s.calls
}

// in returns a line of the trace of a function of a deferred context.
func in(context int, name, list string) string {
	return fmt.Sprintf(`{"at":"enter","context":%d,"seq":1,"name":"%s","args":{"h":"context %d","list":"%s"}}`, context, name, context, list)
}

func execute(list string) string {
	return fmt.Sprintf(`{"at":"enter","seq":1,"name":"pfnCommandListExecute","args":{"h":"device 1","list":"%s"}}`, list)
}

// A recorded call is in the list of its context, and the verdict says how far the list has come.
func TestRecordedCalls(t *testing.T) {
	s := &script{ring: eventlog.NewRing(1<<20, eventlog.Header{})}
	open := s.call("ClearRenderTargetView", in(3, "pfnClearRenderTargetView", ""))
	kept := s.call("CopyResource", in(1, "pfnResourceCopy", ""))
	other := s.call("CopyResource", in(2, "pfnResourceCopy", ""))
	s.call("FinishCommandList", in(1, "pfnCreateCommandList", "list 1.1"), in(1, "pfnCalcDeferredContextHandleSize", ""))
	next := s.call("CopyResource", in(1, "pfnResourceCopy", ""))
	s.call("FinishCommandList", in(2, "pfnCreateCommandList", "list 2.1"))
	s.call("FinishCommandList", in(1, "pfnAbandonCommandList", ""))
	s.call("ExecuteCommandList", execute("list 1.1"))
	var log bytes.Buffer
	_, err := s.ring.WriteTo(&log)
	require.NoError(t, err)
	l, err := eventlog.NewReader(&log)
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	for call, want := range map[uint64]string{
		open: "it was recorded, but its list was not finished", next: "it was recorded, but its list was not finished",
		kept: "it was recorded, and its list gave the GPU no work", other: "it was recorded, but list 2.1 was not executed",
	} {
		a, err := r.Call(call)
		require.NoError(t, err)
		assert.Equal(t, want, a.Verdict, "%s", a.Text())
	}
	a, err := r.Call(kept)
	require.NoError(t, err)
	assert.Contains(t, a.Text(), "the commands are in list 1.1; calls that recorded it: 1")
	assert.Contains(t, a.Text(), "call 8, ExecuteCommandList")
}
