package why

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A later read of the host shows which step after a write is missing. No step is missing if another write has taken the first one back.
func TestAccesses(t *testing.T) {
	reg := func(kind eventlog.Kind, off, value uint64) deed {
		return deed{kind: kind, fields: [6]uint64{0, off, 4, value}}
	}
	w := func(off, value uint64) deed { return reg(eventlog.Write, off, value) }
	rd := func(off, value uint64) deed { return reg(eventlog.Read, off, value) }
	const (
		wptr, ctl, size = cpreg.Base + cpreg.Wptr, cpreg.Base + cpreg.Ctl, cpreg.Base + cpreg.RingSize
		rptr, state     = cpreg.Base + cpreg.Rptr, cpreg.Base + cpreg.Status
		ask, done       = cpreg.Base + cpreg.Preempt, cpreg.Base + cpreg.Preempted
		status, mask    = intcreg.Base + intcreg.Status, intcreg.Base + intcreg.Mask
	)
	message := deed{kind: eventlog.Message}
	faulty := deed{kind: eventlog.Message, fields: [6]uint64{intcreg.VectorFault}}
	fence := deed{kind: eventlog.Executed, fields: [6]uint64{0, 0x1000, 0x10000004}}
	for name, tt := range map[string]struct {
		deeds []deed
		want  string
	}{
		"a doorbell arrives":            {[]deed{w(wptr, 8), rd(wptr, 8)}, ""},
		"a doorbell is lost":            {[]deed{w(wptr, 8), rd(wptr, 0)}, MissingDoorbell},
		"the node is reset after it":    {[]deed{w(wptr, 8), w(ctl, 2), rd(wptr, 0)}, ""},
		"the device is reset after it":  {[]deed{w(wptr, 8), w(idreg.Reset, 1), rd(wptr, 0)}, ""},
		"the command goes on":           {[]deed{w(wptr, 8), rd(wptr, 0), w(ctl, 1)}, ""},
		"the last doorbell counts":      {[]deed{w(wptr, 8), w(wptr, 16), rd(wptr, 16)}, ""},
		"the work has ended":            {[]deed{w(wptr, 8), rd(state, 1), rd(rptr, 8), w(ctl, 2)}, ""},
		"a node waits for its ring":     {[]deed{w(wptr, 8), rd(state, 0), rd(rptr, 4), w(ctl, 2)}, MissingFetch},
		"and for a body":                {[]deed{w(wptr, 8), rd(state, 0x10), rd(rptr, 4)}, MissingFetch},
		"a packet does not end":         {[]deed{w(wptr, 8), rd(state, 0x40), rd(rptr, 4), w(ctl, 2), rd(ctl, 2)}, MissingPacket},
		"an idle node":                  {[]deed{w(wptr, 8), rd(state, 1), rd(rptr, 4)}, ""},
		"work before the last doorbell": {[]deed{w(wptr, 8), rd(state, 0), rd(rptr, 4), w(wptr, 16)}, ""},
		"a lost doorbell comes first":   {[]deed{w(wptr, 8), rd(state, 0), rd(rptr, 4), rd(wptr, 0)}, MissingDoorbell},
		"a reset":                       {[]deed{w(ctl, 2), rd(ctl, 2), rd(ctl, 0), rd(size, 0)}, ""},
		"a reset that does not end":     {[]deed{w(ctl, 2), rd(ctl, 2), rd(ctl, 2)}, MissingReset},
		"a reset without effect":        {[]deed{w(ctl, 2), rd(ctl, 0), rd(size, 12), w(ctl, 0)}, MissingReset},
		"a preemption":                  {[]deed{w(ask, 7), rd(done, 0), rd(done, 7)}, ""},
		"a preemption without effect":   {[]deed{w(ask, 7), rd(done, 0), rd(done, 0), w(ctl, 2)}, MissingPreempt},
		"a message":                     {[]deed{w(mask, 1), fence, message}, ""},
		"no message":                    {[]deed{w(mask, 1), message, fence}, MissingMessage},
		"messages are masked":           {[]deed{w(mask, 0), fence}, ""},
		"a status after its message":    {[]deed{w(mask, 1), message, rd(status, 1)}, ""},
		"a status before its message":   {[]deed{w(mask, 1), rd(status, 1), message}, ""},
		"a fault without a message":     {[]deed{w(mask, 0x101), rd(status, 0x100)}, MissingMessage},
		"a fault and its message":       {[]deed{w(mask, 0x101), rd(status, 0x100), faulty}, ""},
		"a reset of the device":         {[]deed{w(idreg.Scratch0, 7), w(idreg.Reset, 1), rd(idreg.Scratch0, 0)}, ""},
		"one that is ignored":           {[]deed{w(idreg.Scratch0, 7), w(idreg.Reset, 1), rd(idreg.Scratch0, 7)}, MissingReset},
		"one event of two is left":      {[]deed{w(mask, 0x101), message, faulty, rd(status, 0x101), w(status, 1), rd(status, 0x100)}, ""},
		"a reset that takes a while":    {[]deed{w(idreg.Scratch0, 7), w(idreg.Reset, 1), rd(idreg.Scratch0, 7), rd(idreg.Scratch0, 0)}, ""},
		"a write that resets nothing":   {[]deed{w(idreg.Scratch0, 7), w(idreg.Reset, 0), rd(idreg.Scratch0, 7)}, ""},
		"a node in a buffer":            {[]deed{w(wptr, 8), rd(state, 0x200), rd(rptr, 4)}, MissingFetch},
		"a node on a fault":             {[]deed{w(wptr, 8), rd(state, 0x72), rd(rptr, 4)}, MissingPacket},
		"a wait for the other node":     {[]deed{w(wptr+cpreg.Stride, 8), w(wptr, 8), rd(state+cpreg.Stride, 0x400040), rd(rptr+cpreg.Stride, 0), rd(wptr, 0)}, MissingDoorbell},
		"a status without a message":    {[]deed{w(mask, 1), message, w(status, 1), rd(status, 1)}, MissingMessage},
		"the first lack counts":         {[]deed{w(wptr, 8), rd(wptr, 0), w(ask, 7), rd(done, 0)}, MissingDoorbell},
	} {
		for i := range tt.deeds {
			tt.deeds[i].Point = Point{Event: uint64(i + 1), Time: uint64(i)}
		}
		a := &Answer{}
		(&Run{deeds: tt.deeds}).accesses(a)
		assert.Equal(t, tt.want, a.Missing, "%s: %s", name, a.Cause)
	}
}

