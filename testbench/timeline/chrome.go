package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Write writes the log as Chrome trace events: a JSON object of the Trace Event Format, with
// times in microseconds. What could be read before an error of the reader is a complete
// document.
//
//	ph X     a slice, with the numbers of its event and of its submission
//	ph s t f the flow of a submission, from the call to the fence; bp "e": in the slice around it
//	ph C     a counter
//	ph i     a fault, a stop, a broken rule, a change of the link
//	ph M     names and order of processes and threads
func Write(w io.Writer, l *eventlog.Reader) error {
	c := &chrome{w: bufio.NewWriterSize(w, 64<<10), processes: map[int]bool{}}
	about, err := json.Marshal(map[string]string{"board": l.Header.Board, "program": l.Header.Program})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.w, "{\"displayTimeUnit\":\"ns\",\"otherData\":%s,\"traceEvents\":[", about)
	err = Build(l, c)
	fmt.Fprint(c.w, "\n]}\n")
	if werr := c.w.Flush(); err == nil { // it has the errors of all writes
		err = werr
	}
	return err
}

// chrome is the Sink of Write.
type chrome struct {
	w         *bufio.Writer
	processes map[int]bool // that have a name
	some      bool         // an event has been written
}

// process returns the number of the process of a track: a group, or a process of the log.
func process(t *Track) int {
	if t.Group != Threads {
		return int(t.Group) + 1
	}
	return int(Threads) + 1 + int(t.Process)
}

// micro returns a time as the format has it.
func micro(ns uint64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

// quote returns a text as JSON.
func quote(s string) []byte {
	p, _ := json.Marshal(s) // cannot fail: a string
	return p
}

// line writes an event.
func (c *chrome) line(format string, args ...any) {
	if c.some {
		c.w.WriteByte(',')
	}
	c.some = true
	fmt.Fprintf(c.w, "\n"+format, args...)
}

func (c *chrome) name(kind string, pid, tid int, name string, order int) {
	c.line(`{"ph":"M","name":"%s_name","pid":%d,"tid":%d,"args":{"name":%s}}`, kind, pid, tid, quote(name))
	c.line(`{"ph":"M","name":"%s_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}}`, kind, pid, tid, order)
}

// Track names a track and its process.
func (c *chrome) Track(t *Track) {
	pid := process(t)
	if !c.processes[pid] {
		c.processes[pid] = true
		name := t.Group.String()
		if t.Group == Threads && t.Process == 0 {
			name = "system"
		} else if t.Group == Threads {
			name = fmt.Sprintf("application %d", t.Process)
		}
		order := pid
		if t.Group == Threads {
			order = -1<<20 + pid // threads are above the rest
		}
		c.name("process", pid, 0, name, order)
	}
	c.name("thread", pid, t.Number, t.Name, t.Number)
}

// Slice writes a slice.
func (c *chrome) Slice(s Slice) {
	args := fmt.Sprintf(`{"event":%d}`, s.Event)
	if s.Submission != 0 {
		args = fmt.Sprintf(`{"event":%d,"submission":%d}`, s.Event, s.Submission)
	}
	c.line(`{"ph":"X","name":%s,"cat":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":%s}`,
		quote(s.Name), quote(s.Track.Group.String()), process(s.Track), s.Track.Number, micro(s.Start), micro(s.End-s.Start), args)
}

// Step writes a step of a flow.
func (c *chrome) Step(s Step) {
	ph := "t"
	if s.First {
		ph = "s"
	} else if s.Last {
		ph = "f"
	}
	c.line(`{"ph":"%s","bp":"e","name":"submission","cat":"flow","id":%d,"pid":%d,"tid":%d,"ts":%s,"args":{"step":%s}}`,
		ph, s.Flow, process(s.Track), s.Track.Number, micro(s.Time), quote(s.Name))
}

// Count writes the values of a counter.
func (c *chrome) Count(n Count) {
	args := ""
	for i, v := range n.Values {
		if i > 0 {
			args += ","
		}
		args += fmt.Sprintf("%s:%d", quote(v.Name), v.Value)
	}
	c.line(`{"ph":"C","name":%s,"pid":%d,"tid":0,"ts":%s,"args":{%s}}`, quote(n.Name), int(Queues)+1, micro(n.Time), args)
}

// Mark writes an event that takes no time.
func (c *chrome) Mark(m Mark) {
	c.line(`{"ph":"i","s":"g","name":%s,"pid":%d,"tid":%d,"ts":%s,"args":{"event":%d,"text":%s}}`,
		quote(m.Name), process(m.Track), m.Track.Number, micro(m.Time), m.Event, quote(m.Text))
}
