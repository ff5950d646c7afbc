package child

import (
	"bytes"
	"encoding/json"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// logBytes is the approximate number of bytes of a log.
const logBytes = 1 << 20

// log returns the calls as a log of a board. It takes the place of the log of a case whose
// child has ended, with which the other events are lost.
func (c *calls) log(board string) []byte {
	ring := eventlog.NewRing(logBytes, eventlog.Header{Program: "suite", Board: board, Map: regmap.Hash()})
	open := map[key]uint64{}
	inside := map[[2]uint32][]uint64{} // calls of each thread, innermost last
	for text := range bytes.Lines(c.text) {
		var e verifier.Event
		if json.Unmarshal(text, &e) != nil {
			continue // a last line may be cut off
		}
		k, thread := key{e.Context, e.Seq}, [2]uint32{e.Process, e.Thread}
		event := eventlog.Event{Kind: eventlog.DDI, Time: e.Cycle, Process: e.Process, Thread: e.Thread}.WithText(string(bytes.TrimSpace(text)))
		calls := inside[thread]
		switch e.At {
		case "enter":
			if n := len(calls); n > 0 {
				event.Cause = calls[n-1]
			}
			open[k] = ring.Add(event)
			inside[thread] = append(calls, open[k])
		case "leave":
			event.Kind, event.Cause = eventlog.DDIEnd, open[k]
			ring.Add(event)
			if n := len(calls); n > 0 {
				inside[thread] = calls[:n-1]
			}
		default: // a header: the case opened another system
			clear(open)
			clear(inside)
		}
	}
	var out bytes.Buffer
	if _, err := ring.WriteTo(&out); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}
