package why

import (
	"strings"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// startDevice is the function of the miniport that starts the device.
const startDevice = "DxgkDdiStartDevice"

// saying keeps the last line that the miniport prints while it starts the device.
func (b *builder) saying(e *eventlog.Event) {
	if b.inside(e, startDevice) {
		b.said = b.happening(e)
	}
}

// notStarted explains an error of a device that the miniport did not start, and what the miniport said last. It
// reports false if that is not the error.
func (r *Run) notStarted(a *Answer) bool {
	if len(r.order) > 0 || !strings.Contains(r.end.Text(), startDevice) {
		return false
	}
	cause := firstLine(r.end.Text())
	if r.said.ID != 0 {
		said := firstLine(r.said.Text())
		cause += "; the miniport said last: " + said
		a.frames(r.said.stack)
		a.step(Point{r.said.ID, r.said.Time}, "the miniport says: %s", said)
	}
	a.step(Point{r.end.ID, r.last.Time}, "the command ends")
	a.lacks(MissingStart, "%s", cause)
	return true
}
