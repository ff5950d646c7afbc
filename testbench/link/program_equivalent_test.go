package link

import (
	"slices"
	"strings"
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
	{"completion_fits+7", "lp #dword", "without", "what is pushed has no meaning"},
	{"completion_fits+8", "call push4", "without", "a beat that begins in its upper half has no data in the lower one"},
	{"short_now+0", "clr since", "the place and 1", "since and tries are 0 while no frame is in flight"},
	{"more_part+19", "jmp main_send", "without", "more_parked, which follows, goes there too, since a frame is in flight"},
	{"short_address+24", "and #0x7f", "the value less 1", "the address is that of a dword"},
	{"next_chunk+1", "and #0x7c", "the value and 1", "the lowest bit is shifted out"},
	{"data_other+1", "sub rx_next+1", "without", "the comparison before has set the carry"},
	{"check_address+12", "jmp check_upper", "without", "what check_narrow clears is written by check_upper, from the same place on"},
	{"start+0", "ld #started", "the value less 1", "the last byte is back: a return to the first rate, at which the board is"},
	{"gpu_read_credit+8", "st (p)", "(p) becomes (p+)", "the pointer is set before it is used again"},
	{"form_rest+11", "jnc form_1", "the target and 1", "a is the mask, which is not loaded again"},
	{"nonce_next+7", "jmp main", "the target and 1", "the loop looks for a frame in its next round"},
	{"tick_idle+2", "jnz main_gpu", "the target and 1", "the loop looks for a damaged piece in its next round"},
	{"age_done+3", "ret", "without", "at_low, which follows, only sets the pointer and i, which the caller does not use"},
}

// waits are places whose second instruction is a jump to the first one.
var waits = []string{"answer", "drain_beat", "gpu_beat", "idle_sends", "message_leaves", "message_room", "more_next"}

// equivalent returns why the program does the same with a mistake, or "" if it does not.
func (m *mistake) equivalent() string {
	for _, e := range equals {
		if e.place == m.place && e.source == m.source && e.change == m.change {
			return e.why
		}
	}
	for _, w := range waits {
		if m.place != w+"+1" && strings.HasSuffix(m.source, " "+w) && m.change == "the target and 1" {
			return "it waits too"
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
	for _, w := range waits {
		assert.True(t, slices.ContainsFunc(all, func(m *mistake) bool { return m.place == w+"+1" && m.source == "jmp "+w }), w)
	}
	n := 0
	for _, m := range all {
		if m.equivalent() != "" {
			n++
		}
	}
	t.Logf("%d mistakes, of which %d are known to be equivalent", len(all), n)
}
