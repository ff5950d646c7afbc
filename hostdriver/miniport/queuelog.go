package miniport

import (
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// logLines is how many lines of the log of the firmware the text of CollectDbgInfo has.
const logLines = 16

// A programLog has the last lines of the log of the firmware. The driver takes the lines in the DPC, after each
// request, and when the firmware is stopped. So the ring is full only if the firmware writes more lines than the
// ring has between two of these. It counts the lines that are lost then.
type programLog struct {
	mu     sync.Mutex // nothing is called while it is held, so the DPC may wait for it
	open   bool       // the program runs, and table has its formats
	table  log.Table
	lines  []log.Line // the last logLines
	taken  int        // lines that were taken from all programs
	lost   uint32     // lines of this program that found the ring full
	before uint32     // lines of earlier programs that did
	err    error      // why lines are not taken
}

// begin begins the log of a program, by the first dword of its build id.
func (l *programLog) begin(build uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.table, l.err = log.ParseTable(firmware.LogTable()); l.err == nil {
		l.err = l.table.Check(build)
	}
	l.open = l.err == nil
}

// take takes the lines in the ring. It reports whether lines were lost for the first time.
func (l *programLog) take(m area) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := l.lost
	l.read(m)
	return had == 0 && l.lost != 0
}

// read is take while mu is held.
func (l *programLog) read(m area) {
	if !l.open {
		return
	}
	lines, lost, err := log.Read(m, l.table)
	if l.err = err; err != nil {
		return
	}
	l.taken += len(lines)
	l.lost = lost
	l.lines = append(l.lines, lines...)
	l.lines = slices.Delete(l.lines, 0, max(0, len(l.lines)-logLines))
}

// end takes the last lines of a program that was stopped.
func (l *programLog) end(m area) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read(m)
	l.open, l.before, l.lost = false, l.before+l.lost, 0
}

// look returns what the log has after a take, which it leaves to the next one.
func (l *programLog) look(m area) (lines []log.Line, taken int, lost uint32, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := programLog{open: l.open, table: l.table, lines: slices.Clone(l.lines), taken: l.taken, lost: l.lost, err: l.err}
	c.read(slices.Clone(m))
	return c.lines, c.taken, l.before + c.lost, c.err
}

// takeLog takes the lines of the log and the samples, at DISPATCH_LEVEL or below. The first lines that are lost are an
// event.
func (q *queues) takeLog(t *ddi.Thread) {
	q.takeSamples()
	if q.log.take(area(q.mem.Bytes)) {
		q.adapter.cb.LogEtwEvent(t, q.adapter.cb.DeviceHandle, "miniport: the firmware writes more lines than its log has room for, and some are lost")
	}
}

// takeSamples takes the samples and passes them to the observer. The numbers show those that were lost. A ring that the
// firmware has broken has none.
func (q *queues) takeSamples() {
	if q.period == 0 || q.adapter.observer.Samples == nil {
		return
	}
	q.samples.Lock()
	defer q.samples.Unlock()
	all, _, err := log.Samples(area(q.mem.Bytes))
	if err == nil && len(all) != 0 {
		q.adapter.observer.Samples(all)
	}
}

// log lists the last lines of the log of the firmware.
func (d *dump) log() {
	q := d.adapter.queues
	if q == nil {
		return
	}
	lines, taken, lost, err := q.log.look(area(q.mem.Bytes))
	if err != nil {
		d.line("miniport: the log of the firmware is not read: %v", err)
	}
	if err != nil && taken == 0 {
		return
	}
	d.line("miniport: the log of the firmware, the last %d of %d lines; %d more are lost", len(lines), taken, lost)
	for _, l := range lines {
		d.line("   at %d: %s", l.Clocks, l.Text)
	}
}