// A node is stuck only if its registers say so later than a tenth of a second after its doorbell, and if RPTR has not moved in the last one.
func TestStuckNode(t *testing.T) {
	const hz = 100
	at := func(kind eventlog.Kind, time, off, value uint64) deed {
		return deed{Point{time + 1, time}, kind, [6]uint64{0, cpreg.Base + off, 4, value}}
	}
	bell := at(eventlog.Write, 0, cpreg.Wptr, 8)
	status := func(time uint64) deed { return at(eventlog.Read, time, cpreg.Status, 0x40) }
	rptr := func(time, value uint64) deed { return at(eventlog.Read, time, cpreg.Rptr, value) }
	for name, tt := range map[string]struct {
		deeds []deed
		stuck bool
	}{
		"for long":            {[]deed{bell, status(20), rptr(21, 4)}, true},
		"a young doorbell":    {[]deed{bell, status(5), rptr(6, 4)}, false},
		"an old status":       {[]deed{bell, status(5), rptr(21, 4)}, false},
		"it goes on":          {[]deed{bell, status(20), rptr(21, 4), rptr(25, 5)}, false},
		"it went on long ago": {[]deed{bell, status(20), rptr(21, 4), rptr(25, 5), rptr(40, 5)}, true},
		"it has ended":        {[]deed{bell, status(20), rptr(21, 8)}, false},
	} {
		a := &Answer{}
		(&Run{Header: eventlog.Header{Hz: hz}, deeds: tt.deeds}).accesses(a)
		assert.Equal(t, tt.stuck, a.Missing == MissingPacket, "%s: %s", name, a.Cause)
	}
}

// The accesses of a good storm show no step that is missing, though the command ends with an error.
func TestUnanswerable(t *testing.T) {
	e := eventlog.New(eventlog.End).WithText("an error")
	e.ID = 9
	r := &Run{end: happening{Event: e}, deeds: []deed{{kind: eventlog.Message}}, opened: true}
	a := r.atEnd(&Answer{})
	assert.Equal(t, MissingUnknown, a.Missing)
	assert.Equal(t, "the accesses of the log show no step that is missing; the error: an error", a.Cause)
}
