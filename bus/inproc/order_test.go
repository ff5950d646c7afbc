package inproc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A reader reads host memory and accepts inputs only when permitted.
type reader struct {
	want      bool // send a read
	takesReq  bool
	takesBeat bool

	gotCpl   uint64 // clock + 1
	gotBeats int
	answer   []port.Completion
	clock    uint64
}

func (r *reader) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if len(r.answer) > 0 {
		cpl = r.answer[0]
	}
	return cpl, r.takesReq, r.takesBeat
}

func (r *reader) Initiator() (req port.Request, beat port.Beat) {
	if r.want {
		req = port.Request{Kind: port.MemRead, Tag: 5, Len: 1, Addr: 1 << 20}
	}
	return req, beat
}

func (r *reader) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, _ bool) {
	r.clock++
	if cplReady {
		r.answer = r.answer[1:]
	}
	if req.Kind != port.None && req.Kind != port.MemWrite && r.takesReq {
		r.answer = append(r.answer, port.Completion{Tag: req.Tag, Status: port.CplSuccess, Last: true})
	}
	if beat.Valid && r.takesBeat {
		r.gotBeats++
	}
	if reqReady {
		r.want = false
	}
	if cpl.Status != port.CplNone {
		r.gotCpl = r.clock
		r.takesReq = true
	}
}

func (r *reader) IdleFor() uint64 { return 0 }
func (r *reader) Skip(uint64)     {}

// TestCompletionPassesRead: a device may hold a read until its own read is
// completed.
func TestCompletionPassesRead(t *testing.T) {
	r := &reader{want: true}
	link, err := inproc.New(r, bustest.NewHost(64), inproc.Options{})
	require.NoError(t, err)
	_, err = link.ReadConfig(0)
	require.NoError(t, err)
	assert.NotZero(t, r.gotCpl)
}

// TestCompletionFollowsWrite: a completion sent after a write arrives after all
// its beats.
func TestCompletionFollowsWrite(t *testing.T) {
	r := &reader{takesReq: true, takesBeat: true}
	link, err := inproc.New(r, bustest.NewHost(64), inproc.Options{Latency: 10})
	require.NoError(t, err)
	require.NoError(t, link.Write(0, 0, make([]byte, 8)))
	_, err = link.Wait(link.Now() + 20)
	require.NoError(t, err)
	require.Equal(t, 1, r.gotBeats)

	r.takesBeat = false
	require.NoError(t, link.Write(0, 0, make([]byte, 64)))
	r.want = true
	_, err = link.Wait(link.Now() + 200)
	require.NoError(t, err)
	assert.Zero(t, r.gotCpl)

	r.takesBeat = true
	_, err = link.Wait(link.Now() + 200)
	require.NoError(t, err)
	assert.NotZero(t, r.gotCpl)
	assert.Equal(t, 9, r.gotBeats)
}
