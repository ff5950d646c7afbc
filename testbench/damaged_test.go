package testbench

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// damaged returns a log in which a block of events, of some events each, fails its check, and the run that is read from it.
func damaged(t *testing.T, all []eventlog.Event, each, block int) *why.Run {
	t.Helper()
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Observed: true})
	require.NoError(t, err)
	var ends []int
	for i := range all {
		w.Add(all[i].WithText(all[i].Text()))
		if (i+1)%each == 0 || i+1 == len(all) {
			require.NoError(t, w.Flush())
			ends = append(ends, b.Len())
		}
	}
	log := b.Bytes()
	if block >= 0 {
		log[ends[block]-1] ^= 0xff
	}
	l, err := eventlog.NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	return r
}

// An answer of a log with a damaged block is that of the whole log, or says that it is not known.
func TestAnswersOfADamagedLog(t *testing.T) {
	all, _ := logOf(t, "emu", Queues{})
	const each = 700
	whole := damaged(t, all, each, -1)
	questions := map[string]func(r *why.Run) (*why.Answer, error){
		"fault": func(r *why.Run) (*why.Answer, error) { return r.Fault(), nil },
	}
	for i := range uint16(5) {
		questions[fmt.Sprint("pixel ", i)] = func(r *why.Run) (*why.Answer, error) { return r.Pixel(3+7*i, 5+4*i) }
	}
	for i := range uint64(12) {
		questions[fmt.Sprint("call ", i)] = func(r *why.Run) (*why.Answer, error) { return r.Call(1 + 9*i) }
	}
	for node := range 2 {
		for fence := range uint32(3) {
			questions[fmt.Sprintf("fence %d:%d", node, fence+1)] = func(r *why.Run) (*why.Answer, error) { return r.Fence(node, fence+1) }
		}
	}
	same, unknown := 0, 0
	for block := range (len(all) - 1) / each {
		r := damaged(t, all, each, block)
		for name, ask := range questions {
			want, err := ask(whole)
			if err != nil {
				continue
			}
			got, err := ask(r)
			switch {
			case err != nil || got.Missing == why.MissingUnknown || strings.Contains(got.Verdict, "not known") || strings.Contains(got.Verdict, "as far as"):
				unknown++
			default:
				assert.Equal(t, want.Verdict, got.Verdict, "%s, block %d", name, block)
				same++
			}
		}
	}
	assert.Greater(t, same, 30)
	assert.Greater(t, unknown, 30)
}
