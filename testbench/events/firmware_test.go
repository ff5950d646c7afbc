package events

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A sink keeps events.
type sink []eventlog.Event

func (s *sink) Add(e eventlog.Event) uint64 { *s = append(*s, e); return uint64(len(*s)) }
func (s *sink) Flush() error                { return nil }

// A rig is a recorder, and a firmware that writes its log.
type rig struct {
	*Recorder
	events sink
	tail   uint32
}

const areaAt = 0x12345000

func newRig() *rig {
	r := &rig{}
	r.Recorder = New(&r.events, eventlog.Header{Hz: 1}, func() uint64 { return 1 })
	return r
}

// host writes a register.
func (r *rig) host(off uint64, v uint32) {
	r.Accessed(nil, hal.Access{Write: true, Offset: off, Data: binary.LittleEndian.AppendUint32(nil, v)})
}

// open opens the window of the message area as firmware.Load does.
func (r *rig) open(bytes uint32) {
	const at = mcureg.Base + mcureg.Window + mcureg.Stride*fwabi.WindowMessages
	r.host(at+mcureg.BaseLo, areaAt)
	r.host(at+mcureg.BaseHi, 1<<31)
	r.host(at+mcureg.WindowSize, bytes|mcureg.SizeWrite)
}

// store is a write of a dword by the firmware.
func (r *rig) store(off, v uint32) {
	r.Wrote(areaAt+uint64(off), binary.LittleEndian.AppendUint32(nil, v))
}

// line writes a line as the firmware does: its dwords, and then the tail.
func (r *rig) line(t *testing.T, format string, level uint32, args ...uint32) {
	t.Helper()
	texts := firmware.LogTable()[fwabi.BuildBytes:]
	id := bytes.Index(texts, append([]byte(format), 0))
	require.GreaterOrEqual(t, id, 0, format)
	words := append([]uint32{r.tail, level<<16 | uint32(id), 1000 + r.tail, 0}, args...)
	for i, v := range words {
		r.store(fwabi.AreaLog+r.tail%fwabi.LogEntries*fwabi.LogBytes+4*uint32(i), v)
	}
	r.tail++
	r.store(fwabi.AreaLogTail, r.tail)
}

// lines returns the events of lines, with their causes.
func (r *rig) lines() (all []eventlog.Event) {
	for _, e := range r.events {
		if e.Kind == eventlog.Firmware {
			all = append(all, e)
		}
	}
	return all
}

// Each line is an event when the firmware has written it. A line about a request has the doorbell
// as cause, another one has none.
func TestFirmwareLines(t *testing.T) {
	r := newRig()
	r.open(fwabi.AreaBytes)
	r.line(t, "boot: build %08x, memory of %u bytes", 2, 0xabcd, 32768)
	r.host(mcureg.Base+mcureg.Doorbell, fwabi.BellQueue)
	r.host(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages)
	bell := uint64(len(r.events))
	r.host(mcureg.Base+mcureg.Doorbell, fwabi.BellQueue)
	r.line(t, "request %u: op %u, status %u", 3, 5, 17, 0)
	r.line(t, "notice %u: %u, %u", 3, 1, 2, 3)
	all := r.lines()
	require.Len(t, all, 3)
	for i, want := range []struct {
		text  string
		level uint64
		cause uint64
	}{{"boot: build 0000abcd, memory of 32768 bytes", 2, 0}, {"request 5: op 17, status 0", 3, bell}, {"notice 1: 2, 3", 3, 0}} {
		assert.Equal(t, want.text, all[i].Text())
		assert.Equal(t, []uint64{uint64(i), uint64(1000 + i), want.level}, all[i].Fields[:3])
		assert.Equal(t, want.cause, all[i].Cause, want.text)
	}
}

// Lines wrap in the ring, and the log tells how many were lost.
func TestFirmwareLinesLost(t *testing.T) {
	r := newRig()
	r.open(fwabi.AreaBytes)
	for range 2*fwabi.LogEntries + 3 {
		r.line(t, "notice %u: %u, %u", 3, 1, 2, 3)
	}
	assert.Len(t, r.lines(), 2*fwabi.LogEntries+3)
	r.store(fwabi.AreaLogLost, 7)
	r.store(fwabi.AreaLogLost, 9)
	var texts []string
	for _, e := range r.events {
		if e.Kind == eventlog.Text {
			texts = append(texts, e.Text())
		}
	}
	assert.Equal(t, "the log of the firmware is full: 7 lines are lost,the log of the firmware is full: 2 lines are lost", strings.Join(texts, ","))
}

// Memory without an area, an area that is closed, and a tail out of range have no lines.
func TestNoFirmwareLines(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"no window":      func(*rig) {},
		"a small window": func(r *rig) { r.open(fwabi.AreaBytes - 4) },
		"a closed one":   func(r *rig) { r.open(fwabi.AreaBytes); r.open(0) },
		"a bad tail":     func(r *rig) { r.open(fwabi.AreaBytes); r.tail = fwabi.LogEntries + 1 },
	} {
		r := newRig()
		prepare(r)
		r.line(t, "notice %u: %u, %u", 3, 1, 2, 3)
		assert.Empty(t, r.lines(), name)
	}
}

// A program of another build has its own formats, so its lines are shown as numbers.
func TestFirmwareOfAnotherBuild(t *testing.T) {
	r := newRig()
	r.open(fwabi.AreaBytes)
	build := binary.LittleEndian.Uint32(firmware.LogTable()) ^ 1
	r.Accessed(nil, hal.Access{Offset: mcureg.Base + mcureg.Mail + 4*fwabi.MailBuild, Data: binary.LittleEndian.AppendUint32(nil, build)})
	r.line(t, "notice %u: %u, %u", 3, 1, 2, 3)
	require.Len(t, r.lines(), 1)
	assert.Contains(t, r.lines()[0].Text(), "format 0x")
}
