package events

import (
	"fmt"
	"sync"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// maxEarly bounds the incidents that are kept until a log begins.
const maxEarly = 256

// A Link takes the incidents of a link, also those from before the log begins. The zero value works.
// It is safe for concurrent use.
type Link struct {
	mu    sync.Mutex
	early []datalink.Incident
	to    *Recorder
}

// Incident notes an incident, for boards.Options.Link.
func (l *Link) Incident(i datalink.Incident) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.to != nil:
		l.to.incident(i)
	case len(l.early) < maxEarly:
		l.early = append(l.early, i)
	}
}

// Begin makes r take the incidents.
func (l *Link) Begin(r *Recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.early {
		r.incident(i)
	}
	l.early, l.to = nil, r
}

// NotOpened writes the incidents of a board that could not be opened. The sink keeps its error.
func (l *Link) NotOpened(sink Sink) {
	l.Begin(&Recorder{sink: sink})
	sink.Flush()
}

// incident notes an incident. A frame that a Nak asked for has the Nak as cause, and a Nak for a refused
// frame has that frame.
func (r *Recorder) incident(i datalink.Incident) {
	e := incidentEvent(i)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case i.Answers && i.Kind == datalink.FrameRepeated:
		e.Cause = r.nak
	case i.Answers && i.Kind == datalink.NakSent:
		e.Cause = r.refused
	}
	id := r.add(nil, 0, e)
	switch i.Kind {
	case datalink.NakReceived:
		r.nak = id
	case datalink.FrameRefused:
		r.refused = id
	}
}

// incidentEvent returns the event of an incident, with the fields that its kind uses.
func incidentEvent(i datalink.Incident) eventlog.Event {
	link := func(text string) eventlog.Event { return eventlog.New(eventlog.Link).WithText(text) }
	switch i.Kind {
	case datalink.SessionBegins:
		return link("session begins")
	case datalink.SessionEnds:
		return link(fmt.Sprintf("session ends: %v", i.Err))
	case datalink.FrameRepeated:
		return eventlog.New(eventlog.FrameRepeated, uint64(i.Sequence), uint64(i.Times))
	case datalink.NakSent:
		return eventlog.New(eventlog.NakSent, uint64(i.Sequence))
	case datalink.NakReceived:
		return eventlog.New(eventlog.NakReceived)
	case datalink.FrameRefused:
		return eventlog.New(eventlog.FrameRefused, uint64(i.Bytes))
	case datalink.HelloRefused:
		return link("hello refused")
	default:
		return link("credits missing")
	}
}

// Rate notes the rate of the link in bytes per second, if it is the first one or differs from the
// last one by half of it or more.
func (r *Recorder) Rate(bytes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rate == 0 || 2*bytes >= 3*r.rate || 2*bytes <= r.rate {
		r.rate = bytes
		r.add(nil, 0, eventlog.New(eventlog.Link).WithText(fmt.Sprintf("rate: %d bytes per second", bytes)))
	}
}
