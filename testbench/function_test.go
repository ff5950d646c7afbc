package testbench

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// blamedCopy composes with a driver that reports S_OK in pfnCommandListExecute. It returns the log, and the broken rule.
func blamedCopy(t *testing.T) ([]byte, *verifier.Violation) {
	t.Helper()
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	drivers := withUser(func(arg *umddi.CreateDevice) {
		execute, callbacks, core := arg.DeviceFuncs.CommandListExecute, arg.UMCallbacks, arg.RTCoreLayer
		arg.DeviceFuncs.CommandListExecute = func(t *ddi.Thread, h umddi.HDevice, l umddi.HCommandList) {
			execute(t, h, l)
			callbacks.SetErrorCb(t, core, ddi.OK)
		}
	})
	s, err := Open("emu", drivers, Options{Record: func(eventlog.Header) (events.Sink, error) { return ring, nil }})
	require.NoError(t, err)
	_, err = compose.Run(s, smallPlan(t, 1))
	err = errors.Join(err, s.Close())
	var v *verifier.Violation
	require.ErrorAs(t, err, &v)
	return ringReader(t, ring).Bytes(), v
}

// readingOf returns the run of a log that is asked for a call of the driver interfaces.
func readingOf(t *testing.T, log []byte, function uint64) *why.Run {
	t.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	r, err := why.Reading(l, function)
	require.NoError(t, err)
	return r
}

// The log has the numbers with which a broken rule names calls of the driver interfaces, and an answer tells the event and the call of the API of each.
func TestFunctionsOfABrokenRule(t *testing.T) {
	log, v := blamedCopy(t)
	m := regexp.MustCompile(`the call to blame: pfnSetErrorCb \(call #(\d+)\)`).FindStringSubmatch(v.Error())
	require.NotNil(t, m, v.Error())
	named := map[uint64]eventlog.Event{}
	different := 0
	for _, e := range eventsOf(t, log) {
		if e.Kind == eventlog.DDI {
			assert.NotContains(t, named, e.Fields[0], "a number is that of one call")
			named[e.Fields[0]] = e
			if !strings.Contains(e.Text(), fmt.Sprintf(`"seq":%d,`, e.Fields[0])) {
				different++
			}
		}
	}
	assert.NotZero(t, different, "the trace counts by context")
	require.NotEmpty(t, v.Calls)
	for _, line := range v.Calls {
		call := regexp.MustCompile(`^#(\d+) thread (\d+):(\d+) +(\w+)`).FindStringSubmatch(line)
		require.NotNil(t, call, line)
		number, err := strconv.ParseUint(call[1], 10, 64)
		require.NoError(t, err)
		e := named[number]
		assert.Contains(t, e.Text(), fmt.Sprintf(`"name":"%s"`, call[4]), line)
		assert.Equal(t, call[2]+":"+call[3], fmt.Sprintf("%d:%d", e.Process, e.Thread), line)
	}
	number, err := strconv.ParseUint(m[1], 10, 64)
	require.NoError(t, err)
	r := readingOf(t, log, number)
	a, err := r.Function(number)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("ddi %d, pfnSetErrorCb", number), a.Question)
	assert.Regexp(t, fmt.Sprintf(`^it is event %d, in call \d+, ExecuteCommandList; `, named[number].ID), a.Verdict)
	assert.Regexp(t, `(?s)call \d+, ExecuteCommandList\n.*  pfnCommandListExecute\n.*    pfnSetErrorCb\n`, a.Text())
	assert.Contains(t, r.Fault().Text(), fmt.Sprintf("note: call #%d is of the driver interfaces, as the verifier counts them: ask for ddi %d", number, number))
}

// A call outside of the API is in none, and an unknown number is bad input.
func TestFunctionsOutside(t *testing.T) {
	log, _ := blamedCopy(t)
	a, err := readingOf(t, log, 1).Function(1)
	require.NoError(t, err)
	assert.Equal(t, "ddi 1, DxgkDdiAddDevice", a.Question)
	assert.Contains(t, a.Verdict, ", in no call of the API")
	assert.Contains(t, a.Text(), "DxgkDdiAddDevice returns")
	_, err = readingOf(t, log, 900_000).Function(900_000)
	require.ErrorIs(t, err, why.ErrQuestion)
	assert.ErrorContains(t, err, "no call #900000 of the driver interfaces; it has calls #1 to #")
	_, err = readingOf(t, log, 1).Function(2)
	require.ErrorIs(t, err, why.ErrQuestion, "it was read for another one")

	ring := eventlog.NewRing(1<<20, eventlog.Header{})
	ring.Add(eventlog.New(eventlog.DDI).WithText(`{"at":"enter","seq":1,"name":"pfnFlush"}`))
	_, err = readingOf(t, ringReader(t, ring).Bytes(), 1).Function(1)
	require.ErrorIs(t, err, why.ErrQuestion)
	assert.ErrorContains(t, err, "it has no numbers of the verifier")
}
