package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

// An equal is a mistake with which the program does the same, for a reason.
type equal struct{ place, source, change, why string }

// equals are the mistakes that picked leaves out.
var equals = []equal{
	{"host_single+4", "jz host_chunk", "without", "the write of some bytes writes all of them too"},
	{"unsupported+3", "call refusal_unsupported", "the target and 1", "the event of a packet is 0x20 too"},
	{"queued+4", "st since", "the place and 1", "since and tries are 0 while no frame is in flight"},
	{"short_later+11", "st (p+)", "(p+) becomes (p)", "nothing is stored after it"},
	{"form_rest+1", "st (p+)", "(p+) becomes (p)", "the pointer is set before it is used again"},
	{"more+13", "call answer", "the target and 1", "answer+1 is a jump to answer"},
	{"completion_fits+8", "call push4", "without", "a beat that begins in its upper half has no data in the lower one"},
	{"short_now+0", "clr since", "the place and 1", "since and tries are 0 while no frame is in flight"},
	{"age_done+3", "ret", "without", "at_low, which follows, only sets the pointer and i, which the caller does not use"},
}

// equivalent returns why the program does the same with a mistake, or "" if it does not.
func (m *mistake) equivalent() string {
	for _, e := range equals {
		if e.place == m.place && e.source == m.source && e.change == m.change {
			return e.why
		}
	}
	return ""
}

// TestEqualMistakes: each equivalent mistake is one that there would be without the list.
func TestEqualMistakes(t *testing.T) {
	p, err := seq.Program(seq.Options{Replay: 8})
	require.NoError(t, err)
	all := mistakes(p)
	for _, e := range equals {
		n := 0
		for _, m := range all {
			if e.place == m.place && e.source == m.source && e.change == m.change {
				n++
			}
		}
		assert.Equal(t, 1, n, "%s: %s: %s", e.place, e.source, e.change)
		assert.NotEmpty(t, e.why)
	}
	t.Logf("%d mistakes, of which %d are equivalent", len(all), len(equals))
}
