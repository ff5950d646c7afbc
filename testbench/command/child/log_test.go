package child

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The calls of a child that has ended are a log: each return has its call, and each call the
// one around it, on its thread.
func TestLogOfCalls(t *testing.T) {
	c := calls{text: []byte(`{"trace":"hilgpu-ddi"}
{"at":"enter","seq":1,"name":"pfnFlush","process":1,"thread":1,"cycle":10}
{"at":"enter","seq":2,"name":"pfnRenderCb","process":1,"thread":1,"cycle":11}
{"at":"enter","seq":3,"name":"pfnFlush","process":1,"thread":2,"cycle":12}
{"at":"leave","seq":2,"name":"pfnRenderCb","process":1,"thread":1,"cycle":13}
{"at":"ent`)}
	l, err := eventlog.NewReader(bytes.NewReader(c.log("emu")))
	require.NoError(t, err)
	assert.Equal(t, "emu", l.Header.Board)
	var got [][5]uint64
	var e eventlog.Event
	for l.Next(&e) == nil {
		got = append(got, [5]uint64{e.ID, uint64(e.Kind), e.Cause, uint64(e.Thread), e.Time})
	}
	ddi, end := uint64(eventlog.DDI), uint64(eventlog.DDIEnd)
	assert.Equal(t, [][5]uint64{{1, ddi, 0, 1, 10}, {2, ddi, 1, 1, 11}, {3, ddi, 0, 2, 12}, {4, end, 2, 1, 13}}, got)
}
