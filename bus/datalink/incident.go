package datalink

// An IncidentKind is something out of the ordinary on a link, or the begin or end of a session.
type IncidentKind uint8

// The kinds, with the fields of Incident that they use.
const (
	SessionBegins  IncidentKind = iota // none
	SessionEnds                        // Err
	FrameRepeated                      // Sequence, Times, Answers: a Nak
	NakSent                            // Sequence of the frame that is missing, Answers: a damaged frame
	NakReceived                        // none
	FrameRefused                       // Bytes
	HelloRefused                       // none
	CreditsMissing                     // none
)

// An Incident is one of a link.
type Incident struct {
	Kind     IncidentKind
	Sequence uint32
	Times    int   // how often a frame was sent before
	Bytes    int   // of a frame that was not accepted
	Answers  bool  // a Nak or a damaged frame led to it
	Err      error // why the session, or its opening, ends
}

// tell reports an incident to Config.Observe.
func (l *Link) tell(i Incident) {
	if l.cfg.Observe != nil {
		l.cfg.Observe(i)
	}
}
