package events

import (
	"fmt"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// window is the first register of the window through which the firmware has the message area.
const window = mcureg.Base + mcureg.Window + mcureg.Stride*fwabi.WindowMessages

// A shadow is what the firmware has written to the message area. It takes the lines of the log when
// the tail of their ring moves, so the lines stay for the driver.
type shadow struct {
	base  uint64 // GPU address
	bytes []byte // nil: there is no area
	bell  uint64 // event of the last doorbell for messages
	build uint32 // that the program told in its mail; 0: unknown
	lost  uint32 // lines
	table *log.Table
}

// ReadHost implements log.Memory.
func (s *shadow) ReadHost(off uint32, b []byte) error { copy(b, s.bytes[off:]); return nil }

// WriteHost implements log.Memory.
func (s *shadow) WriteHost(off uint32, b []byte) error { copy(s.bytes[off:], b); return nil }

// register follows an access of the host to a register. id is its event.
func (s *shadow) register(write bool, off uint64, value uint32, id uint64) {
	switch {
	case !write && off == mcureg.Base+mcureg.Mail+4*fwabi.MailBuild:
		s.build = value
	case !write:
	case off == window+mcureg.BaseLo:
		s.base = s.base>>32<<32 | uint64(value)
	case off == window+mcureg.BaseHi:
		s.base = s.base&(1<<32-1) | uint64(value)<<32
	case off == window+mcureg.WindowSize:
		*s = shadow{base: s.base, table: s.table}
		if value&^mcureg.SizeWrite >= fwabi.AreaBytes && s.base&pkt.Host != 0 {
			s.bytes = make([]byte, fwabi.AreaBytes)
		}
	case off == mcureg.Base+mcureg.Doorbell && value&fwabi.BellMessages != 0:
		s.bell = id
	}
}

// wrote follows a write of the GPU to host memory, and reports whether the log has new lines.
func (s *shadow) wrote(addr uint64, p []byte) bool {
	off := addr - s.base&^pkt.Host
	if s.bytes == nil || off >= uint64(len(s.bytes)) {
		return false
	}
	copy(s.bytes[off:], p)
	moved := func(word uint64) bool { return off <= word && off+uint64(len(p)) > word }
	return moved(fwabi.AreaLogTail) || moved(fwabi.AreaLogLost)
}

// lines takes the new lines, and how many were lost before them.
func (s *shadow) lines() (lines []log.Line, lost uint32) {
	if s.table == nil {
		t, err := log.ParseTable(firmware.LogTable())
		if err != nil {
			return nil, 0 // the image that this program has is checked by its own tests
		}
		s.table = &t
	}
	table := *s.table
	if s.build != 0 && table.Check(s.build) != nil {
		table = log.Table{} // shows numbers
	}
	lines, all, err := log.Read(s, table)
	if err != nil {
		return nil, 0 // no log of this layout
	}
	lost, s.lost = all-s.lost, all
	return lines, lost
}

// firmware notes the new lines of the log of the firmware. A line about a request has the doorbell
// of the request as cause.
func (r *Recorder) firmware() {
	lines, lost := r.area.lines()
	for _, l := range lines {
		e := eventlog.New(eventlog.Firmware, uint64(l.Number), l.Clocks, uint64(l.Level)).WithText(l.Text)
		var number, op, status uint32
		if n, _ := fmt.Sscanf(l.Text, "request %d: op %d, status %d", &number, &op, &status); n == 3 {
			e.Cause = r.area.bell
		}
		r.add(nil, 0, e)
	}
	if lost != 0 {
		r.add(nil, 0, eventlog.New(eventlog.Text).WithText(fmt.Sprintf("the log of the firmware is full: %d lines are lost", lost)))
	}
}
