package testbench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// An event of the link has only the fields that it uses, as its line says.
func TestLinkEventsHaveTheirFields(t *testing.T) {
	all, _ := linkLog(t, "line?baud=3000000&faults=loss=0.05,flip=0.02,seed=7")
	shapes := map[string]string{
		"link": `^ (session begins|session ends: .*|rate: .*)$`, "frame-repeated": `^( cause=\d+)? frame=\d+ times=\d+$`,
		"frame-refused": `^ bytes=\d+$`, "nak-sent": `^( cause=\d+)? frame=\d+$`, "nak-received": `^$`,
	}
	seen := map[string]bool{}
	for _, e := range all {
		if shape := shapes[e.Name()]; shape != "" {
			_, rest, _ := strings.Cut(e.String(), " "+e.Name())
			assert.Regexp(t, shape, rest)
			seen[e.Name()] = true
		}
	}
	assert.Len(t, seen, len(shapes))
}

// The log has each frame that the link repeats or refuses, as often as the link counts them, and the
// sessions.
func TestLinkEvents(t *testing.T) {
	all, counters := linkLog(t, "line?baud=3000000&faults=loss=0.05,flip=0.02,seed=7")
	counts := map[string]uint64{}
	for _, e := range all {
		what := e.Name()
		switch e.Kind {
		case eventlog.Link:
			what, _, _ = strings.Cut(e.Text(), ": ")
		case eventlog.FrameRepeated:
			assert.Positive(t, e.Fields[1], "times that it was sent before")
			if e.Cause != 0 {
				assert.Equal(t, eventlog.NakReceived, all[e.Cause-1].Kind)
			}
		case eventlog.NakSent:
			if e.Cause != 0 {
				assert.Equal(t, eventlog.FrameRefused, all[e.Cause-1].Kind)
			}
		case eventlog.FrameRefused:
			assert.Positive(t, e.Fields[0], "bytes")
		default:
		}
		counts[what]++
	}
	for _, c := range counters {
		switch c.Name {
		case "frames_repeated":
			assert.Positive(t, c.Value)
			assert.Equal(t, c.Value, counts["frame-repeated"])
		case "frames_damaged":
			assert.Positive(t, c.Value)
			assert.Equal(t, c.Value, counts["frame-refused"])
		case "sessions":
			assert.Equal(t, c.Value, counts["session begins"])
			assert.Equal(t, c.Value, counts["session ends"])
		}
	}
	assert.Positive(t, counts["nak-sent"])
	assert.Positive(t, counts["nak-received"])
	assert.EqualValues(t, 1, counts["rate"], "a line has one rate")
}

// Without faults no frame is refused, and no Nak is sent or received.
func TestLinkEventsOfAGoodLine(t *testing.T) {
	all, _ := linkLog(t, "line?baud=3000000")
	var texts []string
	for _, e := range all {
		switch e.Kind {
		case eventlog.Link:
			texts = append(texts, e.Text())
		case eventlog.FrameRefused, eventlog.NakSent, eventlog.NakReceived:
			texts = append(texts, e.Name())
		default: // also frames that are repeated: a time-out can be too early
		}
	}
	assert.Equal(t, []string{"session begins", "rate: 300000 bytes per second", "session ends: datalink: closed"}, texts)
}
