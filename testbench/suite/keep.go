package suite

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// ringBytes is the approximate number of bytes of the last events of a case that are kept.
const ringBytes = 1 << 20

// record keeps the last events of a system, also if the command writes a log.
func (t *T) record(h eventlog.Header) (events.Sink, error) {
	var log events.Sink
	if t.begin != nil {
		var err error
		if log, err = t.begin(h); err != nil {
			return nil, err
		}
	}
	h.Program = "suite"
	ring := eventlog.NewRing(ringBytes, h)
	t.ring.Store(ring)
	if log == nil {
		return ring, nil
	}
	return &copied{Sink: log, ring: ring}, nil
}

// A copied sink adds events to the log of the command and to the ring of a case, which begins later. The numbers of the
// ring are smaller by those of the boards before. While it is used, nothing else adds events to the log.
type copied struct {
	events.Sink
	ring   *eventlog.Ring
	before uint64 // events of the log before the ring
}

// Add implements events.Sink. The number is that of the log.
func (c *copied) Add(e eventlog.Event) uint64 {
	id := c.Sink.Add(e)
	e.Cause -= min(e.Cause, c.before)
	c.before = id - c.ring.Add(e)
	return id
}

// log returns the last events of the last opened board, which end with what failed, or nil. It may be called while
// the case runs.
func (t *T) log(failure string) []byte {
	ring := t.ring.Load()
	if ring == nil {
		return nil
	}
	ring.Add(eventlog.New(eventlog.End).WithText(failure))
	var out bytes.Buffer
	if _, err := ring.WriteTo(&out); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// differs keeps two frames that differ, for the artifacts.
func (t *T) differs(got, expected image.Image) {
	if !t.keep {
		return
	}
	var a, b bytes.Buffer
	if png.Encode(&a, got) == nil && png.Encode(&b, expected) == nil { // an empty frame is no PNG
		t.got, t.expected = a.Bytes(), b.Bytes()
	}
}

// saveAll writes the last events, which end with what failed, to a folder if a board was opened, and if the case has ended
// the last clocks of an emulated GPU.
func (t *T) saveAll(dir, failure string, ended bool) error {
	files := map[string][]byte{report.LogFile: t.log(failure)}
	if ended && t.flight != nil {
		files["wave.vcd"] = t.wave()
	}
	for name, data := range files {
		if data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// wave returns the last clocks of the last opened board as a value change dump, or
// nil.
func (t *T) wave() []byte {
	if t.flight == nil || !t.flight.Attached() {
		return nil
	}
	var out bytes.Buffer
	if err := t.flight.Dump(&out); err != nil {
		t.Errorf("cannot write the wave: %v", err)
		return nil
	}
	return out.Bytes()
}
