package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// Bounds of what a page shows, so that it stays small.
const (
	maxIncidents   = 100 // the last ones
	maxGaps        = 20
	maxText        = 16 << 10
	maxSubmissions = 8   // the last ones with packets, and as many without
	maxPackets     = 200 // of a submission
	maxExecuted    = 32  // of a node, the last ones
)

// A run is what the log of a page has.
type run struct {
	Header    eventlog.Header
	Boards    []string // that the log is of, in order
	Events    uint64
	From      uint64 // number of the first event
	Until     string // time of the last event
	Truncated bool
	Gaps      []eventlog.Gap // the first ones
	MoreGaps  int            // gaps that are not in Gaps
	Incidents []Incident
	Dropped   int // incidents that are not in Incidents

	Blocks   []Block
	OtherMap bool // the registers have the map of another version

	Submissions []*Submission
	Nodes       []Node

	Calls, Functions, Opcodes []Count

	ticks uint64
	regs  registers
	work  work
	used  used
}

// An Incident is a fault, a stop, a broken rule, a change of the link, a gap of the log, or the error with which the
// command ended. The event of a gap is the first one that is missing.
type Incident struct {
	Event uint64
	Time  string
	Kind  string
	Text  string
	More  string // further lines of the text
	Chain string // what led to it, if it is known
}

// A Count is a number of uses.
type Count struct {
	Name string
	N    uint64
}

// used counts what the run used.
type used struct{ calls, functions, opcodes map[string]uint64 }

// readRun reads the log. chain explains its incidents; it may be nil.
func (s *Source) readRun(chain func(eventlog.Event) string) (*run, error) {
	r := &run{used: used{map[string]uint64{}, map[string]uint64{}, map[string]uint64{}}}
	err := s.withLog(func(l *eventlog.Reader) error {
		r.Header = l.Header
		r.OtherMap = l.Header.Map != regmap.Hash()
		l.GoOn = true
		var e eventlog.Event
		for {
			err := l.Next(&e)
			if g, ok := l.Gap(); ok {
				r.gap(g)
			}
			if errors.Is(err, io.EOF) {
				r.Truncated = l.Truncated()
				return nil
			}
			if err != nil {
				return err
			}
			r.add(&e, chain)
		}
	})
	if err != nil {
		return nil, err
	}
	r.Until = r.time(r.ticks)
	r.Blocks = r.regs.blocks(r)
	r.Submissions, r.Nodes = r.work.last(r)
	r.Calls, r.Functions, r.Opcodes = counts(r.used.calls), counts(r.used.functions), counts(r.used.opcodes)
	return r, nil
}

// time returns a time in ticks as text: the number that the log and the chains have, and how long that is.
func (r *run) time(ticks uint64) string {
	if r.Header.Hz == 0 {
		return fmt.Sprintf("%d", ticks)
	}
	return fmt.Sprintf("%d (%.3f µs)", ticks, float64(ticks)*1e6/float64(r.Header.Hz))
}

func (r *run) add(e *eventlog.Event, chain func(eventlog.Event) string) {
	r.Events++
	r.From = cmp.Or(r.From, e.ID)
	r.ticks = e.Time
	switch e.Kind {
	case eventlog.Call:
		r.used.calls[e.Text()]++
	case eventlog.DDI:
		r.used.functions[timeline.Function(e.Text())]++
	case eventlog.Packet:
		if len(e.Data) >= 4 {
			r.used.opcodes[opcode(e.Data[3])]++
		}
		r.work.add(e)
	case eventlog.Queue, eventlog.Paging, eventlog.Submit, eventlog.Fetched, eventlog.Report, eventlog.Retire, eventlog.Cancelled, eventlog.Executed:
		r.work.add(e)
	case eventlog.Preempted:
		r.work.add(e)
		r.work.stopped(e)
	case eventlog.RingPacket, eventlog.Memory:
		r.work.host(e)
	case eventlog.Reset:
		r.work.add(e)
		r.work.stopped(e)
		r.incident(e, chain)
	case eventlog.Read, eventlog.Write:
		r.regs.add(e)
	case eventlog.Open:
		r.open(e)
	case eventlog.Stop:
		r.work.stopped(e)
		r.work.stopAll()
		r.incident(e, chain)
	case eventlog.End:
		if e.HasText() {
			r.incident(e, chain)
		}
	case eventlog.Fault, eventlog.Restart, eventlog.Broken, eventlog.Link, eventlog.FrameRepeated, eventlog.FrameRefused, eventlog.NakSent, eventlog.NakReceived:
		r.incident(e, chain)
	}
}

// open begins with another board: registers and submissions are those of the last one.
func (r *run) open(e *eventlog.Event) {
	r.Boards = append(r.Boards, e.Text())
	r.Header.Hz, r.Header.Observed = e.Fields[0], e.Fields[1] != 0
	r.regs, r.work = registers{}, work{}
}

// incident keeps an incident.
func (r *run) incident(e *eventlog.Event, chain func(eventlog.Event) string) {
	text := e.Text()
	if e.Kind == eventlog.Fault {
		text = fmt.Sprintf("node %d, fence %d, cause %d, packet at %s. %s", e.Fields[0], e.Fields[1], e.Fields[2], pkt.FormatAddr(e.Fields[3]), text)
	}
	i := Incident{Event: e.ID, Time: r.time(e.Time), Kind: e.Name()}
	i.Text, i.More = firstLine(text)
	if chain != nil {
		i.Chain = chain(e.Clone())
	}
	r.keep(i)
}

// keep adds an incident. Only the last ones are kept.
func (r *run) keep(i Incident) {
	r.Incidents = append(r.Incidents, i)
	if len(r.Incidents) > maxIncidents {
		r.Incidents = r.Incidents[1:]
		r.Dropped++
	}
}

// gap notes that events are missing. The submissions may have gone on in them.
func (r *run) gap(g eventlog.Gap) {
	r.keep(Incident{Event: g.From, Time: r.time(g.After), Kind: "gap", Text: g.String()})
	r.work.gap()
	if len(r.Gaps) == maxGaps {
		r.MoreGaps++
		return
	}
	r.Gaps = append(r.Gaps, g)
}

// opcode returns the name of an opcode.
func opcode(op uint8) string {
	if l, ok := pkt.Lookup(op); ok {
		return l.Name
	}
	return fmt.Sprintf("unknown %#02x", op)
}

// counts returns counts in the order of the names.
func counts(m map[string]uint64) (out []Count) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Count{name, m[name]})
	}
	return out
}
