package testbench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The log has each frame that the link repeats or refuses, as often as the link counts them, and the
// sessions.
func TestLinkEvents(t *testing.T) {
	all, counters := linkLog(t, "line?baud=3000000&faults=loss=0.05,flip=0.02,seed=7")
	counts := map[string]uint64{}
	for _, e := range all {
		if e.Kind != eventlog.Link {
			continue
		}
		what, _, _ := strings.Cut(e.Text(), ": ")
		counts[what]++
		switch {
		case e.Cause == 0:
		case what == "frame repeated":
			assert.Equal(t, "nak received", all[e.Cause-1].Text())
		default:
			assert.Equal(t, "nak sent", what)
			assert.Equal(t, "frame refused", all[e.Cause-1].Text())
		}
		if what == "frame repeated" {
			assert.Positive(t, e.Fields[1], "times that it was sent before")
		}
	}
	for _, c := range counters {
		switch c.Name {
		case "frames_repeated":
			assert.Positive(t, c.Value)
			assert.Equal(t, c.Value, counts["frame repeated"])
		case "frames_damaged":
			assert.Positive(t, c.Value)
			assert.Equal(t, c.Value, counts["frame refused"])
		case "sessions":
			assert.Equal(t, c.Value, counts["session begins"])
			assert.Equal(t, c.Value, counts["session ends"])
		}
	}
	assert.Positive(t, counts["nak sent"])
	assert.Positive(t, counts["nak received"])
	assert.EqualValues(t, 1, counts["rate"], "a line has one rate")
}

// Without faults no frame is refused, and no Nak is sent or received.
func TestLinkEventsOfAGoodLine(t *testing.T) {
	all, _ := linkLog(t, "line?baud=3000000")
	var texts []string
	for _, e := range all {
		if e.Kind == eventlog.Link && e.Text() != "frame repeated" { // a time-out can be too early
			texts = append(texts, e.Text())
		}
	}
	assert.Equal(t, []string{"session begins", "rate: 300000 bytes per second", "session ends: datalink: closed"}, texts)
}
