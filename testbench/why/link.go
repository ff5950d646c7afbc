package why

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// maxEarly bounds what is kept of a link before its board is open.
const maxEarly = 10

// linked keeps when the link is down or up, and what happened to it before the board was open.
func (b *builder) linked(e *eventlog.Event) {
	text := e.Text()
	switch {
	case strings.HasPrefix(text, eventlog.LinkDown) || text == "up":
		b.links = append(b.links, b.happening(e))
		return
	case strings.HasPrefix(text, ends):
		b.closed = b.happening(e)
	}
	if !b.opened && len(b.early) < maxEarly {
		b.early = append(b.early, b.happening(e))
	}
}

// unopened explains a run whose board was not opened, or returns nil.
func (r *Run) unopened(a *Answer) *Answer {
	if r.opened || r.earlier != nil || r.first.Event != 1 || r.end.ID == 0 {
		return nil
	}
	a.Verdict = "no board was opened"
	for i := range r.early {
		a.step(Point{r.early[i].ID, r.early[i].Time}, "the link: %s", r.early[i].Text())
	}
	a.step(Point{r.end.ID, r.end.Time}, "the command ends")
	if !r.end.HasText() {
		return a
	}
	return a.lacks(MissingOpen, "%s", firstLine(r.end.Text()))
}

// ends begins the text of an incident of a link.
const ends = "session ends: "

// cut explains a run that ended with an error of the link, such as one of the enumeration, whose accesses are in no log.
// It reports false if that was another error.
func (r *Run) cut(a *Answer) bool {
	text := firstLine(r.end.Text())
	_, cause, found := strings.Cut(text, bus.ErrLinkDown.Error())
	cause = "the link is down" + cause
	if !found && len(r.deeds) == 0 && len(r.order) == 0 && strings.Contains(text, bus.ErrTimeout.Error()) {
		cause, found = "the device did not answer: "+text, true
	}
	if !found {
		return false
	}
	if r.closed.ID != 0 {
		a.step(Point{r.closed.ID, r.closed.Time}, "the link: %s", firstLine(r.closed.Text()))
	}
	a.step(Point{r.end.ID, r.last.Time}, "the command ends: %s", text)
	a.lacks(MissingLink, "%s%s", cause, r.harmed())
	return true
}

// harmed says how many frames the link harmed, or nothing.
func (r *Run) harmed() string {
	if r.repeated+r.refused == 0 {
		return ""
	}
	return fmt.Sprintf("; the link loses or damages frames: the host sent %d again and refused %d", r.repeated, r.refused)
}
